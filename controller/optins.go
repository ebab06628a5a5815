package controller

import (
	"maps"
	"slices"
	"sync"
	"time"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/optin"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/internal/quarantine"
)

// optIns knows which workloads count, from what they and their Namespaces say. It keeps those that may come to
// count when a Namespace changes, so that they need not be listed again.
type optIns struct {
	rules  optin.Rules
	set    string // of the namespaces that are watched
	shares *shares[names.WorkloadRef]

	// mu protects everything below; see [optIns.Lock].
	mu sync.Mutex
	// since is when the rules began to apply; see [optin.Note].
	since      time.Time
	namespaces map[string]*optin.Namespace
	selection  selection
	// candidates are the workloads whose Namespace matters, or will if they no longer opt out, by namespace.
	candidates map[string]map[names.WorkloadRef]*workloadObservation
}

func newOptIns(rules optin.Rules, namespaces []string) *optIns {
	return &optIns{
		rules: rules, set: optin.NamespaceSet(namespaces), since: time.Now(),
		shares:     newShares(maxReferencesOfNamespace, compareNames),
		namespaces: make(map[string]*optin.Namespace), selection: newSelection(namespaces),
		candidates: make(map[string]map[names.WorkloadRef]*workloadObservation),
	}
}

// Lock is held from the decision whether a workload counts until the catalog has it, so that a Namespace that changes meanwhile
// affects the workload, too.
func (o *optIns) Lock() { o.mu.Lock() }

// Unlock ends what [optIns.Lock] begins.
func (o *optIns) Unlock() { o.mu.Unlock() }

// candidate returns what is known of a workload whose Namespace matters, nil if there is nothing. The caller holds the lock.
func (o *optIns) candidate(ref names.WorkloadRef) *workloadObservation {
	return o.candidates[ref.Namespace][ref]
}

// take notes a workload, and returns what the catalog is to keep of it; nil if it does not count. The caller
// holds the lock.
func (o *optIns) take(w *workloadObservation) *workload.Workload {
	o.limit(w)
	if o.remembers() {
		o.note(w)
	}
	return o.counting(w)
}

// remembers reports whether the rules depend on anything besides the workload itself.
func (o *optIns) remembers() bool { return o.rules.NeedNamespaces() || len(o.rules.Dialects) > 0 }

func (o *optIns) note(w *workloadObservation) {
	if !o.mattersLater(w) {
		o.forget(w.ref)
		return
	}
	candidates := o.candidates[w.ref.Namespace]
	if candidates == nil {
		candidates = make(map[names.WorkloadRef]*workloadObservation)
		o.candidates[w.ref.Namespace] = candidates
	}
	w.succeed(candidates[w.ref], time.Now())
	candidates[w.ref] = w
}

// succeed takes over what is known of the previous state of a workload, nil if the watch may have missed some. An
// opt-out that is removed leaves no time in the workload.
func (w *workloadObservation) succeed(previous *workloadObservation, shown time.Time) {
	switch {
	case previous == nil:
	case previous.choice == w.choice:
		w.optedOutUntil = previous.optedOutUntil
	case previous.choice == annotation.OptsOut && (w.choice == annotation.Unsaid || w.isForeign()):
		w.optedOutUntil = shown
	}
}

// mattersLater reports whether what is known of a workload decides later whether it counts, or since when.
func (o *optIns) mattersLater(w *workloadObservation) bool {
	if w.workload != nil && (w.isForeign() || o.rules.NeedNamespaces()) || o.rules.MayCount(annotation.Unsaid, w.ref.Namespace) {
		return true
	}
	return w.choice == annotation.OptsOut && len(o.rules.Dialects) > 0
}

// counting returns a workload as it counts, nil if it does not. The caller holds the lock, unless the rules depend on nothing
// besides the workload.
func (o *optIns) counting(w *workloadObservation) *workload.Workload {
	namespace := o.namespaces[w.ref.Namespace]
	switch {
	case w.workload == nil || !o.rules.Counts(w.choice, w.ref.Namespace, namespace):
		return nil
	case w.choice == annotation.OptsIn && !w.isForeign():
		counting := *w.workload // the catalog takes it over
		return &counting
	}
	since := o.since
	for _, at := range []time.Time{w.optedOutUntil, w.since} {
		if at.After(since) {
			since = at
		}
	}
	if w.isForeign() {
		return w.workload.EnabledBy(since)
	}
	return optin.Following(w.workload, namespace, since)
}

