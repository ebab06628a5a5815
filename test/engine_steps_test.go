package test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	stepsAnnotation   = "com.xing.deployment-restart.steps"
	soakAnnotation    = "com.xing.deployment-restart.step-soak"
	promoteAnnotation = "com.xing.deployment-restart.promote"
	abortAnnotation   = "com.xing.deployment-restart.abort"
	atStep            = appsv1.DeploymentConditionType("WaitsAtStep")
	atStepMetric      = enginePrefix + "rollouts_at_step"
)

// takingSteps makes the rollouts of a Deployment take steps.
func takingSteps(steps string) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { metav1.SetMetaDataAnnotation(&d.ObjectMeta, stepsAnnotation, steps) }
}

// awaitStep waits until a Deployment says that a rollout waits at a step with these sizes of its ReplicaSets, of which the last has
// the present template. It returns what it says.
func (s *scene) awaitStep(w workload, step string, sizes ...int32) *appsv1.Deployment {
	s.Helper()
	sets := s.awaitSizes(w, sizes...)
	present, wanted := sets[len(sets)-1], int32(0)
	for _, size := range sizes {
		wanted += size
	}
	text := fmt.Sprintf(`waits at %s, with %d of %d pods of ReplicaSet "%s".`, step, sizes[len(sizes)-1], wanted, present.Name)
	d := s.awaitDeployment(w, text, func(d *appsv1.Deployment) error {
		c, progressing := condition(d, atStep), condition(d, appsv1.DeploymentProgressing)
		switch {
		case c == nil || c.Status != corev1.ConditionTrue || !strings.Contains(c.Message, text),
			progressing.Status != corev1.ConditionUnknown, progressing.Reason != "DeploymentPaused", progressing.Message != c.Message:
			return fmt.Errorf("its conditions are %+v", d.Status.Conditions)
		case d.Status.ObservedGeneration < d.Generation || d.Status.AvailableReplicas != wanted || d.Status.Replicas != wanted:
			return fmt.Errorf("its status is %+v", d.Status)
		}
		return nil
	})
	return d
}

func TestAReleaseTakesStepsThatPeopleEnd(t *testing.T) {
	s := newEngineSceneApart(t)
	s.startEngine()
	web := s.deploy("web", 8, rolling(1, 0), takingSteps("1, 25%, 50%"))
	s.awaitRollout(web) // a first rollout takes none
	first := s.awaitPods(web, 8, nil)
	s.patchImage(web, "example/main:2")

	d := s.awaitStep(web, "step 1 of 3 (1)", 7, 1)
	sets := s.awaitSizes(web, 7, 1)
	requireContains(t, condition(d, atStep).Message, fmt.Sprintf("To go on, set the annotation %s to %s/1; to abort it, %s to %s/1.",
		promoteAnnotation, sets[1].Name, abortAnnotation, sets[1].Name))
	if event := s.awaitEvent(web, "WaitsAtStep", "The release waits at step 1 of 3"); event.Type != corev1.EventTypeNormal {
		t.Errorf("the Event is a %s", event.Type)
	}
	s.awaitMetric(atStepMetric, nil, 1)
	s.awaitNoPodTerminates()
	s.engineSettles()
	held := s.now(web)
	_, complaint := s.kubectlFails("rollout", "status", web.ref(), "--timeout=1s")
	requireContains(t, complaint, "timed out waiting for the condition")
	s.engineSettles()
	if now := s.now(web); now.ResourceVersion != held.ResourceVersion {
		t.Error("something was written while the step held")
	}

	// Another process knows only what the API server keeps.
	s.must(s.controller.Kill())
	s.startEngine()
	s.engineSettles()
	s.awaitStep(web, "step 1 of 3 (1)", 7, 1)

	stdout, _ := s.plugin(0, "promote", web.ref())
	requireContains(t, stdout, "deployment/web")
	s.awaitStep(web, "step 2 of 3 (25%)", 6, 2)
	requireContains(t, s.kubectl("scale", web.ref(), "--replicas=4"), "scaled")
	s.awaitStep(web, "step 2 of 3 (25%)", 3, 1)
	s.kubectl("scale", web.ref(), "--replicas=8")
	s.awaitStep(web, "step 2 of 3 (25%)", 6, 2)
	s.kubectl("annotate", web.ref(), promoteAnnotation+"-", stepsAnnotation+"-")
	s.engineSettles()
	s.awaitStep(web, "step 25%", 6, 2)
	s.kubectl("annotate", web.ref(), stepsAnnotation+"=1, 25%, 50%")
	s.awaitStep(web, "step 2 of 3 (25%)", 6, 2)

	s.kubectl("rollout", "pause", web.ref())
	s.plugin(0, "promote", web.ref())
	s.engineSettles()
	s.requireSizes(web, 6, 2)
	s.kubectl("rollout", "resume", web.ref())
	s.awaitStep(web, "step 3 of 3 (50%)", 4, 4)

	s.plugin(0, "promote", "--all", web.ref())
	requireContains(t, s.kubectl("rollout", "status", web.ref()), `deployment "web" successfully rolled out`)
	s.awaitComplete(web, &sets[1])
	s.awaitPods(web, 8, first)
	s.awaitMetric(atStepMetric, nil, 0)
	d = s.awaitDeployment(web, "takes no step", func(*appsv1.Deployment) error { return nil })
	if c := condition(d, atStep); c != nil {
		t.Errorf("it is complete, and says %+v", c)
	}
	_, complaint = s.plugin(1, "promote", web.ref())
	requireContains(t, complaint, "deployment/web")

	// A way back is not held.
	s.kubectl("rollout", "undo", web.ref())
	s.awaitSizes(web, 0, 8)
	s.awaitComplete(web, &sets[0])
}

