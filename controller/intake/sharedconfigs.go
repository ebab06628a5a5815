package intake

import (
	"slices"
	"time"

	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/kinds"
	"kubernetes-deployment-restart-controller/controller/optedin"
	"kubernetes-deployment-restart-controller/controller/wording"
)

// A config that is shared with other namespaces has another name in each of them; see [names.ConfigRef.IsShared].
// What happens to it happens under each name.

// configsChanged queues the change of a config that has several names.
func (in *Intake) configsChanged(names []names.ConfigRef, at time.Time) {
	for _, name := range names {
		in.configChanged(name, at)
	}
}

// configsGone takes in that a config has lost names that it had, unless it still has them.
func (in *Intake) configsGone(names, present []names.ConfigRef) {
	for _, name := range names {
		if !slices.Contains(present, name) {
			in.configGone(name)
		}
	}
}

// policiesChanged acts on other annotations of a config that has several names.
func (in *Intake) policiesChanged(names []names.ConfigRef) {
	for _, name := range names {
		in.policyChanged(name)
	}
}

// namesElsewhere returns the names that configs have in other namespaces.
func (in *Intake) namesElsewhere(configs []*content.Config) map[names.ConfigRef][]names.ConfigRef {
	all := make(map[names.ConfigRef][]names.ConfigRef)
	for _, config := range configs {
		if names := in.Catalog.NamesElsewhere(config.Ref); len(names) > 0 {
			all[config.Ref] = names
		}
	}
	return all
}

// sharingListed takes in with whom listed configs are shared, given the names that they had in other namespaces before
// the list: their annotations may have changed.
func (in *Intake) sharingListed(before map[names.ConfigRef][]names.ConfigRef, configs []*content.Config) {
	present := in.namesElsewhere(configs)
	for _, names := range present {
		in.policiesChanged(names)
	}
	for ref, names := range before {
		in.configsGone(names, present[ref])
	}
}

// Buffer notes that a workload is kept until its list is complete. Only then is it clear which workloads of a namespace
// are left alone, so of those that do not fit by then little is kept: they are read again if they do fit.
func (w *ResourceWatch) Buffer(reduced *kinds.WorkloadObservation) {
	if reduced.Size <= optedin.LittleSize {
		return
	}
	if w.buffered[reduced.Ref.Namespace] += reduced.Size; w.buffered[reduced.Ref.Namespace] > wording.MaxReferencesOfNamespace {
		reduced.Workload = reduced.Workload.LeftAlone()
	}
}

// sharesChanged leaves workloads alone whose namespace has too many references now, and decides about those again that are
// left alone no longer. The caller holds the lock of [optedin.OptIns].
func (in *Intake) sharesChanged(leave, readmit []names.WorkloadRef) {
	for _, ref := range leave {
		if w := in.OptIns.Candidate(ref); w != nil {
			in.OptIns.Limit(w)
		}
		if in.OptIns.Leaves(ref) {
			if left := in.Catalog.LeaveAlone(ref); left != nil {
				in.WorkloadChanged(left)
				in.Unjudged.NoteWorkload(ref)
			}
		}
	}
	for _, ref := range readmit {
		if w := in.Catalog.Workload(ref); w != nil && w.Excess == workload.NamespaceFull {
			in.WorkloadChanged(w)
		}
	}
}
