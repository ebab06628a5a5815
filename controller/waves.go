package controller

import (
	"maps"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/gate"
)

// Later waves wait for restarts that are due in earlier ones, and also for workloads of which it is not
// known yet: those that wait out their grace period, or their turn. Only namespaces in which workloads
// have waves are tracked.

// expect notes that it will soon be known whether a restart of a workload is due.
func (g *gatekeeper) expect(w *workload.Workload) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, usesWaves := g.usesWaves[w.Ref.Namespace]; usesWaves {
		g.ledger.Expect(w.Ref, waveOf(w))
	}
}

// useWaves notes that workloads of a namespace have waves, and which workloads already wait for a decision.
// The function waits reports that of a workload.
func (g *gatekeeper) useWaves(namespace string, waits func(names.WorkloadRef) bool) {
	if !g.usesWavesIn(namespace) {
		g.trackWaves(map[string]struct{}{namespace: {}}, waits)
	}
}

// findWaves does so for all namespaces in which a workload has a wave.
func (g *gatekeeper) findWaves(waits func(names.WorkloadRef) bool) {
	found := make(map[string]struct{})
	for _, ref := range g.catalog.Workloads() {
		if w := g.catalog.Workload(ref); w != nil && waveOf(w) != 0 {
			found[ref.Namespace] = struct{}{}
		}
	}
	g.trackWaves(found, waits)
}

// trackWaves asks under the lock who waits, so that nobody who has just been decided about counts.
func (g *gatekeeper) trackWaves(namespaces map[string]struct{}, waits func(names.WorkloadRef) bool) {
	if len(namespaces) == 0 {
		return
	}
	workloads := g.catalog.Workloads()
	g.mu.Lock()
	defer g.mu.Unlock()
	maps.Copy(g.usesWaves, namespaces)
	for _, ref := range workloads {
		if _, uses := namespaces[ref.Namespace]; !uses || !waits(ref) {
			continue
		}
		if w := g.catalog.Workload(ref); w != nil {
			g.ledger.Expect(ref, waveOf(w))
		}
	}
}

func (g *gatekeeper) usesWavesIn(namespace string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, uses := g.usesWaves[namespace]
	return uses
}

// earlierWave returns a workload for which later waves of a namespace wait; see [gate.Ledger.Blocker].
func (g *gatekeeper) earlierWave(namespace string) gate.Blocker {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.ledger.Blocker(namespace)
}
