// Package catalog holds what the restart controller knows: every config, every workload that opted in, and which
// workload reads which config. It is pure, apart from its lock, and from the checksums of whole configs that a [Lookup]
// remembers under one of their own.
//
// A [Catalog] takes in what the API server shows; the [Lookup] in it answers questions, and changes nothing. A [View]
// is what it knows about one workload at one moment. Values that it hands out are shared, and must not be modified. All
// methods may be called by several goroutines at once.
//
// What it guarantees:
//
//   - It changes only by what the API server sends or answers, never in advance. An answer counts unless the watch was
//     faster.
//   - A list is taken in item by item, so that nobody waits for a long one. What it shows counts even if its version is
//     lower, as after a restore of etcd; versions are compared only between two lists.
//   - Configs of the first list are not news: the workloads' own changes cover them.
//   - It knows nothing of Namespaces.
//   - Memory grows with the number of keys, not with their values.
//
// What becomes of each:
//
//	config    absent --observed--> known --deleted--> marked as deleted, while a workload references it --> absent
//	workload  absent --opted in--> known --observed--> succeeded by its new state --deleted, opted out--> absent
//
// References are kept by the names that workloads mention, whether there is such a config or not. A config that is not
// shared counts as one that nobody references, so naming the configs of others costs no more than the entries.
package catalog
