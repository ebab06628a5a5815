package test

import (
	"fmt"
	"sync/atomic"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// handover is a scene with releases that only the engine keeps back, on a cluster that it hands over to Kubernetes' own controller.
type handover struct {
	*scene
	all            []workload
	held, amid     workload // at a step; the original finishes the first, and is killed amid the second
	mended, broken workload // fallen back; the first would not fail again
	stopped        workload // fallen back, too, and the original leaves no pod of the release before
	isMended       atomic.Bool
	narrow, wide   *referee // of a surge of one pod, and of broken, which may also lack one
}

// Kubernetes' own controller knows neither steps nor fall-backs: it finishes what waits, and tries again what has failed. An engine
// that comes back takes what has completed since as complete, and holds and falls back what has not.
func TestReleasesThatWaitOrHaveFallenBackThroughAHandoverToKubernetesOwnControllerAndBack(t *testing.T) {
	s := &handover{scene: newEngineSceneOfItsOwn(t)}
	s.startEngine()
	s.release()
	good := s.awaitPods(s.broken, 4, nil)
	s.must(s.controller.Stop())

	s.isMended.Store(true)
	original := s.startOriginal()
	s.awaitOriginal()
	s.awaitNoPodTerminates()
	before := map[workload]state{}
	for _, w := range s.all {
		before[w] = s.now(w)
	}
	pods := map[workload]map[types.UID]bool{s.held: s.awaitPods(s.held, 4, nil), s.mended: s.awaitPods(s.mended, 4, nil)}
	s.must(original.Kill())
	s.letGo(s.amid, 1) // while nobody would go on

	engine := s.startEngine()
	s.awaitEngine()
	s.requireKept(s.broken, good, 3) // as many as the original has left
	s.awaitNoPodTerminates()
	s.engineSettles()
	settled := s.versions()
	s.engineSettles()
	for name, version := range s.versions() {
		if version != settled[name] {
			t.Errorf("%s is written although nothing is left to do", name)
		}
	}
	for w, since := range before {
		s.requireSpecAsBefore(w, since)
	}
	for w, uids := range pods {
		s.requireSamePods(w, uids)
	}
	s.requireNoErrors(engine)
	s.narrow.requireFair(2)

	// What the original has completed is what later releases begin with, and the way back from a failed one is as usual.
	s.patchImage(s.held, "example/main:4")
	s.awaitStep(s.held, "step 1 of 1 (1)", 0, 3, 1)
	s.patchImage(s.mended, worseImage)
	d, sets := s.awaitFallenBack(s.mended, 4, 2), s.awaitSizes(s.mended, 0, 4, 0)
	s.requireMessage(d, &sets[2], &sets[1], 2)
	s.requireSamePods(s.mended, pods[s.mended])
	fallen := s.awaitPods(s.broken, 4, nil)
	s.kubectl("rollout", "undo", s.broken.ref())
	sets = s.awaitSizes(s.broken, 4)
	s.awaitComplete(s.broken, &sets[0])
	s.requireSamePods(s.broken, fallen)
	s.wide.requireFair(2)
}

// release makes the Deployments, and another release of each, and waits until the engine keeps these back.
func (s *handover) release() {
	s.Helper()
	// New pods count late, so that the original knows by then how many old ones are left.
	unhurried := func(d *appsv1.Deployment) { d.Spec.MinReadySeconds = 1 }
	withoutHistory := func(d *appsv1.Deployment) { d.Spec.RevisionHistoryLimit = new(int32(0)) }
	s.held = s.deploy("held", 4, rolling(1, 0), takingSteps("1"), unhurried)
	s.amid = s.deploy("amid", 4, rolling(1, 0), takingSteps("1"), unhurried)
	s.mended = s.deploy("mended", 4, rolling(1, 0), fallsBack, within(8), unhurried)
	s.broken = s.deploy("broken", 4, rolling(1, 1), fallsBack, within(8), withoutHistory)
	s.stopped = s.deploy("stopped", 4, recreated, fallsBack, within(8), withoutHistory)
	s.all = []workload{s.held, s.amid, s.mended, s.broken, s.stopped}
	for _, w := range s.all {
		s.awaitRollout(w)
	}
	s.narrow = s.callReferee(&fleet{s: s.scene, members: []workload{s.held, s.amid, s.mended}}, 1, 0)
	s.wide = s.callReferee(&fleet{s: s.scene, members: []workload{s.broken}}, 1, 1)
	s.crashAtStart(func(pod *corev1.Pod) bool {
		app, image := pod.Labels["app"], pod.Spec.Containers[0].Image
		isBroken := app == s.broken.name || app == s.stopped.name || app == s.mended.name && !s.isMended.Load()
		return image == worseImage || image == badImage && isBroken
	})

	s.patchHeld(s.amid, badImage)
	for _, w := range []workload{s.held, s.mended, s.broken, s.stopped} {
		s.patchImage(w, badImage)
	}
	s.letGo(s.amid, 1)
	for _, w := range []workload{s.held, s.amid} {
		s.awaitStep(w, "step 1 of 1 (1)", 3, 1)
	}
	for _, w := range []workload{s.mended, s.broken, s.stopped} {
		d, sets := s.awaitFallenBack(w, 4, 2), s.awaitSizes(w, 4, 0)
		s.requireMessage(d, &sets[1], &sets[0], 2)
	}
}

// awaitOriginal waits until Kubernetes' own controller has done what it does with any Deployment.
func (s *handover) awaitOriginal() {
	s.Helper()
	for _, w := range []workload{s.held, s.mended} {
		sets := s.awaitSizes(w, 0, 4)
		requireContains(s.T, s.kubectl("rollout", "status", w.ref()), fmt.Sprintf(`deployment %q successfully rolled out`, w.name))
		s.awaitProgressing(w, "NewReplicaSetAvailable", fmt.Sprintf("ReplicaSet %q has successfully progressed.", sets[1].Name))
		s.requirePodsOf(w, &sets[1], 4)
	}
	for w, want := range map[workload][]int32{s.broken: {3, 2}, s.stopped: {0, 4}} {
		sets := s.awaitSizes(w, want...)
		s.awaitProgressing(w, "ProgressDeadlineExceeded", fmt.Sprintf("ReplicaSet %q has timed out progressing.", sets[1].Name))
		s.requireExceeded(w)
	}
	s.awaitSizes(s.amid, 3, 2)
	s.letGo(s.amid, 1)
	s.awaitSizes(s.amid, 2, 3)
}

// awaitEngine waits until the engine has dealt with what Kubernetes' own controller has left.
func (s *handover) awaitEngine() {
	s.Helper()
	for _, w := range []workload{s.held, s.mended} {
		sets := s.awaitSizes(w, 0, 4)
		s.awaitComplete(w, &sets[1])
		requireContains(s.T, s.kubectl("rollout", "status", w.ref()), fmt.Sprintf(`deployment %q successfully rolled out`, w.name))
	}
	s.awaitDeployment(s.held, "takes no step", func(d *appsv1.Deployment) error {
		if c := condition(d, atStep); c != nil {
			return fmt.Errorf("it says %+v", c)
		}
		return nil
	})
	for _, w := range []workload{s.broken, s.stopped} {
		d, sets := s.awaitFallenBack(w, 4, 2), s.awaitSizes(w, 4, 0)
		s.requireMessage(d, &sets[1], &sets[0], 2)
		s.requirePodsOf(w, &sets[0], 4)
		s.requireExceeded(w)
	}
	s.awaitMetric(fallBacksTotal, nil, 0)        // nothing was tried again
	s.awaitStep(s.amid, "step 1 of 1 (1)", 3, 1) // which nobody has let end
}

// awaitProgressing waits until a Deployment says this of its progress, and fails the test if a condition of the engine's, which the
// original leaves as it was, says the same: the restart controller would believe it.
func (s *handover) awaitProgressing(w workload, reason, message string) {
	s.Helper()
	d := s.awaitDeployment(w, "says how far it has come", func(d *appsv1.Deployment) error {
		c := condition(d, appsv1.DeploymentProgressing)
		if c == nil || c.Reason != reason || c.Message != message || d.Status.ObservedGeneration < d.Generation {
			return fmt.Errorf("its status is %+v", d.Status)
		}
		return nil
	})
	for _, kind := range []appsv1.DeploymentConditionType{atStep, fallenBack} {
		if c := condition(d, kind); c != nil && c.Message == message {
			s.Errorf("%s says the same of %s as its progress: %s", kind, w.name, message)
		}
	}
}

// requireExceeded fails the test unless kubectl says that a rollout has failed.
func (s *handover) requireExceeded(w workload) {
	s.Helper()
	_, complaint := s.kubectlFails("rollout", "status", w.ref())
	requireContains(s.T, complaint, fmt.Sprintf(`deployment %q exceeded its progress deadline`, w.name))
}

// requireKept fails the test unless so many pods of a Deployment are among the earlier ones.
func (s *handover) requireKept(w workload, earlier map[types.UID]bool, want int) {
	s.Helper()
	kept := 0
	for _, pod := range s.runningPods(w) {
		if earlier[pod.UID] {
			kept++
		}
	}
	if kept != want {
		s.Errorf("%d earlier pods of %s are left, want %d", kept, w.name, want)
	}
}

// versions returns the versions of the Deployments and of their ReplicaSets.
func (s *handover) versions() map[string]string {
	s.Helper()
	versions := map[string]string{}
	for _, w := range s.all {
		versions["Deployment "+w.name] = s.now(w).ResourceVersion
		for _, rs := range s.replicaSetsNow(w) {
			versions["ReplicaSet "+rs.Name] = rs.ResourceVersion
		}
	}
	return versions
}
