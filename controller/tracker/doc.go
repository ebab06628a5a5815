// Package tracker has all that this process knows of the restarts of each workload: its [Row] in one [Table] with one lock. It
// is plain state: others decide, write and report, and note here what became of that. Three columns belong to others, who alone
// know what is in them: the queue of changes, the gate, and the gatekeeper (what a workload is exposed to).
//
// Where a restart is to be found, one after the other:
//
//	Changes   in its grace period
//	Backlog   due; the gate calls it waiting, called, failing or admitted
//	Attempts  written without an answer; uncertain
//	Rolling   made; rolling, then soaking; unproven while package follow calls it away
//	Exposed   made and not judged, also if nobody follows it; unproven
//
// A [Backlog] is what a workload waits for:
//
//	none --a change is observed--> undecided --decided--> due --put off--> waits for a reason --asked again--> due
//	any --recorded, or restarted--> none
//
// An [Attempt] is a write without an answer. It is remembered until the workload shows that it was carried out, or has a
// later version. Package follow has the states of a [RollingRestart], package evict those of an [Eviction].
package tracker
