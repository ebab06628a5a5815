package index

import "kubernetes-deployment-restart-controller/catalog/names"

// fewWorkloads is the highest number of workloads that a [workloadSet] searches one by
// one.
const fewWorkloads = 16

// workloadSet is a set of workloads. There is a set for each config, and most have one
// or two workloads, so a small set is a slice. A set that has grown large is a map, so
// that ten thousand workloads that share a config do not search through each other. Names are shared by the sets of all
// configs that a workload references.
type workloadSet struct {
	first *names.WorkloadRef // nil if the set is empty
	more  *moreWorkloads
}

type moreWorkloads struct {
	few  []*names.WorkloadRef
	many map[names.WorkloadRef]struct{} // instead of few, if it is not nil
}

func (s workloadSet) len() int {
	switch {
	case s.first == nil:
		return 0
	case s.more == nil:
		return 1
	}
	return 1 + len(s.more.few) + len(s.more.many)
}

// all calls the function with each workload, in no particular order.
func (s workloadSet) all(yield func(names.WorkloadRef) bool) {
	if s.first == nil || !yield(*s.first) || s.more == nil {
		return
	}
	for _, ref := range s.more.few {
		if !yield(*ref) {
			return
		}
	}
	for ref := range s.more.many {
		if !yield(ref) {
			return
		}
	}
}

// add adds a workload that is not in the set.
func (s *workloadSet) add(ref *names.WorkloadRef) {
	switch {
	case s.first == nil:
		s.first = ref
		return
	case s.more == nil:
		s.more = &moreWorkloads{}
	}
	switch more := s.more; {
	case more.many != nil:
		more.many[*ref] = struct{}{}
	case len(more.few) < fewWorkloads:
		more.few = append(more.few, ref)
	default:
		more.many = map[names.WorkloadRef]struct{}{*ref: {}}
		for _, other := range more.few {
			more.many[*other] = struct{}{}
		}
		more.few = nil
	}
}

// remove removes a workload. It does nothing if the workload is not in the set.
func (s *workloadSet) remove(ref names.WorkloadRef) {
	if s.first != nil && *s.first == ref {
		s.first = s.more.takeAny()
	} else if s.more != nil {
		s.more.remove(ref)
	}
	if s.more != nil && len(s.more.few)+len(s.more.many) == 0 {
		s.more = nil
	}
}

// takeAny removes one workload and returns it, nil if there is none.
func (m *moreWorkloads) takeAny() *names.WorkloadRef {
	if m == nil {
		return nil
	}
	if last := len(m.few) - 1; last >= 0 {
		ref := m.few[last]
		m.few = m.few[:last]
		return ref
	}
	for ref := range m.many {
		delete(m.many, ref)
		return &ref
	}
	return nil
}

func (m *moreWorkloads) remove(ref names.WorkloadRef) {
	delete(m.many, ref)
	for i := range m.few {
		if *m.few[i] == ref {
			last := len(m.few) - 1
			m.few[i] = m.few[last]
			m.few = m.few[:last]
			return
		}
	}
}
