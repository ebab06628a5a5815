package catalog

// fewWorkloads is the highest number of workloads that a [workloadSet] searches one by
// one.
const fewWorkloads = 16

// workloadSet is a set of workloads. There is a set for each config, and most have one
// or two workloads, so a small set is a slice. A set that has grown large is a map, so
// that ten thousand workloads that share a config do not search through each other.
type workloadSet struct {
	few  []WorkloadRef
	many map[WorkloadRef]struct{} // instead of few, if it is not nil
}

func (s *workloadSet) len() int { return len(s.few) + len(s.many) }

// all calls the function with each workload, in no particular order.
func (s *workloadSet) all(yield func(WorkloadRef) bool) {
	for _, ref := range s.few {
		if !yield(ref) {
			return
		}
	}
	for ref := range s.many {
		if !yield(ref) {
			return
		}
	}
}

// add adds a workload that is not in the set.
func (s *workloadSet) add(ref WorkloadRef) {
	switch {
	case s.many != nil:
		s.many[ref] = struct{}{}
	case len(s.few) < fewWorkloads:
		s.few = append(s.few, ref)
	default:
		s.many = map[WorkloadRef]struct{}{ref: {}}
		for _, other := range s.few {
			s.many[other] = struct{}{}
		}
		s.few = nil
	}
}

// remove removes a workload. It does nothing if the workload is not in the set.
func (s *workloadSet) remove(ref WorkloadRef) {
	delete(s.many, ref)
	for i := range s.few {
		if s.few[i] == ref {
			last := len(s.few) - 1
			s.few[i] = s.few[last]
			s.few = s.few[:last]
			return
		}
	}
}
