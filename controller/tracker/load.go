package tracker

import (
	"cmp"
	"time"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/internal/series"
)

// Load is what is under way, for metrics.
type Load struct {
	Waits  map[string]time.Duration // how long the most overdue restart or record of each namespace is due, but for ignored errors
	Slowed []series.Sample          // workloads by the config that slows them down
	// Exposed are the workloads that wait for something that may last, although pods of theirs have read the new content, by
	// "namespace/reason".
	Exposed  []series.Sample
	AtStep   int                    // restarts whose rollout waits at a step
	Evicting map[EvictionReason]int // restarts by eviction that are not over, by what the next eviction waits for
}

// Load returns what is under way at the given time.
func (t *Table) Load(now time.Time) Load {
	load := Load{Waits: make(map[string]time.Duration), Evicting: make(map[EvictionReason]int)}
	slowed, exposed := make(map[names.ConfigRef]int), make(map[string]int)
	for ref, row := range t.All() {
		if row.Eviction != nil {
			load.Evicting[cmp.Or(row.Eviction.Wait.Reason, WaitsForPods)]++
		}
		if row.isAtStep() {
			load.AtStep++
		}
		w := row.Backlog
		if w == nil {
			continue
		}
		if wait := now.Sub(w.Owed); wait > load.Waits[ref.Namespace] && w.isLate() {
			load.Waits[ref.Namespace] = wait
		}
		for _, config := range w.slowedBy {
			slowed[config]++
		}
		if w.isExposed && w.IsHeldForLong() {
			exposed[ref.Namespace+"/"+string(w.PutOff)]++
		}
	}
	for config, workloads := range slowed {
		load.Slowed = append(load.Slowed, series.Sample{Label: config.String(), Value: float64(workloads)})
	}
	for label, workloads := range exposed {
		load.Exposed = append(load.Exposed, series.Sample{Label: label, Value: float64(workloads)})
	}
	return load
}

// isLate reports whether what is due after the time when it is owed is late.
func (w *Backlog) isLate() bool { return !w.Owed.IsZero() && !w.isIgnored && !w.IsDeliberate() }
