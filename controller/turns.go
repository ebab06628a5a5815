package controller

import "kubernetes-deployment-restart-controller/catalog"

// turns holds workloads, each once, and hands them out in turns by namespace, so that a
// namespace with thousands of workloads does not delay the others. Adding and handing out
// take constant time.
type turns struct {
	held       map[catalog.WorkloadRef]struct{}
	namespaces []string // the namespaces with workloads, in the order of their turns
	waiting    map[string][]catalog.WorkloadRef
}

func newTurns() *turns {
	return &turns{held: make(map[catalog.WorkloadRef]struct{}), waiting: make(map[string][]catalog.WorkloadRef)}
}

func (t *turns) add(ref catalog.WorkloadRef) {
	if _, isHeld := t.held[ref]; isHeld {
		return
	}
	t.held[ref] = struct{}{}
	if len(t.waiting[ref.Namespace]) == 0 {
		t.namespaces = append(t.namespaces, ref.Namespace)
	}
	t.waiting[ref.Namespace] = append(t.waiting[ref.Namespace], ref)
}

func (t *turns) isEmpty() bool { return len(t.namespaces) == 0 }

// next removes and returns the workload whose turn it is. There must be one.
func (t *turns) next() catalog.WorkloadRef {
	namespace := t.namespaces[0]
	t.namespaces = t.namespaces[1:]
	ref := t.waiting[namespace][0]
	if rest := t.waiting[namespace][1:]; len(rest) > 0 {
		t.waiting[namespace] = rest
		t.namespaces = append(t.namespaces, namespace)
	} else {
		delete(t.waiting, namespace)
	}
	if delete(t.held, ref); len(t.held) == 0 {
		*t = *newTurns() // releases the memory that many workloads took
	}
	return ref
}
