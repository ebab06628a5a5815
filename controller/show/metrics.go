package show

import (
	"cmp"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"kubernetes-deployment-restart-controller/controller/gatekeeper"
	"kubernetes-deployment-restart-controller/controller/judge"
	"kubernetes-deployment-restart-controller/controller/metrics"
	"kubernetes-deployment-restart-controller/controller/tracker"
	"kubernetes-deployment-restart-controller/internal/series"
)

// The metrics that are computed from the controller's state.
var (
	configsDesc        = series.Desc(metrics.Namespace, "configs_total", "The number of ConfigMaps and Secrets in the catalog, and of mounted classes with --csi.")
	workloadsDesc      = series.Desc(metrics.Namespace, "deployments_total", "The number of enabled workloads, of all kinds.")
	changesWaitingDesc = series.Desc(metrics.Namespace, "changes_waiting_total", "The number of changes that wait for the end of their grace period or, on a standby, until it leads.")
	staleDesc          = series.Desc(metrics.Namespace, "stale_workloads", "The number of workloads that currently run with old content of a config. The leader leaves out those whose restart is held.", "namespace")
	longestWaitDesc    = series.Desc(metrics.Namespace, "longest_wait_seconds", "How long the most overdue restart or record has been due; 0 if nothing is overdue. Held restarts and ignored errors do not count.", "namespace")
	slowedDesc         = series.Desc(metrics.Namespace, "slowed_workloads", "The number of workloads whose next restart is put off because a config keeps changing.", "config")
	queueDepthDesc     = series.Desc(metrics.Namespace, "queue_depth", "The number of workloads that wait for a worker.")
	slowDesc           = series.Desc(metrics.Namespace, "slow_requests", "The number of workloads that a worker has been busy with for more than a second, because a request hangs.")
	leftAloneDesc      = series.Desc(metrics.Namespace, "objects_left_alone", "The number of objects that are left alone after an internal error.")
	unusableDesc       = series.Desc(metrics.Namespace, "objects_with_unusable_annotations", "The number of objects with annotations or labels that have no effect or cannot be used, at most 50 of a namespace.")
	leaderDesc         = series.Desc(metrics.Namespace, "leader", "Whether this process acts (1), or stands by or is a dry run (0).")
	watchUpDesc        = series.Desc(metrics.Namespace, "watch_up", "Whether a watch works (1) or is broken (0).", "resource", "namespace")
	lackingDesc        = series.Desc(metrics.Namespace, "lacking_workloads", "The number of enabled workloads that need a config or a key that does not exist, so that no new pod of theirs can start.")
	exposedDesc        = series.Desc(metrics.Namespace, "held_workloads_exposed", "The number of workloads whose restart is held although pods of theirs were found to have read the new content, by what it waits for.", "namespace", "reason")
	evictingDesc       = series.Desc(metrics.Namespace, "evicting_workloads", "The number of restarts by eviction that are not over, by what the next eviction waits for.", "reason")
	atStepDesc         = series.Desc(metrics.Namespace, "workloads_at_step", "The number of workloads whose restart waits at a step of its rollout.")
	brokenSinceDesc    = series.Desc(metrics.Namespace, "watch_broken_since_timestamp_seconds", "Since when a watch is broken, in seconds since the epoch; 0 while it works.", "resource", "namespace")
)

// Describe implements prometheus.Collector.
func (b *Board) Describe(descs chan<- *prometheus.Desc) {
	for _, collector := range b.Metrics.Collectors() {
		collector.Describe(descs)
	}
	own := []*prometheus.Desc{
		configsDesc, workloadsDesc, changesWaitingDesc, staleDesc, longestWaitDesc, slowedDesc, queueDepthDesc, slowDesc,
		leftAloneDesc, lackingDesc, unusableDesc, leaderDesc, exposedDesc, evictingDesc, atStepDesc, watchUpDesc, brokenSinceDesc,
	}
	for _, desc := range append(own, gatekeeper.Descs()...) {
		descs <- desc
	}
}

// Collect implements prometheus.Collector.
func (b *Board) Collect(samples chan<- prometheus.Metric) {
	for _, collector := range b.Metrics.Collectors() {
		collector.Collect(samples)
	}
	gauge := series.Gauges(samples)
	configs, workloads := b.Catalog.Size()
	gauge(configsDesc, float64(configs))
	gauge(workloadsDesc, float64(workloads))
	gauge(changesWaitingDesc, float64(b.Changes.Len()))
	for _, s := range b.Staleness.Samples() {
		gauge(staleDesc, s.Value, s.Label)
	}
	now := time.Now()
	load := b.Table.Load(now)
	b.Staleness.AddForgotten(load.Waits, now)
	gauge(atStepDesc, float64(load.AtStep))
	for _, s := range longestWaits(load.Waits) {
		gauge(longestWaitDesc, s.Value, s.Label)
	}
	slowed := series.Largest(load.Slowed, NamedConfigs, func(a, b float64) float64 { return a + b })
	for _, s := range slowed {
		gauge(slowedDesc, s.Value, s.Label)
	}
	gauge(queueDepthDesc, float64(b.Restarter.Queue.Len()))
	gauge(slowDesc, float64(b.Restarter.Queue.Slow()))
	gauge(leftAloneDesc, float64(b.Quarantine.Len()))
	gauge(lackingDesc, float64(b.Absences.Of.Size()))
	gauge(unusableDesc, float64(b.Mistakes.In("").Total))
	gauge(leaderDesc, series.Bool(b.Role.Acts()))
	b.Gate.Collect(gauge)
	for _, reason := range tracker.EvictionReasons {
		gauge(evictingDesc, float64(load.Evicting[reason]), string(reason))
	}
	for _, s := range series.Largest(load.Exposed, judge.NamedNamespaces, func(a, b float64) float64 { return a + b }) {
		of, reason, _ := strings.Cut(s.Label, "/")
		gauge(exposedDesc, s.Value, of, cmp.Or(reason, series.Other))
	}
	for _, w := range b.Watching.All {
		status := w.Status()
		if status.Missing {
			continue
		}
		gauge(watchUpDesc, series.Bool(status.Up()), status.Resource, status.Namespace)
		since := 0.0
		if !status.BrokenSince.IsZero() {
			since = float64(status.BrokenSince.UnixMilli()) / 1000
		}
		gauge(brokenSinceDesc, since, status.Resource, status.Namespace)
	}
}

// NamedConfigs is how many configs have a series of their own in a metric.
const NamedConfigs = 20

// longestWaits returns samples for the namespaces with the longest waits.
func longestWaits(waits map[string]time.Duration) []series.Sample {
	samples := make([]series.Sample, 0, len(waits))
	for namespace, wait := range waits {
		samples = append(samples, series.Sample{Label: namespace, Value: wait.Seconds()})
	}
	return series.Largest(samples, judge.NamedNamespaces, func(a, b float64) float64 { return max(a, b) })
}
