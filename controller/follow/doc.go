// Package follow follows each restart until it is delivered or has failed; package delivery judges. It writes nothing
// but Events, and only the process that leads follows.
//
//	none ----> rolling       begun, or found at a takeover
//	rolling -> rolling       another restart goes on with what the former one was not judged for
//	rolling -> away -> rolling  the workload wants no pods for a while; the gate keeps its slot
//	rolling -> forgotten     delivered, inconclusive at the deadline, or made longer ago than can be followed
//	rolling -> failed        followed on if a recovery would end a halt
//	failed --> mended        its pods run after all, or another restart was delivered
//
// Its requests have a limit of their own, 100 a second. The pods of each restart are listed once before it counts as
// delivered, so this also bounds how fast a fan-out is. It keeps the restarts that roll, and those that failed and
// whose recovery would end a halt. If a workload restarts again before its pods are replaced, the pods that ran
// before the first restart count. A restart that goes on for an hour gives its place back, whatever its progress.
package follow
