package deployment

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"kubernetes-deployment-restart-controller/deployment/rollout"
	"kubernetes-deployment-restart-controller/internal/apiclient"
)

func newIdleEngine(t testing.TB, namespaces ...string) *Engine {
	t.Helper()
	e, err := New(Options{API: &rest.Config{Host: "http://127.0.0.1:1"}, Namespaces: namespaces, OwnNamespace: "own", Workers: 1, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.events.Shutdown)
	return e
}

func TestTheMetricsFollowNamingConventions(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	if err := registry.Register(newIdleEngine(t)); err != nil {
		t.Fatal(err)
	}
	problems, err := testutil.GatherAndLint(registry)
	if err != nil || len(problems) > 0 {
		t.Errorf("problems %v, error %v", problems, err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, family := range families {
		names = append(names, strings.TrimPrefix(family.GetName(), "deployment_engine_"))
	}
	expect(t, "names", []string{
		"actions_total", "driving", "fallbacks_total", "false_alarms_total", "objects_left_alone", "panics_total", "queue_depth", "queue_latency_seconds", "resting_namespaces", "rival_writes_total", "rollouts_at_step", "rollouts_deadline_exceeded", "rollouts_in_progress", "rollouts_not_begun", "slow_requests",
		"sync_duration_seconds", "syncs_total", "watch_up",
	}, names) // write_errors_total comes with the first one
}

func TestTheMetricsShowRolloutsAndWatches(t *testing.T) {
	e := newIdleEngine(t, "one", "two")
	done := func(d *appsv1.Deployment) {
		d.Status = appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 3, UpdatedReplicas: 3, AvailableReplicas: 3}
	}
	named := func(name string, changes ...func(*appsv1.Deployment)) *rollout.Deployment {
		d := web(3, "v1", changes...)
		d.Name = name
		return d
	}
	exceeded := withStatus(appsv1.DeploymentStatus{Conditions: []appsv1.DeploymentCondition{progressed(corev1.ConditionFalse, rollout.ReasonTimedOut)}})
	notBegun := withStatus(appsv1.DeploymentStatus{Conditions: []appsv1.DeploymentCondition{progressed(corev1.ConditionFalse, rollout.ReasonCreateFailed)}})
	for _, d := range []*rollout.Deployment{
		named("done", done), named("new"), named("paused", paused), named("exceeded", exceeded), named("not begun", notBegun),
		named("unobserved", done, func(d *appsv1.Deployment) { d.Generation = 3 }),
		named("with an old pod", done, func(d *appsv1.Deployment) { d.Status.Replicas = 4 }),
		named("updating", done, func(d *appsv1.Deployment) { d.Status.UpdatedReplicas = 2 }),
		named("unavailable", done, func(d *appsv1.Deployment) { d.Status.AvailableReplicas = 2 }),
	} {
		e.caches.deployments.feed("").Observe(packDeployment(d))
	}
	e.metrics.actions.WithLabelValues(rollout.UpdateReplicaSet{To: 1}.Kind()).Inc()
	want := `
# HELP deployment_engine_actions_total The number of actions carried out, by kind.
# TYPE deployment_engine_actions_total counter
deployment_engine_actions_total{action="adopt"} 0
deployment_engine_actions_total{action="annotate"} 0
deployment_engine_actions_total{action="create"} 0
deployment_engine_actions_total{action="delete"} 0
deployment_engine_actions_total{action="event"} 0
deployment_engine_actions_total{action="look"} 0
deployment_engine_actions_total{action="release"} 0
deployment_engine_actions_total{action="rollback"} 0
deployment_engine_actions_total{action="scale"} 1
deployment_engine_actions_total{action="status"} 0
# HELP deployment_engine_rollouts_deadline_exceeded The number of Deployments whose rollout has exceeded its progress deadline.
# TYPE deployment_engine_rollouts_deadline_exceeded gauge
deployment_engine_rollouts_deadline_exceeded 1
# HELP deployment_engine_rollouts_in_progress The number of Deployments whose rollout is not complete or whose pods are not all available, except paused ones.
# TYPE deployment_engine_rollouts_in_progress gauge
deployment_engine_rollouts_in_progress 7
# HELP deployment_engine_rollouts_not_begun The number of Deployments whose new ReplicaSet cannot be created, so no progress deadline applies.
# TYPE deployment_engine_rollouts_not_begun gauge
deployment_engine_rollouts_not_begun 1
# HELP deployment_engine_watch_up Whether a watch works (1) or is broken (0).
# TYPE deployment_engine_watch_up gauge
deployment_engine_watch_up{namespace="one",resource="deployments"} 0
deployment_engine_watch_up{namespace="one",resource="replicasets"} 0
deployment_engine_watch_up{namespace="two",resource="deployments"} 0
deployment_engine_watch_up{namespace="two",resource="replicasets"} 0
`
	if err := testutil.CollectAndCompare(e, strings.NewReader(want), "deployment_engine_actions_total", "deployment_engine_rollouts_deadline_exceeded",
		"deployment_engine_rollouts_in_progress", "deployment_engine_rollouts_not_begun", "deployment_engine_watch_up"); err != nil {
		t.Error(err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	e.monitor.Run(ended)
	if count := testutil.CollectAndCount(e, "deployment_engine_watch_up"); count != 5 {
		t.Errorf("%d watches, want that of the probe, too", count)
	}
	if ready, detail := e.Ready(); ready || strings.Count(detail, "(deployment engine)\n") != 4 {
		t.Errorf("ready %t, %s", ready, detail)
	}
}

func TestTheQueueIsMeasured(t *testing.T) {
	e := newIdleEngine(t)
	key := web(3, "v1").Key()
	e.add(key)
	requireDepth := func(depth int) {
		t.Helper()
		want := fmt.Sprintf(`
# HELP deployment_engine_queue_depth The number of Deployments that wait for a worker.
# TYPE deployment_engine_queue_depth gauge
deployment_engine_queue_depth %d
`, depth)
		if err := testutil.CollectAndCompare(e, strings.NewReader(want), "deployment_engine_queue_depth"); err != nil {
			t.Error(err)
		}
	}
	requireDepth(1)
	e.queue.Get()
	requireDepth(0)
	if waited := testutil.CollectAndCount(e.metrics.queueLatency); waited != 1 {
		t.Errorf("%d latencies", waited)
	}
	e.queue.Done(key)
}

func TestFailuresHaveAReason(t *testing.T) {
	collided := &creationError{rollout.CreationFailure{Collided: true}, errors.New("taken")}
	refused := &creationError{rollout.CreationFailure{}, unavailable()}
	for err, want := range map[error]string{
		collided: "collision", fmt.Errorf("wrapped: %w", error(collided)): "collision",
		fmt.Errorf("%w: the deployment is gone", errMovedOn): "conflict",
		refused: apiclient.FailureReason(unavailable()), conflict("deployments", "web"): apiclient.FailureReason(conflict("deployments", "web")),
	} {
		if got := reasonOf(err); got != want {
			t.Errorf("reason of %v: %s, want %s", err, got, want)
		}
	}
}

func TestNoMetricIsForgottenInCollectors(t *testing.T) {
	m := newMetrics()
	if fields, collected := reflect.TypeOf(*m).NumField(), len(m.collectors()); fields != collected {
		t.Errorf("metrics has %d fields, but collectors returns %d", fields, collected)
	}
}
