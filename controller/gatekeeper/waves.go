package gatekeeper

import (
	"maps"

	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/gate"
)

// Later waves wait for restarts that are due in earlier ones, and also for workloads of which it is not
// known yet: those that wait out their grace period, or their turn. Only namespaces in which workloads
// have waves are tracked.

// Expect notes that it will soon be known whether a restart of a workload is due.
func (g *Gatekeeper) Expect(w *workload.Workload) {
	g.Mu.Lock()
	defer g.Mu.Unlock()
	if _, usesWaves := g.UsesWaves[w.Ref.Namespace]; usesWaves {
		g.Ledger.Expect(w.Ref, WaveOf(w))
	}
}

// UseWaves notes that workloads of a namespace have waves, and which workloads already wait for a decision.
func (g *Gatekeeper) UseWaves(namespace string) {
	if !g.UsesWavesIn(namespace) {
		g.trackWaves(map[string]struct{}{namespace: {}})
	}
}

// FindWaves does so for all namespaces in which a workload has a wave.
func (g *Gatekeeper) FindWaves() {
	found := make(map[string]struct{})
	for _, ref := range g.Catalog.WorkloadsIn("") {
		if w := g.Catalog.Workload(ref); w != nil && WaveOf(w) != 0 {
			found[ref.Namespace] = struct{}{}
		}
	}
	g.trackWaves(found)
}

func (g *Gatekeeper) trackWaves(namespaces map[string]struct{}) {
	g.Mu.Lock()
	defer g.Mu.Unlock()
	maps.Copy(g.UsesWaves, namespaces)
	for namespace := range namespaces {
		for ref := range g.Undecided(namespace) {
			if w := g.Catalog.Workload(ref); w != nil {
				g.Ledger.Expect(ref, WaveOf(w))
			}
		}
	}
}

// UsesWavesIn reports whether workloads of a namespace have waves of their own.
func (g *Gatekeeper) UsesWavesIn(namespace string) bool {
	g.Mu.Lock()
	defer g.Mu.Unlock()
	_, uses := g.UsesWaves[namespace]
	return uses
}

// EarlierWave returns a workload for which later waves of a namespace wait; see [gate.Ledger.Blocker].
func (g *Gatekeeper) EarlierWave(namespace string) gate.Blocker {
	g.Mu.Lock()
	defer g.Mu.Unlock()
	return g.Ledger.Blocker(namespace)
}

// WaveOf returns the wave of a workload, 0 if it has none.
func WaveOf(w *workload.Workload) int16 {
	if w.Policy == nil {
		return 0
	}
	return w.Policy.Wave
}
