package test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

const methodAnnotation = "com.xing.deployment-restart.method"

// The workloads of these tests restart by eviction. Each has three pods.

func evictedDeployment(d *appsv1.Deployment) {
	d.Annotations[methodAnnotation], d.Spec.Replicas = "evict", new(int32(3))
}

func evictedOnDelete(st *appsv1.StatefulSet) {
	st.Annotations[methodAnnotation], st.Spec.Replicas = "evict", new(int32(3))
	st.Spec.UpdateStrategy.Type = appsv1.OnDeleteStatefulSetStrategyType
}

// evicting starts a controller and a workload, whose pods are then clearly older than any later record.
func (s *scene) evicting(run func(*scene, corev1.PodSpec) workload) (app workload, before state, old map[types.UID]bool) {
	s.Helper()
	s.startController("--evict", "--restart-soak=2s")
	s.make(settings, set("used", "v1"))
	app = run(s, podOf(envFrom(settings)))
	s.awaitRollout(app)
	before, old = s.awaitRecorded(app), s.awaitPods(app, 3, nil)
	s.letTimePass()
	return app, before, old
}

func TestARestartByEvictionLeavesThePodTemplateAlone(t *testing.T) {
	t.Parallel()
	for kind, run := range map[string]func(*scene, corev1.PodSpec) workload{
		"of a Deployment":            func(s *scene, pod corev1.PodSpec) workload { return s.run("app", pod, evictedDeployment) },
		"of a StatefulSet, OnDelete": func(s *scene, pod corev1.PodSpec) workload { return s.runStateful("app", pod, evictedOnDelete) },
		"of a DaemonSet": func(s *scene, pod corev1.PodSpec) workload {
			return s.runDaemons("app", pod, func(d *appsv1.DaemonSet) { d.Annotations[methodAnnotation] = "evict" })
		},
	} {
		t.Run(kind, func(t *testing.T) {
			s := newSceneApart(t)
			app, before, old := s.evicting(run)
			other := s.run("other", podOf(envKey(settings, "unused")), evictedDeployment)
			otherBefore, others := s.awaitRecorded(other), s.awaitPods(other, 3, nil)

			s.edit(settings, set("used", "v2"))
			fresh := s.awaitPods(app, 3, old)
			s.awaitMetric("restarts_delivered_total", map[string]string{"kind": app.kind}, 1)
			s.settle()
			s.requireWrites(app, before, 0, 1)
			if st := s.now(app); len(st.template.Annotations) > 0 {
				t.Errorf("the pod template has the annotations %v", st.template.Annotations)
			}
			s.requirePods(app, fresh)
			s.requireWrites(other, otherBefore, 0, 0)
			s.requirePods(other, others)
			s.awaitMetric("evictions_total", nil, 3)
		})
	}
}

// requirePods fails the test unless a workload has exactly these pods.
func (s *scene) requirePods(w workload, want map[types.UID]bool) {
	s.Helper()
	pods, err := s.podsOf(s.Context(), w)
	s.must(err)
	for _, pod := range pods {
		if !want[pod.UID] {
			s.Errorf("pod %s is another one", pod.Name)
		}
	}
	if len(pods) != len(want) {
		s.Errorf("%s has %d pods, want %d", w.name, len(pods), len(want))
	}
}

func TestEvictionsWaitForAPodDisruptionBudget(t *testing.T) {
	s := newSceneApart(t)
	app, _, old := s.evicting(func(s *scene, pod corev1.PodSpec) workload { return s.run("app", pod, evictedDeployment) })
	budgets := s.client.PolicyV1().PodDisruptionBudgets(s.namespace)
	_, err := budgets.Create(t.Context(), &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "never"},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: selector("app"), MaxUnavailable: new(intstr.FromInt32(0))},
	}, metav1.CreateOptions{})
	s.must(err)
	s.eventually("the budget counts the pods", func(ctx context.Context) error {
		budget, err := budgets.Get(ctx, "never", metav1.GetOptions{})
		if err == nil && budget.Status.CurrentHealthy < 3 {
			err = fmt.Errorf("it counts %d", budget.Status.CurrentHealthy)
		}
		return err
	})

	s.edit(settings, set("used", "v2"))
	s.awaitRestartEvent(app, "restarting: configmap settings changed (keys: used). Its pods are evicted one after the other")
	event := s.awaitEvent(app, "PodNotEvicted", "cannot evict a pod, trying again: ")
	if !strings.Contains(event.Message, "The disruption budget never needs 3 healthy pods and has 3 currently") {
		t.Errorf("the Event says %q", event.Message)
	}
	s.awaitMetric("evicting_workloads", map[string]string{"reason": "disruption-budget"}, 1)
	s.requirePods(app, old)

	// A second budget is one too many for the API.
	_, err = budgets.Create(t.Context(), &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "second"},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: selector("app"), MaxUnavailable: new(intstr.FromInt32(1))},
	}, metav1.CreateOptions{})
	s.must(err)
	s.eventually("the log says that there are several budgets", func(context.Context) error {
		if len(s.controller.Log().Containing("more than one PodDisruptionBudget")) == 0 {
			return errors.New("it does not")
		}
		return nil
	})
	s.must(budgets.Delete(t.Context(), "never", metav1.DeleteOptions{}))
	s.awaitPods(app, 3, old)
}

