package controller

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/delivery"
	"kubernetes-deployment-restart-controller/controller/follow"
	"kubernetes-deployment-restart-controller/controller/objecttest"
)

func settle(w *world) {
	for range 10 {
		for _, c := range w.takeChanges() {
			w.controller.due(c)
		}
		for w.work() {
		}
	}
}

func wholeStatus(d *appsv1.Deployment) {
	d.Spec.Replicas = new(int32(3))
	d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: 3, UpdatedReplicas: 3, AvailableReplicas: 3}
}

func (w *world) edited(name, value string) {
	old := w.configMaps[name]
	cm := &corev1.ConfigMap{ObjectMeta: w.meta(name), Data: map[string]string{"k": value}}
	if old != nil {
		cm.UID = old.UID
	} else {
		cm.UID = types.UID("cm")
	}
	w.configMaps[name] = cm
	w.show("configmaps", cm)
}

// change is a write of the Deployment by somebody else.
func (w *world) changed(name string, change func(*appsv1.Deployment)) {
	d := w.deployments[name].DeepCopy()
	change(d)
	d.ResourceVersion = w.nextVersion()
	w.deployments[name] = d
	w.show("deployments", d)
}

func started(t *testing.T) *world {
	w := newWorld(t)
	w.controller.role.Leading.Store(true)
	w.controller.intake.Grace = time.Millisecond
	w.controller.restarter.Grace = time.Millisecond
	w.controller.deliveries.Policy = delivery.Policy{Soak: 30 * time.Second, Deadline: 10 * time.Minute}
	w.edited("a/c", "1")
	d := w.deployment("a/web", "c")
	wholeStatus(d)
	w.deployments["a/web"] = d
	w.show("deployments", d)
	settle(w)
	return w
}

func TestAReleaseAfterARestartIsNotFollowedByTheNextLeader(t *testing.T) {
	w := started(t)
	w.edited("a/c", "2")
	settle(w)
	view, _ := w.controller.catalog.View(objecttest.AWeb)
	if view.Workload.Timestamp == "" || view.Workload.Record.Ran != record.AllRan {
		t.Fatalf("not restarted: %q %+v", view.Workload.Timestamp, view.Workload.Record)
	}
	w.controller.deliveries.Forget(objecttest.AWeb) // delivered
	w.changed("a/web", func(d *appsv1.Deployment) { // a release, which breaks
		d.Spec.Template.Spec.Containers[0].Image = "broken"
		d.Status.AvailableReplicas, d.Status.UpdatedReplicas = 2, 1
	})
	for _, when := range []string{"before", "after"} {
		view, _ = w.controller.catalog.View(objecttest.AWeb)
		_, follows := delivery.Resumes(view.Workload, w.controller.deliveries.Policy, time.Now().Add(2*time.Minute))
		t.Logf("%s the record: trusted %t, %d ran, followed %t", when, view.Workload.Record.Trusted, view.Workload.Record.Ran, follows)
		if follows && view.Workload.Record.Ran > 0 {
			t.Errorf("%s the record, the next leader takes the release for a restart", when)
		}
		settle(w)
	}
}

func TestARestartForAnotherEditCanFailThoughThePodsAreStillBeingReplaced(t *testing.T) {
	w := started(t)
	w.controller.restarter.BackoffLimit = 0
	w.edited("a/c", "bad")
	settle(w)
	w.changed("a/web", func(d *appsv1.Deployment) { d.Status.AvailableReplicas, d.Status.UpdatedReplicas = 2, 1 })
	w.edited("a/c", "bad too")
	settle(w)
	restart := w.controller.deliveries.Of(objecttest.AWeb)
	if restart == nil || restart.Ran != record.AllRan {
		t.Errorf("the first restart is forgotten without a word, and the second cannot fail: %+v", restart)
	}
}

func TestARestartThatWasCompleteIsNotFollowedByTheNextLeader(t *testing.T) {
	w := started(t)
	w.edited("a/c", "2")
	settle(w)
	w.controller.deliveries.Forget(objecttest.AWeb) // delivered after 35 s
	// 5 minutes later a node is drained, which moves the controller as well
	w.changed("a/web", func(d *appsv1.Deployment) {
		d.Status.ObservedGeneration, d.Status.AvailableReplicas = d.Generation, 2
		d.Status.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetAvailable"}}
	})
	w.controller.deliveries.Resume(objecttest.AWeb, time.Now().Add(5*time.Minute))
	if r := w.controller.deliveries.Of(objecttest.AWeb); r != nil {
		t.Errorf("followed again, %d ran", r.Ran)
	}
}

// Filters of very many keys take long, and nobody restarts before a takeover is over.
func TestATakeoverSpendsOnlySoMuchTimeOnTheFanOutsOfANamespace(t *testing.T) {
	for spent, want := range map[time.Duration]int{0: 1, follow.DatingTime: 0} {
		w := started(t)
		w.edited("a/c", "2")
		settle(w)
		w.controller.deliveries.Forget(objecttest.AWeb)
		w.changed("a/web", func(*appsv1.Deployment) {})
		w.controller.deliveries.Spend("a", spent)
		w.controller.deliveries.Resume(objecttest.AWeb, time.Now())
		restart := w.controller.deliveries.Of(objecttest.AWeb)
		if restart == nil || len(restart.Decision.Causes) != 1 || len(restart.Decision.Causes[0].Moments) != want {
			t.Errorf("after %s: %+v, want a restart of %d fan-outs", spent, restart, want)
		}
	}
}

// Anyone who may write a workload may write its restart timestamp, and what JSON cannot hold would break the answers about others.
func TestARestartAtATimeThatNoClockShowsIsNoRestart(t *testing.T) {
	w := started(t)
	forged := &workload.Workload{Object: workload.Object{Ref: objecttest.AWeb, Timestamp: "9999-12-31T23:00:00-12:00"}}
	if at := follow.RestartedAt(forged); !at.IsZero() {
		t.Errorf("restarted at %s", at)
	}
	if last := w.controller.Board.LastRestartOf(forged); last != nil {
		t.Errorf("its last restart is %+v", last)
	}
}
