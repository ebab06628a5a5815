// Package optin has the rules by which workloads opt in, and the ground on which one did.
//
// A workload counts if its annotation says so; without flags, nothing else does. With flags, its Namespace or a default
// may enable it, and its own annotation comes before these, except where flags select or ignore namespaces.
//
// # Since when
//
// Changes from before the opt-in do not count: the first start on a cluster must not restart anything. The
// managedFields of the workload or its Namespace show when an annotation or a label was written; if the controller's
// own record is earlier, its time counts. For flags and the default, nothing in the cluster shows it. So the leader
// notes on the ConfigMap of halts since when its rules have applied ([Note]); the later time counts. Only a watch shows
// when an opt-out was removed.
//
// If watches showed both an edit and the opt-in, their order counts. A workload that first appears in a list after a
// gap opted in at some moment since the last event of that watch: edits before that event came earlier, edits after the
// list came later, and in between the times decide.
package optin