func TestATemplateThatWaitsIsNotRolledOutByEvictions(t *testing.T) {
	s := newSceneApart(t)
	app, before, old := s.evicting(func(s *scene, pod corev1.PodSpec) workload { return s.runStateful("app", pod, evictedOnDelete) })
	s.patch(app, `{"spec":{"template":{"metadata":{"annotations":{"release":"2"}}}}}`)
	s.await("is recorded with the new template", app, func(st state) error {
		if st.Annotations[basisAnnotation] == before.Annotations[basisAnnotation] {
			return errors.New("it has the same record")
		}
		return nil
	})
	s.edit(settings, set("used", "v2"))
	event := s.awaitEvent(app, "RestartHeld", "restart is held: its pod template has changed and is not rolled out everywhere")
	if !strings.Contains(event.Message, "configmap settings changed (keys: used)") {
		t.Errorf("the Event says %q", event.Message)
	}
	s.settle()
	s.requirePods(app, old)

	// Its owner rolls it out.
	s.must(s.client.CoreV1().Pods(s.namespace).DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "app=app"}))
	s.awaitMetric("restarts_delivered_total", map[string]string{"kind": app.kind}, 1)
}

func TestAnotherLeaderGoesOnWithARestartByEviction(t *testing.T) {
	s := newSceneApart(t)
	app, before, old := s.evicting(func(s *scene, pod corev1.PodSpec) workload {
		return s.run("app", pod, evictedDeployment, func(d *appsv1.Deployment) { d.Spec.MinReadySeconds = 3 })
	})
	s.edit(settings, set("used", "v2"))
	s.eventually("a pod is evicted", func(ctx context.Context) error {
		pods, err := s.podsOf(ctx, app)
		for _, pod := range pods {
			if !old[pod.UID] {
				return err
			}
		}
		return errors.Join(err, errors.New("there are only old ones"))
	})
	s.must(s.controller.Kill())
	s.startController("--evict", "--restart-soak=2s")
	fresh := s.awaitPods(app, 3, old)
	s.awaitMetric("restarts_delivered_total", map[string]string{"kind": app.kind}, 1)
	s.requireWrites(app, before, 0, 1)
	s.requirePods(app, fresh)
	if evicted := s.metric("evictions_total", nil); evicted > 2 {
		t.Errorf("%v further pods were evicted", evicted)
	}
}

func TestAPodThatCrashesStopsARestartByEviction(t *testing.T) {
	s := newSceneApart(t)
	app, _, old := s.evicting(func(s *scene, pod corev1.PodSpec) workload { return s.run("app", pod, evictedDeployment) })
	s.crashAtStart(func(pod *corev1.Pod) bool { return pod.Labels["app"] == app.name && !old[pod.UID] })
	s.edit(settings, set("used", "bad"))
	s.awaitMetric("restarts_failed_total", map[string]string{"kind": app.kind}, 1)
	s.awaitEvent(app, "RestartNotDelivered", "failed")
	s.settle()
	pods, err := s.podsOf(t.Context(), app)
	s.must(err)
	kept := 0
	for _, pod := range pods {
		if old[pod.UID] {
			kept++
		}
	}
	if kept != 2 {
		t.Errorf("%d pods run with the old content, want 2", kept)
	}
}

// Whoever asks for evictions does not want the pod template to be written.
func TestWithoutTheFlagARestartByEvictionIsHeld(t *testing.T) {
	s := newSceneApart(t)
	s.startController()
	s.make(settings, set("used", "v1"))
	app := s.run("app", podOf(envFrom(settings)), evictedDeployment)
	before := s.awaitRecorded(app)
	old := s.awaitPods(app, 3, nil)
	s.awaitEvent(app, "InvalidAnnotation", "annotation com.xing.deployment-restart.method: the controller runs without the flag --evict")
	s.edit(settings, set("used", "v2"))
	s.awaitEvent(app, "RestartHeld", "restart is held: it restarts by eviction, for which the controller needs the flag --evict")
	s.settle()
	s.requirePods(app, old)
	if st := s.now(app); st.restartedAt() != before.restartedAt() {
		t.Error("the pod template was written")
	}
}

func TestTheAdmissionPolicyLimitsEvictions(t *testing.T) {
	s := newScene(t)
	app := s.run("app", podOf(), func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(3)) })
	s.awaitPods(app, 3, nil)
	pods, err := s.podsOf(t.Context(), app)
	s.must(err)
	pod := pods[0]
	evictions := s.asController().PolicyV1().Evictions(s.namespace)
	evict := func(options *metav1.DeleteOptions) error {
		return evictions.Evict(t.Context(), &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: s.namespace}, DeleteOptions: options})
	}
	byUID := &metav1.Preconditions{UID: &pod.UID}
	s.eventually("the policy is in force", func(context.Context) error {
		if err := evict(&metav1.DeleteOptions{Preconditions: byUID, DryRun: []string{metav1.DryRunAll}}); !isFenced(err) {
			return fmt.Errorf("the answer is %w", errors.Join(err, errors.New("no denial")))
		}
		return nil
	})
	for name, options := range map[string]*metav1.DeleteOptions{
		"a pod without its UID":     nil,
		"a shortened grace period":  {Preconditions: byUID, GracePeriodSeconds: new(int64(0))},
		"a pod whose children stay": {Preconditions: byUID, PropagationPolicy: new(metav1.DeletePropagationOrphan)},
		"only the version of a pod": {Preconditions: &metav1.Preconditions{ResourceVersion: &pod.ResourceVersion}},
		"a UID of another pod":      {Preconditions: &metav1.Preconditions{UID: new(types.UID("other"))}},
	} {
		if err := evict(options); err == nil || name != "a UID of another pod" && !isFenced(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	s.must(evict(&metav1.DeleteOptions{Preconditions: byUID}))
}
