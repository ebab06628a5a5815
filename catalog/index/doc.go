// Package index has the tables of the catalog: values by kind, namespace and name, and which workloads reference which
// config. It knows nothing of what the values mean. Its methods that read change nothing, so several goroutines may
// read at once; a [catalog.Catalog] has the lock.
//
// Invariant: a config is in [References] if and only if a workload references it, and a table or set that has become
// empty takes no memory.
package index
