// Package policy reads what the annotations of workloads and configs ask for: holds, windows, waves, the method of
// restarts, the budget, and with whom a config is shared. Any value of a hold holds, and a list of readers that cannot
// be used shares with nobody: what is misread must not let restarts begin, or show configs.
//
// # The budget
//
// A config that is written again and again would restart its workloads forever, and each restart leaves a ReplicaSet.
// So restarts in a row are spaced out. Two numbers are enough, which the patch of a restart writes: how many there were
// in a row, and when the last one was.
//
// The first three restarts of a row are free. After that, the spacing doubles from the grace period up to the limit. A
// row ends when another limit passes after the spacing.
//
// # Sharing
//
// A config counts for workloads of other namespaces only if its annotation "readers" names them. Otherwise it is absent
// there: whether it exists cannot be told. The last four values are remembered: edits from before a config was shared
// do not count.
package policy
