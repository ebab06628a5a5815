package optedin

import (
	"maps"
	"slices"
	"sync"
	"time"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/optin"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/kinds"
	"kubernetes-deployment-restart-controller/controller/wording"
)

// OptIns knows which workloads count, from what they and their Namespaces say. It keeps those that may come to
// count when a Namespace changes, so that they need not be listed again.
type OptIns struct {
	Rules  optin.Rules
	set    string // of the namespaces that are watched
	shares *shares[names.WorkloadRef]

	// Mu protects everything below; see [OptIns.Lock].
	Mu sync.Mutex
	// Since is when the rules began to apply; see [optin.Note].
	Since      time.Time
	Namespaces map[string]*optin.Namespace
	selection  selection
	// Candidates are the workloads whose Namespace matters, or will if they no longer opt out, by namespace.
	Candidates map[string]map[names.WorkloadRef]*kinds.WorkloadObservation
}

// NewOptIns returns what the rules say of the workloads in these namespaces, before any are known. No namespaces mean all.
func NewOptIns(rules optin.Rules, namespaces []string) *OptIns {
	return &OptIns{
		Rules: rules, set: optin.NamespaceSet(namespaces), Since: time.Now(),
		shares:     newShares(wording.MaxReferencesOfNamespace, compareNames),
		Namespaces: make(map[string]*optin.Namespace), selection: newSelection(namespaces),
		Candidates: make(map[string]map[names.WorkloadRef]*kinds.WorkloadObservation),
	}
}

// Lock is held from the decision whether a workload counts until the catalog has it, so that a Namespace that changes meanwhile
// affects the workload, too.
func (o *OptIns) Lock() { o.Mu.Lock() }

// Unlock ends what [OptIns.Lock] begins.
func (o *OptIns) Unlock() { o.Mu.Unlock() }

// Candidate returns what is known of a workload whose Namespace matters, nil if there is nothing. The caller holds the lock.
func (o *OptIns) Candidate(ref names.WorkloadRef) *kinds.WorkloadObservation {
	return o.Candidates[ref.Namespace][ref]
}

// Take notes a workload, and returns what the catalog is to keep of it; nil if it does not count. The caller
// holds the lock.
func (o *OptIns) Take(w *kinds.WorkloadObservation) *workload.Workload {
	o.Limit(w)
	if o.remembers() {
		o.note(w)
	}
	return o.Counting(w)
}

// remembers reports whether the rules depend on anything besides the workload itself.
func (o *OptIns) remembers() bool { return o.Rules.NeedNamespaces() || len(o.Rules.Dialects) > 0 }

func (o *OptIns) note(w *kinds.WorkloadObservation) {
	if !o.mattersLater(w) {
		o.Forget(w.Ref)
		return
	}
	candidates := o.Candidates[w.Ref.Namespace]
	if candidates == nil {
		candidates = make(map[names.WorkloadRef]*kinds.WorkloadObservation)
		o.Candidates[w.Ref.Namespace] = candidates
	}
	w.Succeed(candidates[w.Ref], time.Now())
	candidates[w.Ref] = w
}

// mattersLater reports whether what is known of a workload decides later whether it counts, or since when.
func (o *OptIns) mattersLater(w *kinds.WorkloadObservation) bool {
	if w.Workload != nil && (w.IsForeign() || o.Rules.NeedNamespaces()) || o.Rules.MayCount(annotation.Unsaid, w.Ref.Namespace) {
		return true
	}
	return w.Choice == annotation.OptsOut && len(o.Rules.Dialects) > 0
}

// Counting returns a workload as it counts, nil if it does not. The caller holds the lock, unless the rules depend on nothing
// besides the workload.
func (o *OptIns) Counting(w *kinds.WorkloadObservation) *workload.Workload {
	namespace := o.Namespaces[w.Ref.Namespace]
	switch {
	case w.Workload == nil || !o.Rules.Counts(w.Choice, w.Ref.Namespace, namespace):
		return nil
	case w.Choice == annotation.OptsIn && !w.IsForeign():
		counting := *w.Workload // the catalog takes it over
		return &counting
	}
	since := o.Since
	for _, at := range []time.Time{w.OptedOutUntil, w.Since} {
		if at.After(since) {
			since = at
		}
	}
	if w.IsForeign() {
		return w.Workload.EnabledBy(since)
	}
	return optin.Following(w.Workload, namespace, since)
}

// EnabledBy says by what a workload is enabled that the catalog has; empty if it is not any more. If nothing is kept of
// it here, it is by its own annotation.
func (o *OptIns) EnabledBy(ref names.WorkloadRef) string {
	o.Mu.Lock()
	defer o.Mu.Unlock()
	ground, tools := optin.EnabledByItself, ""
	if w := o.Candidates[ref.Namespace][ref]; w != nil {
		ground, tools = o.Rules.Ground(w.Choice, ref.Namespace, o.Namespaces[ref.Namespace]), w.By
	}
	if !ground.Counts() {
		return ""
	}
	return ground.Describe(tools)
}

// Read returns a workload that was read apart from the watches as it counts, nil if it does not.
func (o *OptIns) Read(found *kinds.Observation) *workload.Workload {
	if found == nil || found.Workload == nil {
		return nil
	}
	if o.Limit(found.Workload); !o.remembers() {
		return o.Counting(found.Workload) // a worker that has just written need not wait until a list is taken in
	}
	o.Mu.Lock()
	defer o.Mu.Unlock()
	found.Workload.Succeed(o.Candidates[found.Workload.Ref.Namespace][found.Workload.Ref], time.Now())
	return o.Counting(found.Workload)
}

// Forget forgets a workload that is gone, or cannot count any more. The caller holds the lock.
func (o *OptIns) Forget(ref names.WorkloadRef) {
	candidates := o.Candidates[ref.Namespace]
	if delete(candidates, ref); len(candidates) == 0 {
		delete(o.Candidates, ref.Namespace)
	}
}

// CandidatesIn names the workloads whose Namespace matters in one namespace, in no particular order.
func (o *OptIns) CandidatesIn(namespace string) []names.WorkloadRef {
	o.Mu.Lock()
	defer o.Mu.Unlock()
	return slices.Collect(maps.Keys(o.Candidates[namespace]))
}

// ForgetListed forgets the workloads of a kind in a namespace, or in all namespaces, before a list of them is
// taken in. The caller holds the lock.
func (o *OptIns) ForgetListed(kind names.WorkloadKind, namespace string) {
	for name, candidates := range o.Candidates {
		if namespace != "" && namespace != name {
			continue
		}
		maps.DeleteFunc(candidates, func(ref names.WorkloadRef, _ *kinds.WorkloadObservation) bool { return ref.Kind == kind })
		if len(candidates) == 0 {
			delete(o.Candidates, name)
		}
	}
}