// enabledBy says by what a workload is enabled that the catalog has; empty if it is not any more. If nothing is kept of
// it here, it is by its own annotation.
func (o *optIns) enabledBy(ref names.WorkloadRef) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	ground, tools := optin.EnabledByItself, ""
	if w := o.candidates[ref.Namespace][ref]; w != nil {
		ground, tools = o.rules.Ground(w.choice, ref.Namespace, o.namespaces[ref.Namespace]), w.by
	}
	if !ground.Counts() {
		return ""
	}
	return ground.Describe(tools)
}

// read returns a workload that was read apart from the watches as it counts, nil if it does not.
func (o *optIns) read(found *observation) *workload.Workload {
	if found == nil || found.workload == nil {
		return nil
	}
	if o.limit(found.workload); !o.remembers() {
		return o.counting(found.workload) // a worker that has just written need not wait until a list is taken in
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	found.workload.succeed(o.candidates[found.workload.ref.Namespace][found.workload.ref], time.Now())
	return o.counting(found.workload)
}

// forget forgets a workload that is gone, or cannot count any more. The caller holds the lock.
func (o *optIns) forget(ref names.WorkloadRef) {
	candidates := o.candidates[ref.Namespace]
	if delete(candidates, ref); len(candidates) == 0 {
		delete(o.candidates, ref.Namespace)
	}
}

// candidatesIn names the workloads whose Namespace matters in one namespace, in no particular order.
func (o *optIns) candidatesIn(namespace string) []names.WorkloadRef {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Collect(maps.Keys(o.candidates[namespace]))
}

// forgetListed forgets the workloads of a kind in a namespace, or in all namespaces, before a list of them is
// taken in. The caller holds the lock.
func (o *optIns) forgetListed(kind names.WorkloadKind, namespace string) {
	for name, candidates := range o.candidates {
		if namespace != "" && namespace != name {
			continue
		}
		maps.DeleteFunc(candidates, func(ref names.WorkloadRef, _ *workloadObservation) bool { return ref.Kind == kind })
		if len(candidates) == 0 {
			delete(o.candidates, name)
		}
	}
}

// reconsider asks for each workload of a namespace again whether it counts. One message reports what came of it:
// a single write to the Namespace may affect any number of workloads. For the same reason the lock is held for one
// workload at a time: the watches of all other namespaces need it, too.
func (in *intake) reconsider(namespace string) {
	began, ended := 0, 0
	for _, ref := range in.optIns.candidatesIn(namespace) {
		isEnabled, wasEnabled := in.reconsiderOne(ref)
		switch {
		case isEnabled && !wasEnabled:
			began++
		case wasEnabled && !isEnabled:
			ended++
		}
	}
	if began > 0 || ended > 0 {
		in.log.Info("a namespace changed which of its workloads are enabled", "namespace", namespace, "enabled", began, "no_longer_enabled", ended)
	}
}

// reconsiderOne asks for a workload again whether it counts, unless it is gone meanwhile.
func (in *intake) reconsiderOne(ref names.WorkloadRef) (isEnabled, wasEnabled bool) {
	in.optIns.Lock()
	defer in.optIns.Unlock()
	w := in.optIns.candidate(ref)
	if w == nil {
		return false, false
	}
	in.quarantine.Try(quarantine.Intake, nameOfWorkload(ref), func() {
		in.unusable.note(w)
		enabled := in.optIns.counting(w)
		isEnabled, wasEnabled = enabled != nil, in.catalog.Workload(ref) != nil
		switch {
		case isEnabled && !wasEnabled:
			in.observeEnabled(enabled)
		case wasEnabled && !isEnabled:
			in.catalog.ForgetWorkload(ref)
			in.drop(ref)
		}
	})
	return isEnabled, wasEnabled
}
