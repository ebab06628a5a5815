package controller

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/controller/objecttest"
	"kubernetes-deployment-restart-controller/internal/podtemplate"
	"kubernetes-deployment-restart-controller/internal/status"
)

// inFallenBackWorld runs a test in a world whose Deployment a/web restarts by its pod template. Its pods read the config c.
func inFallenBackWorld(t *testing.T, play func(w *evictingWorld)) {
	inEvictingWorld(t, nil, func(w *evictingWorld) {
		w.changed("a/web", func(d *appsv1.Deployment) { delete(d.Annotations, annotation.MethodAnnotation) })
		w.pass(60)
		play(w)
	})
}

// releases changes the pod template, which reads these configs then. Its pods crash.
func (w *evictingWorld) releases(image string, configs ...string) {
	w.changed("a/web", func(d *appsv1.Deployment) {
		d.Spec.Template.Spec = w.deployment("a/web", configs...).Spec.Template.Spec
		d.Spec.Template.Spec.Containers[0].Image = image
		d.Generation++
		d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: 4, UpdatedReplicas: 1, AvailableReplicas: 3, UnavailableReplicas: 1}
	})
}

// fallsBack is what the deployment engine does then. The pods of these configs run.
func (w *evictingWorld) fallsBack(configs ...string) {
	w.changed("a/web", func(d *appsv1.Deployment) {
		now := metav1.Time{Time: time.Now().Truncate(time.Second)}
		d.Annotations[podtemplate.RunsAnnotation] = podtemplate.EncodeReads("rs", &w.deployment("a/web", configs...).Spec.Template.Spec)
		d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: 3, AvailableReplicas: 3, Conditions: []appsv1.DeploymentCondition{
			{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionFalse, Reason: "ProgressDeadlineExceeded", Message: "It has failed.", LastTransitionTime: now},
			{Type: "FallenBack", Status: corev1.ConditionTrue, Reason: "ReleaseCrashed", Message: "It has failed.", LastTransitionTime: now},
		}}
	})
}

// completes replaces all pods by those of the present template.
func (w *evictingWorld) completes() {
	w.pods["a/app=web"] = nil
	for range 3 {
		w.makePod(true)
	}
	w.changed("a/web", func(d *appsv1.Deployment) {
		delete(d.Annotations, podtemplate.RunsAnnotation)
		wholeStatus(d)
	})
}

func TestAnEditReachesThePodsOfAnEarlierReleaseByEviction(t *testing.T) {
	inFallenBackWorld(t, func(w *evictingWorld) {
		w.releases("v2", "c")
		w.pass(5)
		w.fallsBack("c")
		w.pass(60)
		w.requireEvicted()
		w.edited("a/c", "2")
		w.pass(200)
		w.requireEvicted("web-1", "web-2", "web-3")
		if changed := w.deployments["a/web"].Spec.Template.Annotations; len(changed) > 0 {
			t.Errorf("the pod template has the annotations %v", changed)
		}
		w.releases("v3", "c")
		w.completes()
		w.pass(200)
		w.requireEvicted("web-1", "web-2", "web-3")
		if w.deployments["a/web"].Spec.Template.Annotations[annotation.TimestampAnnotation] != "" {
			t.Error("the next release, whose pods have read it, was restarted")
		}
	})
}

func TestNothingIsEvictedOnTheWayBackToAnEarlierRelease(t *testing.T) {
	inFallenBackWorld(t, func(w *evictingWorld) {
		w.releases("v2", "c")
		w.pass(5)
		w.fallsBack("c")
		failed := func(pods int32) {
			w.changed("a/web", func(d *appsv1.Deployment) { d.Status.Replicas, d.Status.UpdatedReplicas = 3+pods, pods })
		}
		failed(2)
		w.edited("a/c", "2")
		w.pass(200)
		w.requireEvicted()
		failed(0)
		w.pass(200)
		w.requireEvicted("web-1", "web-2", "web-3")
	})
}

