package controller

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/controller/objecttest"
	"kubernetes-deployment-restart-controller/internal/status"
)

// waitsAtStep is what the deployment engine does with a release or restart that takes steps: one of three pods is new.
func (w *evictingWorld) waitsAtStep(of string) { w.atStep(of, true) }

// goesOn lets it take the next step: another pod is new, and not available yet.
func (w *evictingWorld) goesOn(of string) { w.atStep(of, false) }

func (w *evictingWorld) atStep(of string, waits bool) {
	w.changed("a/web", func(d *appsv1.Deployment) {
		step := appsv1.DeploymentCondition{Type: "WaitsAtStep", Status: corev1.ConditionFalse, Reason: of, Message: "It is progressing."}
		progressing := appsv1.DeploymentCondition{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "ReplicaSetUpdated", Message: "It is progressing."}
		d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: 3, UpdatedReplicas: 2, AvailableReplicas: 3}
		if waits {
			d.Status.UpdatedReplicas, step.Status, step.Message = 1, corev1.ConditionTrue, "It waits at step 1 of 2."
			progressing.Status, progressing.Reason, progressing.Message = corev1.ConditionUnknown, "DeploymentPaused", step.Message
		}
		d.Status.Conditions = []appsv1.DeploymentCondition{step, progressing}
	})
}

func (w *evictingWorld) timestamp() string {
	return w.deployments["a/web"].Spec.Template.Annotations[annotation.TimestampAnnotation]
}

func TestAnEditReachesThePodsOfBothReleasesByEvictionWhileOneWaitsAtAStep(t *testing.T) {
	inFallenBackWorld(t, func(w *evictingWorld) {
		w.releases("v2", "c")
		w.pass(5)
		w.waitsAtStep("Release")
		w.pass(60)
		w.requireEvicted()
		w.edited("a/c", "2")
		w.pass(200)
		w.requireEvicted("web-1", "web-2", "web-3")
		if w.timestamp() != "" {
			t.Errorf("the release was restarted at %s", w.timestamp())
		}
		restarts := w.controller.Overview("", time.Now()).Restarts.Items
		if len(restarts) != 1 || restarts[0].Outcome != status.Delivered {
			t.Errorf("the restarts are %+v", restarts)
		}
		w.goesOn("Release")
		w.pass(10)
		w.completes()
		w.pass(200)
		w.requireEvicted("web-1", "web-2", "web-3")
		if w.timestamp() != "" {
			t.Errorf("the release, whose pods have read it, was restarted at %s", w.timestamp())
		}
	})
}

func TestEvictionsWaitWhileAReleaseTakesItsNextStep(t *testing.T) {
	inFallenBackWorld(t, func(w *evictingWorld) {
		w.releases("v2", "c")
		w.pass(5)
		w.waitsAtStep("Release")
		w.edited("a/c", "2")
		for len(w.evicted) == 0 {
			w.pass(1)
		}
		w.goesOn("Release")
		w.pass(200)
		w.requireEvicted("web-1")
		w.completes()
		w.pass(300)
		w.requireEvicted("web-1")
		if w.timestamp() != "" {
			t.Errorf("the release, which has replaced all pods, was restarted at %s", w.timestamp())
		}
		if known := w.controller.catalog.Workload(objecttest.AWeb).Record; !known.Trusted {
			t.Errorf("the record is %+v", known)
		}
	})
}

func TestWithoutEvictionsAnEditWaitsWhileAReleaseTakesSteps(t *testing.T) {
	inFallenBackWorld(t, func(w *evictingWorld) {
		w.controller.gate.Evicts = false
		w.releases("v2", "c")
		w.pass(5)
		w.waitsAtStep("Release")
		w.edited("a/c", "2")
		w.pass(200)
		w.requireEvicted()
		held := w.controller.Overview("", time.Now()).Held.Items
		if len(held) != 1 || !strings.Contains(held[0].Text, "its release takes steps, and pods of an earlier one run") {
			t.Errorf("held are %+v", held)
		}
		w.changed("a/web", func(d *appsv1.Deployment) { // the pods of the release have not read it
			d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: 3, UpdatedReplicas: 3, AvailableReplicas: 3}
		})
		w.pass(200)
		if w.timestamp() == "" {
			t.Errorf("it was not restarted; held are %+v", w.controller.Overview("", time.Now()).Held.Items)
		}
	})
}

