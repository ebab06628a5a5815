package controller

import (
	"k8s.io/apimachinery/pkg/util/sets"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/internal/fairqueue"
)

// turns holds workloads, each once, and hands them out in turns by namespace.
type turns struct {
	held    sets.Set[names.WorkloadRef]
	waiting fairqueue.RoundRobin[names.WorkloadRef]
}

func (t *turns) add(ref names.WorkloadRef) {
	if t.held.Has(ref) {
		return
	}
	if t.held == nil {
		t.held = sets.New[names.WorkloadRef]()
	}
	t.held.Insert(ref)
	t.waiting.Add(ref.Namespace, ref)
}

func (t *turns) isEmpty() bool { return t.held.Len() == 0 }

// next removes and returns the workload whose turn it is. There must be one.
func (t *turns) next() names.WorkloadRef {
	ref := t.waiting.Next()
	if t.held.Delete(ref); t.isEmpty() {
		t.held = nil // releases the memory that many workloads took
	}
	return ref
}
