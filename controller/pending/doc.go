// Package pending holds back changes for their grace period, and knows which workloads are to be judged again. What to do
// about a change is decided from the catalog once it is due.
//
// A change is named after the object in which it began. That of a config concerns all workloads that reference it, that
// of a workload only itself. For each pair, a change holds the time of its first observation, from which the grace
// period counts.
//
//	absent --observed--> pending --grace period--> due
//	pending --config gone, or not referenced--> a change of the workload, which may have waited for it
//	pending --another change restarted the workload--> due with nothing to do
//
// A workload's own change waits for those of its configs. Otherwise two edits within a grace period could cause two
// restarts. Configs of a first list and deleted configs are no changes.
package pending
