// Package intake takes in what the watches show, and passes on what is news: to the catalog, to the changes that wait,
// and to those that follow restarts.
//
//   - Resources are listed one after another, configs first: what is known of their edits is then older than what is
//     known of workloads.
//   - An object that causes a panic is left alone until it changes. A workload is removed from the catalog, because a
//     method that panicked may have processed half of it. A config keeps its known state, and counts as deleted after
//     a list, which restarts nothing. If a whole list causes a panic, its objects are taken in one by one.
package intake