func TestAStepGoesOnByItselfWhenItsPodsHaveBeenAvailable(t *testing.T) {
	s := newEngineSceneApart(t)
	s.startEngine()
	web := s.deploy("web", 4, rolling(1, 0), takingSteps("1, 2"), func(d *appsv1.Deployment) { metav1.SetMetaDataAnnotation(&d.ObjectMeta, soakAnnotation, "2s") })
	s.awaitRollout(web)
	s.patchImage(web, "example/main:2")
	s.awaitEvent(web, "WaitsAtStep", "The release waits at step 1 of 2 (1)")
	s.awaitEvent(web, "WaitsAtStep", "The release waits at step 2 of 2 (2)")
	sets := s.awaitSizes(web, 0, 4)
	s.awaitComplete(web, &sets[1])
}

func TestAReleaseThatBreaksAtAStepFallsBackAndTheOthersNeverNotice(t *testing.T) {
	s := newEngineSceneApart(t)
	s.startEngine()
	web := s.deploy("web", 10, rolling(1, 0), takingSteps("1, 50%"), fallsBack)
	s.awaitRollout(web)
	before := s.awaitPods(web, 10, nil)
	heal := s.crashBadReleases(web)
	s.patchImage(web, badImage)
	d := s.awaitFallenBack(web, 10, 2)
	sets := s.awaitSizes(web, 10, 0)
	s.requireMessage(d, &sets[1], &sets[0], 2)
	if left := len(s.awaitPods(web, 10, nil)); left != 10 {
		t.Errorf("%d pods run", left)
	}
	kept := 0
	for uid := range s.awaitPods(web, 10, nil) {
		if before[uid] {
			kept++
		}
	}
	if kept < 9 { // one makes room at most
		t.Errorf("%d pods of 10 are left of those before", kept)
	}
	if c := condition(d, atStep); c != nil {
		t.Errorf("it has fallen back, and says %+v", c)
	}

	heal()
	s.plugin(0, "retry", web.ref())
	s.awaitStep(web, "step 1 of 2 (1)", 9, 1)
	stdout, _ := s.plugin(0, "abort", web.ref())
	requireContains(t, stdout, sets[1].Name+"/2")
	d = s.awaitCondition(web, fallenBack, "ReleaseAborted")
	requireContains(t, condition(d, fallenBack).Message, "has failed: it was aborted. ", fmt.Sprintf("to %s/3.", sets[1].Name))
	s.awaitSizes(web, 10, 0)
}

