package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/controller/kinds"
	"kubernetes-deployment-restart-controller/internal/quarantine"
	"kubernetes-deployment-restart-controller/internal/series"
)

// Namespace begins the names of all metrics.
const Namespace = "deployment_restart_controller"

// Metrics holds what the controller counts as it works. Metrics that follow from
// its state are computed for each scrape; see [show.Board.Collect].
type Metrics struct {
	ResourceVersions  prometheus.Counter
	AnnotationUpdates prometheus.Counter
	Restarts          prometheus.Counter
	ChangesProcessed  prometheus.Counter

	RestartsByKind *prometheus.CounterVec
	DryRunRestarts *prometheus.CounterVec
	Decisions      *prometheus.CounterVec
	PatchErrors    *prometheus.CounterVec
	ChangeToPatch  prometheus.Histogram
	DueToPatch     prometheus.Histogram
	Slowdowns      prometheus.Counter
	Reverted       *series.Counter
	Undone         prometheus.Counter
	Panics         *prometheus.CounterVec
	Delivered      *prometheus.CounterVec
	Failed         *prometheus.CounterVec
	DeliveryTime   prometheus.Histogram
	Halts          prometheus.Counter
	Evictions      prometheus.Counter
	EvictionErrors *prometheus.CounterVec
}

// New returns metrics that count from zero.
func New() *Metrics {
	m := &Metrics{
		ResourceVersions:  series.Count(Namespace, "resource_versions_total", "The number of distinct resource versions observed, of all watched objects."),
		AnnotationUpdates: series.Count(Namespace, "deployment_annotation_updates_total", "The number of accepted patches of workloads: those that record, that restart, and that mark a record."),
		Restarts:          series.Count(Namespace, "deployment_restarts_total", "The number of restarts triggered, of workloads of all kinds."),
		ChangesProcessed:  series.Count(Namespace, "changes_processed_total", "The number of changes of configs and workloads that were processed after their grace period."),
		RestartsByKind:    series.CountBy(Namespace, "restarts_total", "The number of restarts triggered, by the kind of the workload.", "kind"),
		DryRunRestarts:    series.CountBy(Namespace, "dry_run_restarts_total", "The number of restarts that a dry run would have triggered, by the kind of the workload.", "kind"),
		Decisions:         series.CountBy(Namespace, "decisions_total", "The number of decisions about workloads, by outcome. A retried decision counts again.", "outcome"),
		Slowdowns:         series.Count(Namespace, "slowdowns_total", "The number of restarts that were put off because the configs of a workload keep changing."),
		Undone:            series.Count(Namespace, "records_undone_total", "The number of records that were written again because another client removed or replaced them."),
		Panics:            series.CountBy(Namespace, "panics_total", "The number of internal errors that an object caused, by the step in which they occurred.", "at"),
		PatchErrors:       series.CountBy(Namespace, "patch_errors_total", "The number of failed attempts to update a workload, including failures to read its pods, by reason.", "reason"),
		Delivered:         series.CountBy(Namespace, "restarts_delivered_total", "The number of restarts after which all pods ran and stayed up, by the kind of the workload.", "kind"),
		Failed:            series.CountBy(Namespace, "restarts_failed_total", "The number of restarts after which the pods did not run although they did before, by the kind of the workload.", "kind"),
		Halts:             series.Count(Namespace, "halts_total", "The number of times that the restarts for a content of a config were halted because it had broken workloads."),
		Evictions:         series.Count(Namespace, "evictions_total", "The number of pods evicted to restart workloads."),
		EvictionErrors:    series.CountBy(Namespace, "eviction_errors_total", "The number of failed evictions, apart from those that a PodDisruptionBudget refused, by reason.", "reason"),
		DeliveryTime: series.Histogram(Namespace, "restart_delivery_seconds", "The time from the patch of a workload until all its pods had run for long enough.",
			[]float64{5, 10, 15, 30, 45, 60, 90, 120, 180, 300, 600, 1200, 1800, 3600}),
		ChangeToPatch: series.Histogram(Namespace, "change_to_patch_seconds", "The time from the first observation of a change to the patch of a workload, including the grace period.",
			[]float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 6, 7.5, 10, 15, 30, 60, 300}),
		DueToPatch: series.Histogram(Namespace, "due_to_patch_seconds", "The time from when the patch of a workload was due, after its grace period and the spacing of its restarts, to the patch.",
			[]float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 15, 30, 60, 300, 600}),
	}
	m.Reverted = series.NewCounter(prometheus.CounterOpts{
		Namespace: Namespace,
		Name:      "restarts_reverted_total",
		Help:      "The number of reverted restarts, by the field manager that reverted them, or unknown if the API does not show it.",
	}, "manager", revertersLimit)
	m.startAtZero()
	return m
}

// startAtZero creates the series with known labels at zero, so that the first
// increase is visible as an increase.
func (m *Metrics) startAtZero() {
	m.StartKindsAtZero(kinds.WorkloadKinds)
	for _, outcome := range []decide.Outcome{decide.Keep, decide.RecordOnly, decide.Restart} {
		m.Decisions.WithLabelValues(string(outcome))
	}
	for _, place := range quarantine.Places {
		m.Panics.WithLabelValues(string(place))
	}
}

// StartKindsAtZero creates the series of further kinds of workloads at zero.
func (m *Metrics) StartKindsAtZero(kinds []*kinds.WorkloadKind) {
	for _, kind := range kinds {
		m.RestartsByKind.WithLabelValues(string(kind.Workload))
		m.DryRunRestarts.WithLabelValues(string(kind.Workload))
		m.Delivered.WithLabelValues(string(kind.Workload))
		m.Failed.WithLabelValues(string(kind.Workload))
	}
}

// Collectors returns all metrics.
func (m *Metrics) Collectors() []prometheus.Collector {
	return []prometheus.Collector{
		m.ResourceVersions, m.AnnotationUpdates, m.Restarts, m.ChangesProcessed,
		m.RestartsByKind, m.DryRunRestarts, m.Decisions, m.PatchErrors, m.ChangeToPatch, m.DueToPatch, m.Slowdowns, m.Reverted, m.Undone, m.Panics,
		m.Delivered, m.Failed, m.DeliveryTime, m.Halts, m.Evictions, m.EvictionErrors,
	}
}

// revertersLimit is how many field managers get a series of their own.
const revertersLimit = 20
