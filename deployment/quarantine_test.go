package deployment

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus/testutil"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubernetes-deployment-restart-controller/deployment/rollout"
	"kubernetes-deployment-restart-controller/internal/quarantine"
)

// work is sync through the quarantine.
func (a *attempts) work(t *testing.T) {
	t.Helper()
	key, found := a.engine.queue.Get()
	if !found {
		t.Fatal("nothing is due")
	}
	a.engine.work(t.Context(), key)
	a.engine.queue.Done(key)
}

const webLeftAlone = "[!] 1 object left alone after an internal error: deployment/ns/web"

func TestADeploymentWhosePlanPanicsIsLeftAloneUntilSomethingWakesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAttempts()
		a.cluster.refuse = func(string) error { panic("canary") }
		a.work(t)
		if got := a.engine.quarantine.Detail(); got != webLeftAlone {
			t.Errorf("left alone: %q", got)
		}
		if got := testutil.ToFloat64(a.engine.metrics.panics.WithLabelValues(string(quarantine.Decision))); got != 1 {
			t.Errorf("%v panics are counted", got)
		}
		if !slices.ContainsFunc(a.cluster.events, func(event string) bool {
			return event == "Warning InternalError: internal error: the deployment engine leaves this object alone until it changes; the log has the details"
		}) {
			t.Errorf("events: %q", a.cluster.events)
		}
		if a.engine.queue.Len() > 0 || !a.engine.queue.NextDue().IsZero() {
			t.Error("it is tried again by itself")
		}
		a.cluster.refuse = nil
		a.engine.wake(a.key)
		a.work(t)
		if got := a.engine.quarantine.Detail(); got != "" || len(a.cluster.replicaSets) != 1 {
			t.Errorf("left alone: %q, with %d ReplicaSets", got, len(a.cluster.replicaSets))
		}
	})
}

// A ReplicaSet that is not known would be created again, and its pods left out.
func TestNothingIsPlannedWhileAPartOfADeploymentIsLeftAlone(t *testing.T) {
	for name, hold := range map[string]func(d *rollout.Deployment) quarantine.Object{
		"the Deployment": func(d *rollout.Deployment) quarantine.Object {
			return quarantine.Object{Kind: rollout.DeploymentKind, Namespace: "ns", Name: "web", UID: d.UID, ResourceVersion: "newer"}
		},
		"a ReplicaSet": func(d *rollout.Deployment) quarantine.Object {
			return quarantine.Object{Kind: replicaSetKind, Namespace: "ns", Name: "web-1", UID: "rs", ResourceVersion: "newer", Controller: d.UID}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newAttempts()
				o := hold(a.engine.caches.deployments.get(a.key))
				a.engine.quarantine.Try(quarantine.Intake, o, func() { panic("canary") })
				a.sync(t)
				if waited := a.sync(t); waited != leftAlonePause || len(a.cluster.replicaSets) > 0 {
					t.Errorf("looked at again after %s, with %d ReplicaSets", waited, len(a.cluster.replicaSets))
				}
				a.engine.quarantine.Release(o)
				a.sync(t)
				if len(a.cluster.replicaSets) != 1 {
					t.Errorf("%d ReplicaSets when nothing is left alone", len(a.cluster.replicaSets))
				}
			})
		})
	}
}

func TestAPodThatIsLeftAloneMattersToRecreateOnly(t *testing.T) {
	for strategy, want := range map[appsv1.DeploymentStrategyType]bool{
		appsv1.RecreateDeploymentStrategyType: true, appsv1.RollingUpdateDeploymentStrategyType: false,
	} {
		e := newIdleEngine(t)
		d, rs := web(3, "v1"), &rollout.ReplicaSet{Meta: rollout.Meta{Namespace: "ns", Name: "web-1", UID: "rs", ResourceVersion: "1"}}
		rs.Controller, d.Strategy = d.UID, strategy
		e.caches.replicaSets.feed("").Observe(packReplicaSet(rs))
		pod := nameOfPod(&pod{Meta: rollout.Meta{Namespace: "ns", Name: "web-1-1", UID: "pod", ResourceVersion: "1"}, controller: "rs"})
		e.quarantine.Try(quarantine.Intake, pod, func() { panic("canary") })
		if got := e.isLeftAlone(d); got != want {
			t.Errorf("%s: %t", strategy, got)
		}
	}
}

func TestReplicaSetsAreOnlyLookedAtWhereSomethingIsLeftAlone(t *testing.T) {
	e, d := newIdleEngine(t), web(3, "v1")
	d.Strategy = appsv1.RecreateDeploymentStrategyType
	for i := range 100 {
		name := fmt.Sprintf("web-%d", i)
		rs := &rollout.ReplicaSet{Meta: rollout.Meta{Namespace: "ns", Name: name, UID: types.UID(name), ResourceVersion: "1"}, Controller: d.UID}
		e.caches.replicaSets.feed("").Observe(packReplicaSet(rs))
	}
	if allocations := testing.AllocsPerRun(10, func() { e.isLeftAlone(d) }); allocations > 10 {
		t.Errorf("%.0f allocations to find nothing", allocations)
	}
}
