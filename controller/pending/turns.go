package pending

import (
	"k8s.io/apimachinery/pkg/util/sets"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/internal/fairqueue"
)

// Turns holds workloads, each once, and hands them out in turns by namespace.
type Turns struct {
	held    sets.Set[names.WorkloadRef]
	waiting fairqueue.RoundRobin[names.WorkloadRef]
}

// Add adds a workload, at the end of its namespace.
func (t *Turns) Add(ref names.WorkloadRef) {
	if t.held.Has(ref) {
		return
	}
	if t.held == nil {
		t.held = sets.New[names.WorkloadRef]()
	}
	t.held.Insert(ref)
	t.waiting.Add(ref.Namespace, ref)
}

// IsEmpty reports whether no workload waits.
func (t *Turns) IsEmpty() bool { return t.held.Len() == 0 }

// Next removes and returns the workload whose turn it is. There must be one.
func (t *Turns) Next() names.WorkloadRef {
	ref := t.waiting.Next()
	if t.held.Delete(ref); t.IsEmpty() {
		t.held = nil // releases the memory that many workloads took
	}
	return ref
}
