package gatekeeper

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/controller/gate"
)

// maxHidden is how much is kept of a namespace of what its workloads do not show any more, and of one of them. Its owner chooses how
// many there are.
const maxHidden = 32

// hidden is what workloads are exposed to and do not show any more. That of a former leader is part of no fan-out before another
// workload asks for the same content.
type hidden struct {
	of     map[names.WorkloadRef][]gate.Hidden
	former map[names.ConfigRef]map[names.WorkloadRef]struct{}
}

func newHidden() hidden {
	return hidden{of: make(map[names.WorkloadRef][]gate.Hidden), former: make(map[names.ConfigRef]map[names.WorkloadRef]struct{})}
}

// Hide notes that a workload does not show any more what it is exposed to until a time, and reports whether that is news.
func (g *Gatekeeper) Hide(ref names.WorkloadRef, brought []Brought, until time.Time) (isNews bool) {
	var all []gate.Hidden
	for i := range brought {
		if b := &brought[i]; b.Content != "" && g.IsGradual(g.Catalog.PolicyOf(b.Cause.Config)) && len(all) < maxHidden {
			all = append(all, gate.Hidden{Workload: ref, Config: b.Cause.Config, Keys: b.Keys, Content: b.Content, Until: until})
		}
	}
	g.Mu.Lock()
	defer g.Mu.Unlock()
	before := g.hidden.of[ref]
	if len(all) == 0 || !until.After(time.Now()) {
		return false
	}
	g.hidden.of[ref] = all
	return len(before) != len(all) || before[0].Until.Sub(until).Abs() >= time.Minute
}

// Show notes that a workload shows what it is exposed to, or is not exposed any more, and reports whether that is news.
func (g *Gatekeeper) Show(ref names.WorkloadRef) (isNews bool) {
	g.Mu.Lock()
	defer g.Mu.Unlock()
	_, isNews = g.hidden.of[ref]
	g.hidden.forget(ref)
	return isNews
}

// forget forgets what a workload is exposed to.
func (h *hidden) forget(ref names.WorkloadRef) {
	for _, of := range h.of[ref] {
		h.isPart(&of)
	}
	delete(h.of, ref)
}

// isPart notes that what a former leader has exposed is part of a fan-out by now, or is not exposed any more.
func (h *hidden) isPart(of *gate.Hidden) {
	if delete(h.former[of.Config], of.Workload); len(h.former[of.Config]) == 0 {
		delete(h.former, of.Config)
	}
}

// Hidden returns what is hidden by namespace, and forgets what is over.
func (g *Gatekeeper) Hidden(now time.Time) map[string][]gate.Hidden {
	g.Mu.Lock()
	defer g.Mu.Unlock()
	in := make(map[string][]gate.Hidden)
	for _, ref := range slices.SortedFunc(maps.Keys(g.hidden.of), func(a, b names.WorkloadRef) int { return cmp.Compare(a.String(), b.String()) }) {
		all := g.hidden.of[ref]
		if !all[0].Until.After(now) {
			g.hidden.forget(ref)
			continue
		}
		if len(in[ref.Namespace])+len(all) <= maxHidden {
			in[ref.Namespace] = append(in[ref.Namespace], all...)
		}
	}
	return in
}

// RestoreHidden takes in what a former leader has kept of a workload. Whoever may write to the ConfigMap can keep others waiting for
// a deadline at most.
func (g *Gatekeeper) RestoreHidden(h gate.Hidden, now time.Time) {
	if latest := now.Add(g.Deadline); h.Until.After(latest) {
		h.Until = latest
	}
	g.Mu.Lock()
	defer g.Mu.Unlock()
	if _, isFollowed := g.Ledger.Current(h.Workload); isFollowed || !h.Until.After(now) || len(g.hidden.of[h.Workload]) >= maxHidden {
		return
	}
	g.hidden.of[h.Workload] = append(g.hidden.of[h.Workload], h)
	if g.hidden.former[h.Config] == nil {
		g.hidden.former[h.Config] = make(map[names.WorkloadRef]struct{})
	}
	g.hidden.former[h.Config][h.Workload] = struct{}{}
}

// exposeFormer lets workloads that a former leader has exposed take their slots, before another one asks for the same content.
func (g *Gatekeeper) exposeFormer(r *gate.Request, now time.Time) {
	g.Mu.Lock()
	hasNone := len(g.hidden.former) == 0
	g.Mu.Unlock()
	if hasNone {
		return
	}
	for i := range r.Causes {
		cause := &r.Causes[i]
		for _, h := range g.formerOf(cause, now) {
			if g.Catalog.ContentID(h.Config, h.Keys) == h.Content && h.Workload != r.Workload {
				g.takePart(&h, cause, now)
			}
		}
	}
}

// takePart makes what a former leader has exposed part of a fan-out.
func (g *Gatekeeper) takePart(h *gate.Hidden, cause *gate.Cause, now time.Time) {
	g.Mu.Lock()
	defer g.Mu.Unlock()
	if _, isFollowed := g.Ledger.Current(h.Workload); !isFollowed {
		g.Ledger.BeginFormer(&gate.Request{Workload: h.Workload, ID: formerID, Standing: gate.Well, Causes: []gate.Cause{*cause}}, now)
		g.Ledger.End(h.Workload, h.Until, now)
	}
	g.hidden.isPart(h)
}

// formerID is by what the gate knows a restart of a former leader of which nothing is to be seen.
const formerID = "hidden"

// formerOf returns what former leaders have exposed to keys of a cause.
func (g *Gatekeeper) formerOf(cause *gate.Cause, now time.Time) (found []gate.Hidden) {
	g.Mu.Lock()
	defer g.Mu.Unlock()
	for ref := range g.hidden.former[cause.Config] {
		for _, h := range g.hidden.of[ref] {
			if h.Config == cause.Config && h.Until.After(now) && cause.IsGradual && decide.ShareKey(h.Keys, cause.Keys) {
				found = append(found, h)
			}
		}
	}
	return found
}
