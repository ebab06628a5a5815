package controller

import (
	"cmp"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/internal/quarantine"
	"kubernetes-deployment-restart-controller/internal/series"
)

const namespace = "deployment_restart_controller"

// metrics holds what the controller counts as it works. Metrics that follow from
// its state are computed for each scrape; see [board.Collect].
type metrics struct {
	resourceVersions  prometheus.Counter
	annotationUpdates prometheus.Counter
	restarts          prometheus.Counter
	changesProcessed  prometheus.Counter

	restartsByKind *prometheus.CounterVec
	dryRunRestarts *prometheus.CounterVec
	decisions      *prometheus.CounterVec
	patchErrors    *prometheus.CounterVec
	changeToPatch  prometheus.Histogram
	dueToPatch     prometheus.Histogram
	slowdowns      prometheus.Counter
	reverted       *series.Counter
	undone         prometheus.Counter
	panics         *prometheus.CounterVec
	delivered      *prometheus.CounterVec
	failed         *prometheus.CounterVec
	deliveryTime   prometheus.Histogram
	halts          prometheus.Counter
	evictions      prometheus.Counter
	evictionErrors *prometheus.CounterVec
}

func newMetrics() *metrics {
	m := &metrics{
		resourceVersions:  series.Count(namespace, "resource_versions_total", "The number of distinct resource versions observed, of all watched objects."),
		annotationUpdates: series.Count(namespace, "deployment_annotation_updates_total", "The number of accepted patches of workloads: those that record, that restart, and that mark a record."),
		restarts:          series.Count(namespace, "deployment_restarts_total", "The number of restarts triggered, of workloads of all kinds."),
		changesProcessed:  series.Count(namespace, "changes_processed_total", "The number of changes of configs and workloads that were processed after their grace period."),
		restartsByKind:    series.CountBy(namespace, "restarts_total", "The number of restarts triggered, by the kind of the workload.", "kind"),
		dryRunRestarts:    series.CountBy(namespace, "dry_run_restarts_total", "The number of restarts that a dry run would have triggered, by the kind of the workload.", "kind"),
		decisions:         series.CountBy(namespace, "decisions_total", "The number of decisions about workloads, by outcome. A retried decision counts again.", "outcome"),
		slowdowns:         series.Count(namespace, "slowdowns_total", "The number of restarts that were put off because the configs of a workload keep changing."),
		undone:            series.Count(namespace, "records_undone_total", "The number of records that were written again because another client removed or replaced them."),
		panics:            series.CountBy(namespace, "panics_total", "The number of internal errors that an object caused, by the step in which they occurred.", "at"),
		patchErrors:       series.CountBy(namespace, "patch_errors_total", "The number of failed attempts to update a workload, including failures to read its pods, by reason.", "reason"),
		delivered:         series.CountBy(namespace, "restarts_delivered_total", "The number of restarts after which all pods ran and stayed up, by the kind of the workload.", "kind"),
		failed:            series.CountBy(namespace, "restarts_failed_total", "The number of restarts after which the pods did not run although they did before, by the kind of the workload.", "kind"),
		halts:             series.Count(namespace, "halts_total", "The number of times that the restarts for a content of a config were halted because it had broken workloads."),
		evictions:         series.Count(namespace, "evictions_total", "The number of pods evicted to restart workloads."),
		evictionErrors:    series.CountBy(namespace, "eviction_errors_total", "The number of failed evictions, apart from those that a PodDisruptionBudget refused, by reason.", "reason"),
		deliveryTime: series.Histogram(namespace, "restart_delivery_seconds", "The time from the patch of a workload until all its pods had run for long enough.",
			[]float64{5, 10, 15, 30, 45, 60, 90, 120, 180, 300, 600, 1200, 1800, 3600}),
		changeToPatch: series.Histogram(namespace, "change_to_patch_seconds", "The time from the first observation of a change to the patch of a workload, including the grace period.",
			[]float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 6, 7.5, 10, 15, 30, 60, 300}),
		dueToPatch: series.Histogram(namespace, "due_to_patch_seconds", "The time from when the patch of a workload was due, after its grace period and the spacing of its restarts, to the patch.",
			[]float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 15, 30, 60, 300, 600}),
	}
	m.reverted = series.NewCounter(prometheus.CounterOpts{
		Namespace: namespace,
		Name:      "restarts_reverted_total",
		Help:      "The number of reverted restarts, by the field manager that reverted them, or unknown if the API does not show it.",
	}, "manager", revertersLimit)
	m.startAtZero()
	return m
}

