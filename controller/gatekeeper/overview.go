package gatekeeper

import (
	"cmp"
	"slices"
	"time"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/controller/pending"
	"kubernetes-deployment-restart-controller/controller/run"
	"kubernetes-deployment-restart-controller/internal/notes"
	"kubernetes-deployment-restart-controller/internal/status"
)

// Explain returns what the gate would answer to a request, and changes nothing.
func (g *Gatekeeper) Explain(r *gate.Request, now time.Time) gate.Answer {
	g.Mu.Lock()
	defer g.Mu.Unlock()
	return detached(g.Ledger.Explain(r, now))
}

// OverviewOf returns how far the fan-outs of a config have come, and its halts.
func (g *Gatekeeper) OverviewOf(config names.ConfigRef) (status.List[status.FanOut], status.List[status.Halt]) {
	progress, active := newProgressList(), newHaltList()
	g.Mu.Lock()
	defer g.Mu.Unlock()
	for p := range g.Ledger.ProgressOf(config) {
		progress.Add(p)
	}
	g.addHalts(active, config)
	return status.ListOf(progress, g.fanOutOf), status.ListOf(active, g.haltOf)
}

// IsBeforeBegin reports whether a time was before this process began to lead.
func (g *Gatekeeper) IsBeforeBegin(t time.Time) bool {
	g.Mu.Lock()
	defer g.Mu.Unlock()
	return t.Before(g.Began)
}

// concerns reports whether a config is in a namespace, or has copies in many.
func concerns(asked string, config names.ConfigRef) bool {
	return notes.IsInside(asked, config.Namespace) || gate.IsGroup(config)
}

// Overview returns how far the fan-outs of a namespace have come, its halts, and why everything is held.
func (g *Gatekeeper) Overview(leads bool, namespace string) (fanOuts status.List[status.FanOut], halts status.List[status.Halt], everything string) {
	progress, active := newProgressList(), newHaltList()
	g.Mu.Lock()
	defer g.Mu.Unlock()
	if leads {
		for p := range g.Ledger.Progress() {
			if concerns(namespace, p.FanOut.Config) {
				progress.Add(p)
			}
		}
		for _, config := range g.Ledger.Halted() {
			if concerns(namespace, config) {
				g.addHalts(active, config)
			}
		}
	}
	return status.ListOf(progress, g.fanOutOf), status.ListOf(active, g.haltOf), g.everything
}

func newProgressList() *status.Shortlist[gate.Progress] {
	return status.NewShortlist(func(a, b gate.Progress) int {
		return cmp.Or(a.Since.Compare(b.Since), pending.CompareConfigs(a.FanOut.Config, b.FanOut.Config), cmp.Compare(a.FanOut.Moment, b.FanOut.Moment))
	})
}

func newHaltList() *status.Shortlist[*gate.Halt] {
	return status.NewShortlist(func(a, b *gate.Halt) int {
		return cmp.Or(a.Since.Compare(b.Since), pending.CompareConfigs(a.Config, b.Config), cmp.Compare(a.ID, b.ID))
	})
}

// addHalts must be called with the lock held.
func (g *Gatekeeper) addHalts(list *status.Shortlist[*gate.Halt], config names.ConfigRef) {
	for _, h := range g.Ledger.HaltsOf(config) {
		if h.IsActive() {
			list.Add(h)
		}
	}
}

// FanOutOf says how far a fan-out has come, and when it began, or at least.
func (g *Gatekeeper) FanOutOf(p gate.Progress) status.FanOut {
	g.Mu.Lock()
	defer g.Mu.Unlock()
	return g.fanOutOf(p)
}

// fanOutOf must be called with the lock held.
func (g *Gatekeeper) fanOutOf(p gate.Progress) status.FanOut {
	since, edited := p.Since, g.Catalog.Config(p.FanOut.Config).EditedAt(p.FanOut.Moment)
	atLeast := edited.IsZero() && p.Since.Sub(g.Began) < run.AtStart
	if atLeast {
		edited = g.Catalog.Config(p.FanOut.Config).EditedBeforeWatching()
	}
	if edited.Before(g.Began) && !edited.IsZero() {
		since = edited // under a former leader
	}
	return status.FanOut{
		Config: p.FanOut.Config.String(), Beginning: status.Beginning{Since: since.UTC(), AtLeast: atLeast},
		Total: p.Total(), Delivered: p.Done(), Rolling: p.UnderWay, Waiting: p.Waiting, Refused: p.Refused, Unserved: p.Unserved,
	}
}

// haltOf must be called with the lock held.
func (g *Gatekeeper) haltOf(h *gate.Halt) status.Halt {
	shown := status.Halt{
		ID: h.ID, Config: h.Config.String(), Keys: slices.Clone(h.Keys), Held: g.Ledger.Due(h.Config), Since: h.Since.UTC(),
		Command: h.Command(), Resume: gate.ResumeCommand(h.Config, h.ID), Failed: make([]string, 0, len(h.Failed)),
	}
	for _, ref := range h.Failed {
		shown.Failed = append(shown.Failed, ref.String())
	}
	return shown
}
