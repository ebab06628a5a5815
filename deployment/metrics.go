package deployment

import (
	"errors"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/deployment/rollout"
	"kubernetes-deployment-restart-controller/internal/apiclient"
	"kubernetes-deployment-restart-controller/internal/quarantine"
	"kubernetes-deployment-restart-controller/internal/series"
)

const namespace = "deployment_engine"

// metrics holds what the engine counts as it works. Metrics that follow from its state are
// computed for each scrape; see [Engine.Collect].
type metrics struct {
	syncs        prometheus.Counter
	syncDuration prometheus.Histogram
	actions      *prometheus.CounterVec
	writeErrors  *prometheus.CounterVec
	panics       *prometheus.CounterVec
	rivalWrites  *series.Counter
	falseAlarms  prometheus.Counter
	fallBacks    *prometheus.CounterVec
	queueLatency prometheus.Histogram
}

func newMetrics() *metrics {
	durations := prometheus.ExponentialBuckets(.00001, 4, 11) // 10 µs to 10 s
	m := &metrics{
		syncs:        series.Count(namespace, "syncs_total", "The number of syncs of Deployments. Most find nothing to do."),
		syncDuration: series.Histogram(namespace, "sync_duration_seconds", "The duration of a sync, including its writes.", durations),
		actions:      series.CountBy(namespace, "actions_total", "The number of actions carried out, by kind.", "action"),
		writeErrors:  series.CountBy(namespace, "write_errors_total", "The number of actions that failed and are retried, by reason; collision means that the name of a new ReplicaSet was taken.", "reason"),
		panics:       series.CountBy(namespace, "panics_total", "The number of internal errors that an object caused, by the step in which they occurred.", "at"),
		rivalWrites: series.NewCounter(prometheus.CounterOpts{
			Namespace: namespace, Name: "rival_writes_total", Help: "The number of observed writes of a Deployment's status by others, by field manager: kube-controller-manager and the first 19 others.",
		}, "manager", namedManagers, usualRival),
		falseAlarms:  series.Count(namespace, "false_alarms_total", "The number of times that the engine rested in a namespace because of a write by a client that does not drive Deployments."),
		fallBacks:    series.CountBy(namespace, "fallbacks_total", "The number of releases that failed and fell back to the last one that completed, by cause.", "cause"),
		queueLatency: series.Histogram(namespace, "queue_latency_seconds", "The time that a Deployment waited for a worker.", durations),
	}
	// Series start at 0, so that the first increase is visible as an increase.
	for _, action := range []rollout.Action{
		rollout.CreateReplicaSet{}, rollout.UpdateReplicaSet{}, rollout.UpdateReplicaSet{To: 1}, rollout.DeleteReplicaSet{},
		rollout.AdoptReplicaSet{}, rollout.ReleaseReplicaSet{}, rollout.RollBack{}, rollout.UpdateStatus{}, rollout.LookAtPods{}, rollout.RecordEvent{},
	} {
		m.actions.WithLabelValues(action.Kind())
	}
	for _, cause := range rollout.FailureCauses {
		m.fallBacks.WithLabelValues(string(cause))
	}
	for _, place := range []quarantine.Place{quarantine.Intake, quarantine.Decision} {
		m.panics.WithLabelValues(string(place))
	}
	return m
}

// namedManagers is how many field managers have a series of their own: anyone who may
// write a Deployment's status can choose a name.
const namedManagers = 20

// usualRival is the field manager of Kubernetes' own deployment controller.
const usualRival = "kube-controller-manager"

func (m *metrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{m.syncs, m.syncDuration, m.actions, m.writeErrors, m.panics, m.rivalWrites, m.falseAlarms, m.fallBacks, m.queueLatency}
}

// reasonOf names the kind of a failure.
func reasonOf(err error) string {
	var creation *creationError
	if errors.As(err, &creation) && creation.Collided {
		return "collision"
	}
	if errors.Is(err, errMovedOn) {
		return strings.ToLower(string(metav1.StatusReasonConflict))
	}
	return apiclient.FailureReason(err)
}

// probeResource is the value of the label resource for the probe's watch, because its
// namespace may also be watched for all Deployments.
const probeResource = "probe"

// The metrics that are computed from the engine's state.
var (
	inProgressDesc = series.Desc(namespace, "rollouts_in_progress", "The number of Deployments whose rollout is not complete or whose pods are not all available, except paused ones.")
	exceededDesc   = series.Desc(namespace, "rollouts_deadline_exceeded", "The number of Deployments whose rollout has exceeded its progress deadline.")
	notBegunDesc   = series.Desc(namespace, "rollouts_not_begun", "The number of Deployments whose new ReplicaSet cannot be created, so no progress deadline applies.")
	atStepDesc     = series.Desc(namespace, "rollouts_at_step", "The number of Deployments whose rollout waits at a step.")
	drivingDesc    = series.Desc(namespace, "driving", "Whether the engine drives Deployments (1), or not: it stands by, does not lead, or makes sure that no other controller drives them (0).")
	restingDesc    = series.Desc(namespace, "resting_namespaces", "The number of namespaces in which the engine rests because another field manager wrote the status of a Deployment.")
	queueDepthDesc = series.Desc(namespace, "queue_depth", "The number of Deployments that wait for a worker.")
	slowDesc       = series.Desc(namespace, "slow_requests", "The number of Deployments that a worker has been busy with for more than a second, because a request hangs or a large Deployment waits for its turn.")
	leftAloneDesc  = series.Desc(namespace, "objects_left_alone", "The number of objects that are left alone after an internal error.")
	watchUpDesc    = series.Desc(namespace, "watch_up", "Whether a watch works (1) or is broken (0).", "resource", "namespace")
)

// Describe implements prometheus.Collector.
func (e *Engine) Describe(descs chan<- *prometheus.Desc) {
	for _, collector := range e.metrics.collectors() {
		collector.Describe(descs)
	}
	for _, desc := range []*prometheus.Desc{inProgressDesc, exceededDesc, notBegunDesc, atStepDesc, drivingDesc, restingDesc, queueDepthDesc, slowDesc, leftAloneDesc, watchUpDesc} {
		descs <- desc
	}
}

// Collect implements prometheus.Collector.
func (e *Engine) Collect(samples chan<- prometheus.Metric) {
	for _, collector := range e.metrics.collectors() {
		collector.Collect(samples)
	}
	gauge := series.Gauges(samples)
	gauge(inProgressDesc, float64(e.caches.deployments.count(inProgress)))
	gauge(exceededDesc, float64(e.caches.deployments.count(exceeded)))
	gauge(notBegunDesc, float64(e.caches.deployments.count(notBegun)))
	gauge(atStepDesc, float64(e.caches.deployments.count(atStep)))
	gauge(drivingDesc, series.Bool(e.driving.Load()))
	gauge(restingDesc, float64(e.resting.count()))
	gauge(queueDepthDesc, float64(e.queue.Len()))
	gauge(slowDesc, float64(e.queue.Slow()))
	gauge(leftAloneDesc, float64(e.quarantine.Len()))
	for _, w := range e.watches {
		status := w.Status()
		gauge(watchUpDesc, series.Bool(status.Up()), status.Resource, status.Namespace)
	}
	for _, status := range e.pods.statuses() {
		gauge(watchUpDesc, series.Bool(status.Up()), status.Resource, status.Namespace)
	}
	if probes, isWatched := e.monitor.ProbeStatus(); isWatched {
		gauge(watchUpDesc, series.Bool(probes.Up()), probeResource, probes.Namespace)
	}
}
