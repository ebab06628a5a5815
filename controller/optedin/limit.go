package optedin

import (
	"cmp"
	"strings"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/kinds"
)

func compareNames(a, b names.WorkloadRef) int {
	return cmp.Or(strings.Compare(string(a.Kind), string(b.Kind)), strings.Compare(a.Name, b.Name))
}

// Limit leaves out what is known of a workload that is left alone because its namespace has too many references.
func (o *OptIns) Limit(w *kinds.WorkloadObservation) {
	if w.Workload != nil && w.Workload.Excess == workload.NoExcess && o.Leaves(w.Ref) {
		w.Workload = w.Workload.LeftAlone()
	}
}

// Leaves reports whether a workload is left alone because its namespace has too many references.
func (o *OptIns) Leaves(ref names.WorkloadRef) bool { return o.shares.leaves(ref.Namespace, ref) }

// Resize notes how much a workload takes, and returns which ones are left alone because of that, or no longer.
func (o *OptIns) Resize(ref names.WorkloadRef, size int) (leave, readmit []names.WorkloadRef) {
	return o.shares.put(ref.Namespace, ref, size)
}

// ListSizes notes how much the workloads of a list take, all of a kind in a namespace or in all of them.
func (o *OptIns) ListSizes(kind names.WorkloadKind, namespace string, all []*kinds.Observation) (leave, readmit []names.WorkloadRef) {
	sizes := make(map[string]map[names.WorkloadRef]int)
	note := func(ref names.WorkloadRef, size int) {
		if sizes[ref.Namespace] == nil {
			sizes[ref.Namespace] = make(map[names.WorkloadRef]int)
		}
		sizes[ref.Namespace][ref] = size
	}
	for _, ref := range o.shares.those(namespace) {
		if ref.Kind == kind {
			note(ref, 0) // unless the list has it
		}
	}
	for _, listed := range all {
		note(listed.Workload.Ref, listed.Workload.Size)
	}
	for namespace, those := range sizes {
		left, readmitted := o.shares.putAll(namespace, those)
		leave, readmit = append(leave, left...), append(readmit, readmitted...)
	}
	return leave, readmit
}