func TestAnotherReleaseReplacesOneThatWaits(t *testing.T) {
	s := newEngineSceneApart(t)
	s.startEngine()
	web := s.deploy("web", 6, rolling(1, 0), takingSteps("2"))
	s.awaitRollout(web)
	s.patchImage(web, "example/main:2")
	s.awaitStep(web, "step 1 of 1 (2)", 4, 2)
	s.kubectl("rollout", "restart", web.ref())
	s.awaitStep(web, "step 1 of 1 (2)", 4, 0, 2)
	s.patchImage(web, "example/main:3")
	s.awaitStep(web, "step 1 of 1 (2)", 4, 0, 0, 2)
	s.kubectl("rollout", "undo", "--to-revision=1", web.ref())
	sets := s.awaitSizes(web, 0, 0, 0, 6)
	s.awaitComplete(web, &sets[3])
}

func TestAnEditReachesThePodsOfBothReleasesWhileOneWaits(t *testing.T) {
	s := newEngineSceneApart(t)
	s.startEngine("--evict", "--restart-soak=2s")
	s.make(settings, set("used", "v1"))
	web := s.run("web", podOf(envFrom(settings)), rolling(1, 0), takingSteps("1"), func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(4)) })
	first := s.started(web)
	s.patchImage(web, "example/main:2")
	s.awaitStep(web, "step 1 of 1 (1)", 3, 1)
	s.awaitRecordAfter(web, first)
	s.letTimePass()
	held, old := s.now(web), s.awaitPods(web, 4, nil)

	s.edit(settings, set("used", "v2"))
	s.awaitRestartEvent(web, "restarting: configmap settings changed (keys: used). Its pods are evicted one after the other")
	fresh := s.awaitPods(web, 4, old)
	s.awaitDelivered(web)
	s.requireTemplate(web, held)
	s.awaitStep(web, "step 1 of 1 (1)", 3, 1)
	s.requirePods(web, fresh)
	s.awaitMetric("evictions_total", nil, 4)

	s.plugin(0, "promote", web.ref())
	sets := s.awaitSizes(web, 0, 4)
	s.awaitComplete(web, &sets[1])
	s.settle()
	s.requireTemplate(web, held)
}

func TestARestartForAConfigTakesSteps(t *testing.T) {
	s := newEngineSceneApart(t)
	s.startEngine("--restart-soak=2s", "--status-address=127.0.0.1:0")
	s.make(settings, set("used", "v1"))
	web := s.run("web", podOf(envFrom(settings)), rolling(1, 0), takingSteps("1"), func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(4)) })
	s.started(web)
	s.letTimePass()

	s.edit(settings, set("used", "v2"))
	s.awaitRestartEvent(web, "restarting: configmap settings changed (keys: used)")
	d := s.awaitStep(web, "step 1 of 1 (1)", 3, 1)
	if c := condition(d, atStep); c.Reason != "Restart" || !strings.HasPrefix(c.Message, "The restart waits at step 1") {
		t.Errorf("the condition is %+v", c)
	}
	s.awaitPlugin(regexp.MustCompile(`(?s)State: +held.*step`), "explain", web.ref(), "--status-url=http://"+s.controller.StatusAddress())
	s.awaitMetric("workloads_at_step", nil, 1)

	s.edit(settings, set("used", "v3")) // which joins it
	s.awaitStep(web, "step 1 of 1 (1)", 3, 0, 1)

	s.plugin(0, "promote", web.ref())
	s.awaitSizes(web, 0, 0, 4)
	s.awaitDelivered(web)
	s.awaitMetric("workloads_at_step", nil, 0)
	s.awaitMetric("restarts_failed_total", nil, 0)
}