// startAtZero creates the series with known labels at zero, so that the first
// increase is visible as an increase.
func (m *metrics) startAtZero() {
	m.startKindsAtZero(workloadKinds)
	for _, outcome := range []decide.Outcome{decide.Keep, decide.RecordOnly, decide.Restart} {
		m.decisions.WithLabelValues(string(outcome))
	}
	for _, place := range quarantine.Places {
		m.panics.WithLabelValues(string(place))
	}
}

func (m *metrics) startKindsAtZero(kinds []*workloadKind) {
	for _, kind := range kinds {
		m.restartsByKind.WithLabelValues(string(kind.workload))
		m.dryRunRestarts.WithLabelValues(string(kind.workload))
		m.delivered.WithLabelValues(string(kind.workload))
		m.failed.WithLabelValues(string(kind.workload))
	}
}

func (m *metrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{
		m.resourceVersions, m.annotationUpdates, m.restarts, m.changesProcessed,
		m.restartsByKind, m.dryRunRestarts, m.decisions, m.patchErrors, m.changeToPatch, m.dueToPatch, m.slowdowns, m.reverted, m.undone, m.panics,
		m.delivered, m.failed, m.deliveryTime, m.halts, m.evictions, m.evictionErrors,
	}
}

// The metrics that are computed from the controller's state.
var (
	configsDesc        = series.Desc(namespace, "configs_total", "The number of ConfigMaps and Secrets in the catalog, and of mounted classes with --csi.")
	workloadsDesc      = series.Desc(namespace, "deployments_total", "The number of enabled workloads, of all kinds.")
	changesWaitingDesc = series.Desc(namespace, "changes_waiting_total", "The number of changes that wait for the end of their grace period or, on a standby, until it leads.")
	staleDesc          = series.Desc(namespace, "stale_workloads", "The number of workloads that currently run with old content of a config. The leader leaves out those whose restart is held.", "namespace")
	longestWaitDesc    = series.Desc(namespace, "longest_wait_seconds", "How long the most overdue restart or record has been due; 0 if nothing is overdue. Held restarts and ignored errors do not count.", "namespace")
	slowedDesc         = series.Desc(namespace, "slowed_workloads", "The number of workloads whose next restart is put off because a config keeps changing.", "config")
	queueDepthDesc     = series.Desc(namespace, "queue_depth", "The number of workloads that wait for a worker.")
	slowDesc           = series.Desc(namespace, "slow_requests", "The number of workloads that a worker has been busy with for more than a second, because a request hangs.")
	leftAloneDesc      = series.Desc(namespace, "objects_left_alone", "The number of objects that are left alone after an internal error.")
	unusableDesc       = series.Desc(namespace, "objects_with_unusable_annotations", "The number of objects with annotations or labels that have no effect or cannot be used, at most 50 of a namespace.")
	unreadDesc         = series.Desc(namespace, "unreadable_halt_entries", "The number of entries of the ConfigMap of halts that cannot be read, so nothing is held by them.")
	leaderDesc         = series.Desc(namespace, "leader", "Whether this process acts (1), or stands by or is a dry run (0).")
	watchUpDesc        = series.Desc(namespace, "watch_up", "Whether a watch works (1) or is broken (0).", "resource", "namespace")
	lackingDesc        = series.Desc(namespace, "lacking_workloads", "The number of enabled workloads that need a config or a key that does not exist, so that no new pod of theirs can start.")
	heldDesc           = series.Desc(namespace, "held_workloads", "The number of workloads whose restart is due and may not begin yet, by what it waits for.", "reason")
	exposedDesc        = series.Desc(namespace, "held_workloads_exposed", "The number of workloads whose restart is held although pods of theirs were found to have read the new content, by what it waits for.", "namespace", "reason")
	fanOutsDesc        = series.Desc(namespace, "fan_outs", "The number of contents of gradual configs whose restarts are due or under way (rolling), or halted because they broke workloads.", "state")
	undeliveredDesc    = series.Desc(namespace, "undelivered_restarts", "The number of restarts that have begun and are neither delivered nor given up.")
	evictingDesc       = series.Desc(namespace, "evicting_workloads", "The number of restarts by eviction that are not over, by what the next eviction waits for.", "reason")
	brokenSinceDesc    = series.Desc(namespace, "watch_broken_since_timestamp_seconds", "Since when a watch is broken, in seconds since the epoch; 0 while it works.", "resource", "namespace")
)

