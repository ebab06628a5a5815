// Package evict carries out restarts by eviction. The patch of such a restart has written the record; what is left to
// do are the pods that were created before it. So a process that dies loses nothing.
//
//	waiting for the delay ---> stepping      3 seconds after the process has seen the record
//	stepping ---> stepping                   each step lists the pods and evicts one at most
//	stepping ---> held                       the next restart of the workload is put off
//	stepping ---> over                       no earlier pod is left
//	any ---> over                            another restart, method or record
//
// Invariant: because of a restart, a workload misses one pod at most, and each pod is evicted once at most, by its
// UID.
//
// Listing takes a tenth of the time at most, so a large workload slows only itself down.
//
// # The next restart stops the last one
//
// An evicted pod reads all configs as they are then, also those that were edited since. So while the next restart
// waits for its grace period, or is put off by anything but the budget, nothing is evicted. That restart takes over
// what the last one was for, so that a halt of it still concerns the pods that are left. Two workloads whose next
// restarts wait for each other's slow start both stop until the deadline.
//
// # Argo Rollouts
//
// Where the evictor would evict a pod of a Rollout, it sets .spec.restartAt late enough and then only counts. The
// patch has a field manager of its own: the API server would otherwise date the record anew, and with it the restart.
// Argo Rollouts also ends a restart when the template or the steps change. If pods are left then, restartAt becomes a
// second later.
//
// Pods are never deleted: that would pass over PodDisruptionBudgets.
package evict
