package gatekeeper

import (
	"github.com/prometheus/client_golang/prometheus"

	"kubernetes-deployment-restart-controller/controller/metrics"
	"kubernetes-deployment-restart-controller/internal/series"
)

// The metrics that [Gatekeeper.Collect] computes.
var (
	unreadDesc      = series.Desc(metrics.Namespace, "unreadable_halt_entries", "The number of entries of the ConfigMap of halts that cannot be read, so nothing is held by them.")
	heldDesc        = series.Desc(metrics.Namespace, "held_workloads", "The number of workloads whose restart is due and may not begin yet, by what it waits for.", "reason")
	fanOutsDesc     = series.Desc(metrics.Namespace, "fan_outs", "The number of contents of gradual configs whose restarts are due or under way (rolling), or halted because they broke workloads.", "state")
	undeliveredDesc = series.Desc(metrics.Namespace, "undelivered_restarts", "The number of restarts that have begun and are neither delivered nor given up.")
)

// Descs describe the metrics that [Gatekeeper.Collect] computes.
func Descs() []*prometheus.Desc {
	return []*prometheus.Desc{unreadDesc, heldDesc, fanOutsDesc, undeliveredDesc}
}

// Collect computes the metrics of what the gate holds back.
func (g *Gatekeeper) Collect(gauge func(desc *prometheus.Desc, value float64, labels ...string)) {
	g.Mu.Lock()
	defer g.Mu.Unlock()
	for reason, held := range g.Ledger.Waiting() {
		gauge(heldDesc, float64(held), string(reason))
	}
	gauge(fanOutsDesc, float64(g.Ledger.FanOuts()), "rolling")
	gauge(fanOutsDesc, float64(g.Ledger.ActiveHalts()), "halted")
	gauge(undeliveredDesc, float64(g.Ledger.UnderWay()))
	gauge(unreadDesc, float64(len(g.unread)))
}