// The record from before the fall-back has the former content.
func TestAReleaseThatIsTriedAgainRestartsForNothingThatItsPodsHaveRead(t *testing.T) {
	for _, evicts := range []bool{true, false} {
		inFallenBackWorld(t, func(w *evictingWorld) {
			w.controller.gate.Evicts = evicts
			w.releases("v2", "c")
			w.pass(5)
			w.fallsBack("c")
			w.edited("a/c", "2")
			w.pass(30)
			evicted := len(w.evicted)
			w.completes()
			w.pass(200)
			if timestamp := w.deployments["a/web"].Spec.Template.Annotations[annotation.TimestampAnnotation]; timestamp != "" || len(w.evicted) != evicted {
				t.Errorf("evictions %t: restarted at %q, evicted %v", evicts, timestamp, w.evicted)
			}
		})
	}
}

func TestAnEditThatComesWithAFailedReleaseReachesThePodsOfTheEarlierOne(t *testing.T) {
	inFallenBackWorld(t, func(w *evictingWorld) {
		w.releases("v2", "c")
		w.edited("a/c", "2")
		w.pass(1)
		w.fallsBack("c")
		w.pass(200)
		w.requireEvicted("web-1", "web-2", "web-3")
	})
}

func TestThePodsOfAnEarlierReleaseRestartForWhatTheyRead(t *testing.T) {
	inFallenBackWorld(t, func(w *evictingWorld) {
		w.edited("a/new", "1")
		w.pass(60)
		w.releases("v2", "new")
		w.pass(5)
		w.fallsBack("c")
		w.pass(5)
		w.edited("a/new", "2")
		w.pass(200)
		w.requireEvicted() // only the release that has failed reads it
		w.edited("a/c", "2")
		w.pass(200)
		w.requireEvicted("web-1", "web-2", "web-3") // it does not read this one
	})
}

func TestWithoutEvictionsAnEditWaitsForTheNextRelease(t *testing.T) {
	inFallenBackWorld(t, func(w *evictingWorld) {
		w.controller.gate.Evicts = false
		w.releases("v2", "c")
		w.pass(5)
		w.fallsBack("c")
		w.edited("a/c", "2")
		w.pass(200)
		w.requireEvicted()
		held := w.controller.Overview("", time.Now()).Held.Items
		if len(held) != 1 || !strings.Contains(held[0].Text, "its release has failed, and pods of an earlier one run") {
			t.Errorf("held are %+v", held)
		}
		if timestamp := w.deployments["a/web"].Spec.Template.Annotations[annotation.TimestampAnnotation]; timestamp != "" {
			t.Errorf("the release that has failed is restarted at %s", timestamp)
		}
		w.releases("v3", "c")
		w.completes()
		w.pass(200)
		if held := w.controller.Overview("", time.Now()).Held.Items; len(held) != 0 {
			t.Errorf("afterwards, held are %+v", held)
		}
		if record := w.controller.catalog.Workload(objecttest.AWeb).Record; !record.Trusted {
			t.Errorf("the record is %+v", record)
		}
		w.requireEvicted()
	})
}

func TestACrashOfARetriedReleaseIsNoFailureOfTheRestartBefore(t *testing.T) {
	inFallenBackWorld(t, func(w *evictingWorld) {
		w.releases("v2", "c")
		w.pass(5)
		w.fallsBack("c")
		w.edited("a/c", "2")
		for len(w.evicted) < 3 {
			w.pass(1)
		}
		w.pass(5)
		w.releases("v2", "c")
		w.crashes = true
		w.makePod(false)
		w.pass(700)
		restarts := w.controller.Overview("", time.Now()).Restarts.Items
		if len(restarts) != 1 || restarts[0].Outcome != status.Unknown {
			t.Errorf("the restarts are %+v", restarts)
		}
	})
}