// restartsAtStep edits the config, which restarts the Deployment by its pod template, and lets the restart wait at a step.
func (w *evictingWorld) restartsAtStep() {
	w.edited("a/c", "2")
	for w.timestamp() == "" {
		w.pass(1)
	}
	w.changed("a/web", func(d *appsv1.Deployment) { d.Generation++ })
	w.waitsAtStep("Restart")
	w.pass(1)
}

func TestARestartThatWaitsAtAStepIsHeld(t *testing.T) {
	inFallenBackWorld(t, func(w *evictingWorld) {
		w.restartsAtStep()
		w.pass(3 * 3600)
		w.requireEvicted()
		held := w.controller.Overview("", time.Now()).Held.Items
		if len(held) != 1 || held[0].Reason != "step" || !strings.Contains(held[0].Text, "kubectl restarts promote deployment/web -n a") {
			t.Errorf("held are %+v", held)
		}
		w.replaceLeader(true)
		w.pass(60)
		if held := w.controller.Overview("", time.Now()).Held.Items; len(held) != 1 || held[0].Reason != "step" {
			t.Errorf("under the next leader, held are %+v", held)
		}
		w.goesOn("Restart")
		w.pass(10)
		w.completes()
		w.pass(200)
		restarts := w.controller.Overview("", time.Now()).Restarts.Items
		if len(restarts) == 0 || restarts[0].Outcome != status.Delivered {
			t.Errorf("the restarts are %+v", restarts)
		}
	})
}

func TestAnEditDuringARestartThatWaitsAtAStepJoinsIt(t *testing.T) {
	inFallenBackWorld(t, func(w *evictingWorld) {
		w.restartsAtStep()
		before := w.timestamp()
		w.edited("a/c", "3")
		w.pass(60)
		w.requireEvicted()
		if w.timestamp() == before {
			t.Error("it was not restarted again")
		}
	})
}

func TestThatAPersonAbortsARestartHaltsOthers(t *testing.T) {
	inFallenBackWorld(t, func(w *evictingWorld) {
		w.startsSlowly()
		w.restartsAtStep()
		w.changed("a/web", func(d *appsv1.Deployment) {
			for i := range d.Status.Conditions {
				if c := &d.Status.Conditions[i]; c.Type == appsv1.DeploymentProgressing {
					c.Status, c.Reason = corev1.ConditionFalse, "ProgressDeadlineExceeded"
				}
			}
		})
		w.pass(60)
		overview := w.controller.Overview("", time.Now())
		if failed := overview.Failed.Items; len(failed) != 1 || !strings.Contains(failed[0].Text, "its controller has aborted the rollout") {
			t.Errorf("failed are %+v, restarts %+v", failed, overview.Restarts.Items)
		}
		if len(overview.Halts.Items) != 1 {
			t.Errorf("halts are %+v", overview.Halts.Items)
		}
	})
}

func TestOthersSayThatTheyWaitForARestartAtAStep(t *testing.T) {
	inFallenBackWorld(t, func(w *evictingWorld) {
		other := w.deployment("a/zeta", "c")
		w.deployments["a/zeta"] = other
		wholeStatus(other)
		w.show("deployments", other)
		w.pass(60)
		w.startsSlowly()
		w.edited("a/c", "2")
		for w.timestamp() == "" {
			w.pass(1)
		}
		w.changed("a/web", func(d *appsv1.Deployment) { d.Generation++ })
		w.waitsAtStep("Restart")
		w.pass(1500) // longer than the deadline: in its own namespace, others wait for as long as it does
		waiting := w.controller.Overview("", time.Now()).Waiting.Items
		const want = "deployment/web, whose rollout waits at a step; to go on: kubectl restarts promote deployment/web -n a"
		if len(waiting) != 1 || waiting[0].Reason != "slow-start" || waiting[0].Text != want {
			t.Errorf("waiting are %+v", waiting)
		}
		w.completes()
		w.pass(200)
		if w.deployments["a/zeta"].Spec.Template.Annotations[annotation.TimestampAnnotation] == "" {
			t.Error("the other is not restarted")
		}
	})
}
