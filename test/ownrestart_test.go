package test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// Restarts of Rollouts by .spec.restartAt. The tests play Argo Rollouts.

// runRollout creates a promoted Rollout that has the method evict, and its ReplicaSet, and returns them with the pods, which
// are then clearly older than any later record.
func (s *scene) runRollout(name string, pod corev1.PodSpec, annotations string) (app workload, before state, old map[types.UID]bool) {
	s.Helper()
	app = s.runOther(rollouts, name, pod)
	template := s.mustLookOther(app).template.DeepCopy()
	template.Labels["rollouts-pod-template-hash"] = "a"
	_, err := s.client.AppsV1().ReplicaSets(s.namespace).Create(s.Context(), &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: name + "-a", Labels: template.Labels, OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "argoproj.io/v1alpha1", Kind: "Rollout", Name: name, UID: s.mustLookOther(app).UID, Controller: new(true)},
		}},
		Spec: appsv1.ReplicaSetSpec{Replicas: new(int32(2)), Selector: &metav1.LabelSelector{MatchLabels: template.Labels}, Template: *template},
	}, metav1.CreateOptions{})
	s.must(err)
	s.setStatus(app, `{"observedGeneration":"GENERATION","currentPodHash":"a","stableRS":"a","phase":"Healthy","replicas":2,"updatedReplicas":2,"availableReplicas":2}`)
	s.patchRollout(app, `{"metadata":{"annotations":{"`+methodAnnotation+`":"evict"`+annotations+`}}}`)
	old = s.awaitPods(app, 2, nil)
	return app, s.awaitRecorded(app), old
}

func (s *scene) patchRollout(app workload, patch string) {
	s.Helper()
	_, err := s.others(rollouts).Patch(s.Context(), app.name, types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "somebody"})
	s.must(err)
}

// restartAt returns that of the spec of a Rollout, zero if it has none.
func (s *scene) restartAt(ctx context.Context, app workload) (time.Time, error) {
	object, err := s.others(rollouts).Get(ctx, app.name, metav1.GetOptions{})
	if err != nil {
		return time.Time{}, err
	}
	text, found, err := unstructured.NestedString(object.Object, "spec", "restartAt")
	if err != nil || !found {
		return time.Time{}, err
	}
	return time.Parse(time.RFC3339, text)
}

// awaitRestartAt waits until the spec asks for a restart later than at the given time.
func (s *scene) awaitRestartAt(app workload, after time.Time) (at time.Time) {
	s.Helper()
	s.eventually("restartAt of "+app.name+" is set", func(ctx context.Context) (err error) {
		if at, err = s.restartAt(ctx, app); err == nil && !at.After(after) {
			err = fmt.Errorf("it is %v", at)
		}
		return err
	})
	return at
}

// replaceNext evicts one pod that was created before the given time and returns when another runs, or false if none is left.
func (s *scene) replaceNext(app workload, at time.Time) bool {
	s.Helper()
	pods, err := s.podsOf(s.Context(), app)
	s.must(err)
	for i := range pods {
		if pod := &pods[i]; pod.CreationTimestamp.Time.Before(at) {
			s.must(s.client.CoreV1().Pods(s.namespace).Delete(s.Context(), pod.Name, metav1.DeleteOptions{}))
			s.awaitPods(app, 2, map[types.UID]bool{pod.UID: true})
			return true
		}
	}
	return false
}

// endRestart says in the status that no pod is left.
func (s *scene) endRestart(app workload, at time.Time) {
	s.Helper()
	s.setStatus(app, `{"observedGeneration":"GENERATION","restartedAt":"`+at.Format(time.RFC3339)+`"}`)
}

// requireSpec fails the test unless nothing of the spec has changed but restartAt.
func (s *scene) requireSpec(app workload, before state, restartAt time.Time) {
	s.Helper()
	want, got := (*before.spec.(*any)).(map[string]any), (*s.now(app).spec.(*any)).(map[string]any)
	if !restartAt.IsZero() {
		want["restartAt"] = restartAt.Format(time.RFC3339)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		s.Errorf("the spec of %s (-want +got):\n%s", app.name, diff)
	}
}

