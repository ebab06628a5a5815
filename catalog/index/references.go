package index

import (
	"cmp"
	"iter"
	"maps"

	"kubernetes-deployment-restart-controller/catalog/names"
)

// References is the reverse index: which workloads reference which config.
type References struct {
	readers map[names.ConfigRef]workloadSet
	// elsewhere has the namespaces of the workloads that name a config of another namespace, by that config, whether it is
	// shared with them or not.
	elsewhere map[names.ConfigRef]map[string]struct{}
}

// NewReferences returns an index without workloads.
func NewReferences() References {
	return References{readers: make(map[names.ConfigRef]workloadSet), elsewhere: make(map[names.ConfigRef]map[string]struct{})}
}

// Len returns how many configs are referenced.
func (r *References) Len() int { return len(r.readers) }

// Has reports whether a workload references a config.
func (r *References) Has(config names.ConfigRef) bool {
	_, found := r.readers[config]
	return found
}

// Count returns how many workloads reference a config.
func (r *References) Count(config names.ConfigRef) int { return r.readers[config].len() }

// To iterates over the workloads that reference a config, in no particular order.
func (r *References) To(config names.ConfigRef) iter.Seq[names.WorkloadRef] {
	return r.readers[config].all
}

// Configs iterates over the configs that workloads reference, in no particular order. Meanwhile, references to the
// present one may be removed.
func (r *References) Configs() iter.Seq[names.ConfigRef] { return maps.Keys(r.readers) }

// Elsewhere iterates over the namespaces of the workloads that name a config of another namespace.
func (r *References) Elsewhere(source names.ConfigRef) iter.Seq[string] {
	return maps.Keys(r.elsewhere[source])
}

// Move moves a workload from the configs that it referenced to those that it references; both are sorted, and each may
// be empty. It calls released with each config that no workload references any more.
func (r *References) Move(workload names.WorkloadRef, before, after []names.ConfigRef, released func(names.ConfigRef)) {
	var name *names.WorkloadRef
	if len(after) > 0 {
		name = new(workload) // for all its configs
	}
	for len(before) > 0 || len(after) > 0 {
		switch order := compareFirst(before, after); {
		case order < 0:
			if r.Remove(before[0], workload) {
				released(before[0])
			}
			before = before[1:]
		case order > 0:
			r.Add(after[0], name)
			after = after[1:]
		default:
			before, after = before[1:], after[1:]
		}
	}
}

// compareFirst compares the first configs of two lists. An empty list comes last.
func compareFirst(a, b []names.ConfigRef) int {
	if len(a) == 0 || len(b) == 0 {
		return cmp.Compare(len(b), len(a))
	}
	return names.CompareConfigRefs(a[0], b[0])
}

// Add adds a reference that is not there. The index keeps the name of the workload.
func (r *References) Add(config names.ConfigRef, workload *names.WorkloadRef) {
	readers := r.readers[config]
	readers.add(workload)
	if r.readers[config] = readers; !config.IsShared() {
		return
	}
	source := config.Source()
	if r.elsewhere[source] == nil {
		r.elsewhere[source] = make(map[string]struct{})
	}
	r.elsewhere[source][config.Namespace] = struct{}{}
}

// Remove removes a reference, if it is there, and reports whether no workload references the config now.
func (r *References) Remove(config names.ConfigRef, workload names.WorkloadRef) bool {
	readers := r.readers[config]
	if readers.remove(workload); readers.len() > 0 {
		r.readers[config] = readers
		return false
	}
	if delete(r.readers, config); config.IsShared() {
		source := config.Source()
		if delete(r.elsewhere[source], config.Namespace); len(r.elsewhere[source]) == 0 {
			delete(r.elsewhere, source)
		}
	}
	return true
}
