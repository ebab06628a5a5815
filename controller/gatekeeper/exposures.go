package gatekeeper

import (
	"cmp"
	"slices"
	"time"

	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/controller/gate"
)

// maxExposures is how many contents are known to which a workload is exposed, and how many are kept of those of a namespace. Its owner
// chooses how many there are.
const maxExposures = 32

// exposedTo holds the workloads that are exposed to a content of a config, or were until a moment ago.
type exposedTo map[names.ConfigRef]map[names.WorkloadRef]struct{}

func (e exposedTo) add(of *gate.Exposure) {
	if e[of.Config] == nil {
		e[of.Config] = make(map[names.WorkloadRef]struct{})
	}
	e[of.Config][of.Workload] = struct{}{}
}

func (e exposedTo) remove(of *gate.Exposure) {
	if delete(e[of.Config], of.Workload); len(e[of.Config]) == 0 {
		delete(e, of.Config)
	}
}

// Expose notes what restarts have brought to a workload that is not judged until a time, with what it was exposed to before, unless
// the configs have other content by now. It is kept for the next leader if the workload does not show it, as its record would, and if
// it is the first of several: others may undo a restart while nobody leads. It reports whether what is kept changes.
func (g *Gatekeeper) Expose(ref names.WorkloadRef, brought []Brought, isHidden bool, until time.Time) (isNews bool) {
	all := g.stillExposed(ref)
	for i := range brought {
		if b := &brought[i]; b.Content != "" {
			all = append(all, gate.Exposure{Config: b.Cause.Config, Keys: b.Keys, Content: b.Content})
		}
	}
	next, isFirst := &gate.Exposures{IsKept: isHidden}, !isHidden && g.isFirst(ref)
	for i := range all {
		of := &all[i]
		isKnown := slices.ContainsFunc(next.Of, func(e gate.Exposure) bool { return e.Config == of.Config && e.Content == of.Content })
		if isKnown || len(next.Of) >= maxExposures || !g.IsGradual(g.Catalog.PolicyOf(of.Config)) {
			continue
		}
		of.Workload, of.Until = ref, until
		next.Of = append(next.Of, *of)
		next.IsKept = next.IsKept || isFirst && len(g.Catalog.WorkloadsReferencing(of.Config)) > 1
	}
	g.Mu.Lock()
	defer g.Mu.Unlock()
	if _, isKnown := g.Ledger.Current(ref); !isKnown || len(next.Of) == 0 || !until.After(time.Now()) { // its pods may not have restarted
		next = nil
	}
	return g.setExposures(ref, next)
}

// isFirst reports whether a workload is exposed to a content that nobody has proven yet.
func (g *Gatekeeper) isFirst(ref names.WorkloadRef) bool {
	g.Mu.Lock()
	defer g.Mu.Unlock()
	return g.Ledger.IsFirst(ref)
}

// stillExposed returns what a workload was exposed to, unless the configs have other content by now.
func (g *Gatekeeper) stillExposed(ref names.WorkloadRef) []gate.Exposure {
	return slices.DeleteFunc(g.exposuresOf(ref), func(of gate.Exposure) bool {
		present := g.Catalog.ContentID(of.Config, of.Keys)
		return present != "" && present != of.Content
	})
}

// exposuresOf returns what a workload was exposed to when that was noted last.
func (g *Gatekeeper) exposuresOf(ref names.WorkloadRef) []gate.Exposure {
	g.Mu.Lock()
	defer g.Mu.Unlock()
	if known := g.Exposures.Of(ref); known != nil {
		return slices.Clone(known.Of)
	}
	return nil
}

// Judged notes that a workload is not exposed to anything any more, and reports whether what is kept for the next leader changes.
func (g *Gatekeeper) Judged(ref names.WorkloadRef) (isNews bool) {
	g.Mu.Lock()
	defer g.Mu.Unlock()
	return g.setExposures(ref, nil)
}

func (g *Gatekeeper) setExposures(ref names.WorkloadRef, next *gate.Exposures) (isNews bool) {
	before := g.Exposures.Of(ref)
	for of := range before.All() {
		g.exposed.remove(of)
	}
	for of := range next.All() {
		g.exposed.add(of)
	}
	g.Exposures.Set(ref, next)
	if before.AreKept() && next.AreKept() {
		areSame := func(a, b gate.Exposure) bool { return a.Config == b.Config && a.Content == b.Content }
		return !slices.EqualFunc(before.Of, next.Of, areSame) || before.Of[0].Until.Sub(next.Of[0].Until).Abs() >= time.Minute
	}
	return before.AreKept() != next.AreKept()
}

