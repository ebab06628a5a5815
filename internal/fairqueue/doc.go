// Package fairqueue hands out items of work so that no item waits for long because of others.
//
// Items belong to namespaces, and within one to flows. Namespaces take turns, flows take turns, and a flow is served in
// the order of arrival. Turns are measured in time: first comes the namespace that has used the workers least. An item
// counts for 10 ms at least. Idle namespaces save up no time.
//
// An item that is under way for more than a second is slow and gives its worker back. Its namespace is slow until its
// items end in time, for two minutes at least, and may have three items under way. All slow namespaces together may use
// half of the workers and 50 slow items beside them.
//
//   - An item is never under way twice, and waits once, however often it is added.
//   - An item that is tried again keeps its flow.
//   - Memory grows only with the items that wait, run or will be tried again.
package fairqueue
