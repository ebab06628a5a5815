// Package restart decides about workloads and writes records and restarts. Nothing else writes to workloads, apart from
// what is asked of their own controllers in package evict.
//
// # One patch
//
// One JSON merge patch has the record and the restart, with the resourceVersion of the decision. If another client
// wrote in the meantime, the API server answers 409, and the restarter decides again. A patch that is accepted without
// effect is noticed by a comparison with the answer.
//
//	due ---> put off     the gate does not admit it; asked again when it says so, or after 5 minutes
//	due ---> begun       accepted
//	due ---> failing     refused: again after 20 ms, doubling up to 30 s
//	due ---> uncertain   sent, and not answered: written is remembered until the workload shows the outcome
//	due ---> settled     nothing to do any more
//
// A process that dies in the meantime loses the report, but not the restart.
//
// # Before acting
//
// A leader decides about a workload once all configs of its namespace have been listed, because others would seem to be
// gone, and not while a list is taken in, because half of one may show only one of two edits. A difference from another
// process's record is confirmed by a list of the configs by name. If it has other content than the catalog, the
// decision waits for the watch.
//
// # Marks
//
// The record of a restart that is put off is marked after 10 seconds, or at once if only a person or a window can end
// the wait.
//
// # Others' writes
//
// A revert is reported with the field manager that made it, and how to keep the old state: opt out. Records that
// another client keeps removing are written less and less often; restarts do not wait for that.
package restart
