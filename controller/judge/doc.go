// Package judge finds out what is wrong with workloads, apart from what is decided about them: that they are stale,
// lack a config, or have pods that read content for which their restart is held.
//
// # Stale workloads
//
// A scrape reads counts and decides nothing. Whatever may change the verdict on a workload is noted, and one goroutine
// evaluates the noted ones, each at most once a second, and all for a tenth of the time. An overdue restart counts from
// when it was due: a grace period is no reason for an alarm. A stale workload without pending work counts as well,
// because it would mean a lost change.
//
//	fresh --noted, judged--> stale, or lacking a config --noted, judged again--> fresh
//
// What is lacking for 10 seconds is reported once.
//
// # Exposed workloads
//
// Whether a held workload is exposed depends on its pods, which no watch shows. So the pods of one held workload a
// second are listed, in turns by namespace, for a tenth of the time, apart from the requests for restarts.
package judge
