// Package optedin knows which workloads count now. With flags that let workloads follow their Namespaces, this may
// change without a write to the workload. So every workload that its Namespace could enable is kept, reduced, and asked
// again when the Namespace changes. The lock is held until the catalog has the workload, and released after each one.
//
//	not kept --its Namespace could enable it--> candidate --its Namespace enables it--> counts --no longer--> candidate
//	any ----> left alone   its namespace has no room for its references
//
// The workloads of a namespace may have 100,000 references together. Beyond that, those with the most are left alone.
// Which ones follows from the objects alone, so all replicas agree.
package optedin