// KeptExposures returns what is kept for the next leader by namespace, and forgets what is over.
func (g *Gatekeeper) KeptExposures(now time.Time) map[string][]gate.Exposure {
	g.Mu.Lock()
	defer g.Mu.Unlock()
	var kept []*gate.Exposures
	for ref, known := range g.Exposures.All() {
		_, isFollowed := g.Ledger.Current(ref)
		switch isOver := !known.Of[0].Until.After(now); {
		case isOver && !isFollowed:
			g.setExposures(ref, nil)
		case !isOver && known.IsKept:
			kept = append(kept, known)
		}
	}
	slices.SortFunc(kept, func(a, b *gate.Exposures) int { // the same ones each time
		a0, b0 := &a.Of[0].Workload, &b.Of[0].Workload
		return cmp.Or(cmp.Compare(a0.Namespace, b0.Namespace), cmp.Compare(a0.Kind, b0.Kind), cmp.Compare(a0.Name, b0.Name))
	})
	in := make(map[string][]gate.Exposure)
	for _, known := range kept {
		if namespace := known.Of[0].Workload.Namespace; len(in[namespace])+len(known.Of) <= maxExposures {
			in[namespace] = append(in[namespace], known.Of...)
		}
	}
	return in
}

// RestoreExposure takes in what a former leader has kept of a workload. Whoever may write to the ConfigMap can keep others waiting for
// a deadline at most.
func (g *Gatekeeper) RestoreExposure(of gate.Exposure, now time.Time) {
	if latest := now.Add(g.Deadline); of.Until.After(latest) {
		of.Until = latest
	}
	g.Mu.Lock()
	defer g.Mu.Unlock()
	next := &gate.Exposures{IsKept: true}
	for known := range g.Exposures.Of(of.Workload).All() {
		if next.Of = append(next.Of, *known); known.Config == of.Config && known.Content == of.Content {
			return
		}
	}
	if next.Of = append(next.Of, of); !of.Until.After(now) || len(next.Of) > maxExposures {
		return
	}
	g.setExposures(of.Workload, next)
}

// exposeOthers lets others take slots in the fan-outs that begin with a request, if they are exposed to the same content: by a former
// leader, or by an edit before the content was another one, or gone.
func (g *Gatekeeper) exposeOthers(r *gate.Request, now time.Time) {
	for i := range r.Causes {
		cause := &r.Causes[i]
		if r.CannotRoll {
			return // it takes part in no fan-out
		}
		before := g.exposedBefore(cause, r.Workload, now)
		if len(before) == 0 {
			continue
		}
		proven := g.proven(cause)
		for _, of := range before {
			if g.Catalog.ContentID(of.Config, of.Keys) == of.Content {
				g.expose(&of, cause, proven, now)
			}
		}
	}
}

// exposedBefore returns what other workloads are exposed to of a config if a fan-out of it begins now.
func (g *Gatekeeper) exposedBefore(cause *gate.Cause, asks names.WorkloadRef, now time.Time) (found []gate.Exposure) {
	g.Mu.Lock()
	defer g.Mu.Unlock()
	if !cause.IsGradual || len(g.exposed[cause.Config]) == 0 || !g.Ledger.IsNew(cause) {
		return nil
	}
	for ref := range g.exposed[cause.Config] {
		_, isFollowed := g.Ledger.Current(ref)
		for of := range g.Exposures.Of(ref).All() {
			if of.Config == cause.Config && ref != asks && (isFollowed || of.Until.After(now)) && decide.ShareKey(of.Keys, cause.Keys) {
				found = append(found, *of)
			}
		}
	}
	return found
}

// proven returns the workloads that run with the content of a cause.
func (g *Gatekeeper) proven(cause *gate.Cause) map[names.WorkloadRef]bool {
	all := make(map[names.WorkloadRef]bool)
	for _, moment := range cause.Moments {
		running, _ := g.Catalog.Running(cause.Config, moment)
		for i := range running {
			all[running[i].Workload] = true
		}
	}
	return all
}

// expose makes a workload part of the fan-outs of a cause, unless a former leader may have seen that it has proven the content.
func (g *Gatekeeper) expose(of *gate.Exposure, cause *gate.Cause, proven map[names.WorkloadRef]bool, now time.Time) {
	g.Mu.Lock()
	defer g.Mu.Unlock()
	if _, isFollowed := g.Ledger.Current(of.Workload); isFollowed || !proven[of.Workload] {
		g.Ledger.Expose(of, cause, now)
	}
}