func TestARolloutRestartsByRestartAt(t *testing.T) {
	s := newSceneApart(t)
	s.define(rollouts)
	s.startController(rollouts.flag(), "--restart-soak=1s") // without --evict
	s.make(settings, set("used", "v1"))
	app, before, old := s.runRollout("app", podOf(envFrom(settings)), "")
	blind, blindBefore, blindPods := s.runRollout("blind", podOf(envKey(settings, "unused")), "")
	held, heldBefore, heldPods := s.runRollout("held", podOf(envFrom(settings)), `,"com.xing.deployment-restart.hold":"freeze"`)
	s.letTimePass()

	s.edit(settings, set("used", "v2"))
	at := s.awaitRestartAt(app, time.Time{})
	s.awaitRestartEvent(app, "restarting: configmap settings changed (keys: used). Argo Rollouts replaces its pods (.spec.restartAt)")
	kind := map[string]string{"kind": rollouts.name()}
	s.setStatus(app, `{"observedGeneration":"GENERATION"}`)
	replaced := 0
	for s.replaceNext(app, at) {
		if delivered := s.metric("restarts_delivered_total", kind); replaced == 0 && delivered != 0 {
			t.Error("the restart is delivered although a pod is left")
		}
		replaced++
	}
	s.endRestart(app, at)
	s.awaitMetric("restarts_delivered_total", kind, 1)
	s.awaitEvent(held, "RestartHeld", "restart is held: the workload is held: freeze")
	s.settle()
	if fresh := s.awaitPods(app, 2, old); replaced != 2 {
		t.Errorf("%d pods were replaced, and there are %v now", replaced, fresh)
	}
	s.requireSpec(app, before, at)
	for w, before := range map[workload]state{blind: blindBefore, held: heldBefore} {
		s.requireSpec(w, before, time.Time{})
	}
	s.requireUnwritten(blind, blindBefore)
	s.requirePods(blind, blindPods)
	s.requirePods(held, heldPods)

	s.edit(settings, set("used", "v3"))
	again := s.awaitRestartAt(app, at)
	s.requireSpec(app, before, again)
}

// The record of a restart says which pods are left, so another leader asks for nothing new, and a GitOps tool loses nothing.
func TestARestartByRestartAtOutlivesItsLeaderAndWhoRemovesIt(t *testing.T) {
	s := newSceneApart(t)
	s.define(rollouts)
	flags := []string{rollouts.flag(), "--restart-soak=1s"}
	s.startController(flags...)
	s.make(settings, set("used", "v1"))
	app, before, old := s.runRollout("app", podOf(envFrom(settings)), "")
	s.letTimePass()
	s.edit(settings, set("used", "v2"))
	at := s.awaitRestartAt(app, time.Time{})
	s.setStatus(app, `{"observedGeneration":"GENERATION"}`)
	if !s.replaceNext(app, at) {
		t.Fatal("no pod is older than restartAt")
	}
	s.must(s.controller.Kill())
	s.startController(flags...)
	s.settle()
	s.requireSpec(app, before, at)

	s.patchRollout(app, `{"spec":{"restartAt":null}}`)
	s.setStatus(app, `{"observedGeneration":"GENERATION"}`)
	if again := s.awaitRestartAt(app, time.Time{}); !again.Equal(at) {
		t.Errorf("restartAt was %v, and was set again to %v", at, again)
	}
	s.patchRollout(app, `{"spec":{"restartAt":null}}`)
	s.setStatus(app, `{"observedGeneration":"GENERATION"}`)
	s.awaitRestartAt(app, time.Time{})
	s.awaitEvent(app, "RestartReverted", "another client removed .spec.restartAt before all pods had restarted")
	if !s.replaceNext(app, at) || s.replaceNext(app, at) {
		t.Error("not exactly one pod was left")
	}
	s.endRestart(app, at)
	s.eventually("no pod is left", func(context.Context) error {
		if len(s.controller.Log().Containing("no pod is left to evict", "rollouts.argoproj.io/"+s.namespace+"/app")) == 0 {
			return errors.New("the log does not say so")
		}
		return nil
	})
	s.awaitPods(app, 2, old)
	s.requireSpec(app, before, at)
}
