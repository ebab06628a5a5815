package intake

import (
	"time"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/optin"
	"kubernetes-deployment-restart-controller/controller/kinds"
	"kubernetes-deployment-restart-controller/internal/quarantine"
)

// observeNamespace takes in a Namespace, and what that changes for its workloads. The watch showed it at the given
// time, as far as it shows more than a list does; otherwise that is zero.
func (in *Intake) observeNamespace(namespace *optin.Namespace, shown time.Time) {
	in.takeNamespace(namespace, shown)
	in.OptIns.ReportSelection(in.Log)
}

func (in *Intake) takeNamespace(namespace *optin.Namespace, shown time.Time) {
	if in.OptIns.TakeNamespace(namespace, shown) {
		in.reconsider(namespace.Name)
	}
}

// forgetNamespace takes in that a Namespace is gone, as its workloads are or soon will be.
func (in *Intake) forgetNamespace(name string) {
	in.OptIns.ForgetNamespace(name)
	in.OptIns.ReportSelection(in.Log)
}

// listNamespaces takes in all Namespaces, or, unless it is empty, the only one of that name that is watched.
func (in *Intake) listNamespaces(only string, all []*kinds.Observation) {
	listed := make(map[string]struct{}, len(all))
	for _, o := range all {
		listed[o.Namespace.Name] = struct{}{}
		in.takeNamespace(o.Namespace, time.Time{})
	}
	in.OptIns.KeepNamespaces(only, listed)
	in.OptIns.ReportSelection(in.Log)
}

// reconsider asks for each workload of a namespace again whether it counts. One message reports what came of it:
// a single write to the Namespace may affect any number of workloads. For the same reason the lock is held for one
// workload at a time: the watches of all other namespaces need it, too.
func (in *Intake) reconsider(namespace string) {
	began, ended := 0, 0
	for _, ref := range in.OptIns.CandidatesIn(namespace) {
		isEnabled, wasEnabled := in.reconsiderOne(ref)
		switch {
		case isEnabled && !wasEnabled:
			began++
		case wasEnabled && !isEnabled:
			ended++
		}
	}
	if began > 0 || ended > 0 {
		in.Log.Info("a namespace changed which of its workloads are enabled", "namespace", namespace, "enabled", began, "no_longer_enabled", ended)
	}
}

// reconsiderOne asks for a workload again whether it counts, unless it is gone meanwhile.
func (in *Intake) reconsiderOne(ref names.WorkloadRef) (isEnabled, wasEnabled bool) {
	in.OptIns.Lock()
	defer in.OptIns.Unlock()
	w := in.OptIns.Candidate(ref)
	if w == nil {
		return false, false
	}
	in.Quarantine.Try(quarantine.Intake, kinds.NameOfWorkload(ref), func() {
		in.Unusable.Note(w)
		enabled := in.OptIns.Counting(w)
		isEnabled, wasEnabled = enabled != nil, in.Catalog.Workload(ref) != nil
		switch {
		case isEnabled && !wasEnabled:
			in.observeEnabled(enabled)
		case wasEnabled && !isEnabled:
			in.Catalog.ForgetWorkload(ref)
			in.drop(ref)
		}
	})
	return isEnabled, wasEnabled
}