// Describe implements prometheus.Collector.
func (b *board) Describe(descs chan<- *prometheus.Desc) {
	for _, collector := range b.metrics.collectors() {
		collector.Describe(descs)
	}
	for _, desc := range []*prometheus.Desc{
		configsDesc, workloadsDesc, changesWaitingDesc, staleDesc, longestWaitDesc, slowedDesc, queueDepthDesc, slowDesc, leftAloneDesc, lackingDesc, unusableDesc, unreadDesc, leaderDesc, heldDesc, exposedDesc, fanOutsDesc, undeliveredDesc, evictingDesc, watchUpDesc, brokenSinceDesc,
	} {
		descs <- desc
	}
}

// Collect implements prometheus.Collector.
func (b *board) Collect(samples chan<- prometheus.Metric) {
	for _, collector := range b.metrics.collectors() {
		collector.Collect(samples)
	}
	gauge := series.Gauges(samples)
	configs, workloads := b.catalog.Size()
	gauge(configsDesc, float64(configs))
	gauge(workloadsDesc, float64(workloads))
	gauge(changesWaitingDesc, float64(b.changes.Len()))
	for _, s := range b.staleness.samples() {
		gauge(staleDesc, s.Value, s.Label)
	}
	now := time.Now()
	load := b.restarter.Load(now)
	b.staleness.addForgotten(load.waits, now)
	for _, s := range longestWaits(load.waits) {
		gauge(longestWaitDesc, s.Value, s.Label)
	}
	slowed := series.Largest(load.slowed, namedConfigs, func(a, b float64) float64 { return a + b })
	for _, s := range slowed {
		gauge(slowedDesc, s.Value, s.Label)
	}
	gauge(queueDepthDesc, float64(load.queued))
	gauge(slowDesc, float64(load.slow))
	gauge(leftAloneDesc, float64(b.quarantine.Len()))
	gauge(lackingDesc, float64(b.absences.of.size()))
	gauge(unusableDesc, float64(b.mistakes.in("").Total))
	gauge(leaderDesc, series.Bool(b.role.acts()))
	b.gate.collect(gauge)
	b.evictions.collect(gauge)
	for _, s := range series.Largest(load.exposed, namedNamespaces, func(a, b float64) float64 { return a + b }) {
		of, reason, _ := strings.Cut(s.Label, "/")
		gauge(exposedDesc, s.Value, of, cmp.Or(reason, series.Other))
	}
	for _, w := range b.watching.all {
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

// The highest number of label values with a series of their own, for labels whose
// values tenants choose.
const (
	namedNamespaces = 50
	namedConfigs    = 20
)

// longestWaits returns samples for the namespaces with the longest waits.
func longestWaits(waits map[string]time.Duration) []series.Sample {
	samples := make([]series.Sample, 0, len(waits))
	for namespace, wait := range waits {
		samples = append(samples, series.Sample{Label: namespace, Value: wait.Seconds()})
	}
	return series.Largest(samples, namedNamespaces, func(a, b float64) float64 { return max(a, b) })
}
