// Package tracker has all that this process knows of the restarts of each workload: its [Row] in one [Table] with one lock. It
// is plain state: others decide, write and report, and note here what became of that. Two columns belong to others, who alone
// know what is in them: the queue of changes, and the gate.
//
// A [Backlog] is what a workload waits for:
//
//	none --a change is observed--> undecided --decided--> due --put off--> waits for a reason --asked again--> due
//	any --recorded, or restarted--> none
//
// An [Attempt] is a write without an answer. It is remembered until the workload shows that it was carried out, or has a
// later version. Package follow has the states of a [RollingRestart], package evict those of an [Eviction].
package tracker
