package parity

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/test/harness"
)

const (
	gate      = "parity/held"
	finalizer = "parity/lingers"
)

// letGo lets that many held pods of the image be scheduled, and returns when they
// are ready and the Deployment's status says so.
func (w workload) letGo(image string, count int) {
	w.Helper()
	defer w.await(reported)
	w.eachPod("let go", image, count, isHeld, func(ctx context.Context, on *side, pod *corev1.Pod) error {
		return on.patchPod(ctx, pod, object{"spec": object{"schedulingGates": nil}})
	})
}

// letGoOneByOne lets pods go and compares after each of them.
func (w workload) letGoOneByOne(image string, count int) {
	w.Helper()
	for i := range count {
		w.letGo(image, 1)
		w.checkpoint(fmt.Sprintf("pod %d of %s is ready", i+1, image))
	}
}

// letFinish lets that many pods of the image go that are being deleted and linger.
func (w workload) letFinish(image string, count int) {
	w.Helper()
	w.eachPod("let finish", image, count, isTerminating, func(ctx context.Context, on *side, pod *corev1.Pod) error {
		return on.patchPod(ctx, pod, object{"metadata": object{"finalizers": nil}})
	})
}

// fail makes that many ready pods of the image lose their readiness.
func (w workload) fail(image string, count int) {
	w.Helper()
	w.setReady(image, count, isReady, corev1.ConditionFalse)
}

// recover makes that many pods of the image ready again that have lost it.
func (w workload) recover(image string, count int) {
	w.Helper()
	w.setReady(image, count, hasFailed, corev1.ConditionTrue)
}

func (w workload) setReady(image string, count int, which func(*corev1.Pod) bool, status corev1.ConditionStatus) {
	w.Helper()
	w.eachPod("set Ready="+string(status)+" of", image, count, which, func(ctx context.Context, on *side, pod *corev1.Pod) error {
		changed := pod.DeepCopy()
		condition := readyCondition(changed)
		condition.Status, condition.LastTransitionTime = status, metav1.Now()
		_, err := on.client.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, changed, metav1.UpdateOptions{})
		return err
	})
}

// end makes that many running pods of the image come to their end in the phase.
func (w workload) end(image string, count int, phase corev1.PodPhase) {
	w.Helper()
	w.eachPod("end", image, count, isRunning, func(ctx context.Context, on *side, pod *corev1.Pod) error {
		return on.patchPod(ctx, pod, object{"status": object{"phase": phase}}, "status")
	})
}

type object = map[string]any

// eachPod does something to the first pods of the image that are suitable, in the
// order of their creation. It waits until there are enough of them.
func (w workload) eachPod(what, image string, count int, suits func(*corev1.Pod) bool, do func(context.Context, *side, *corev1.Pod) error) {
	w.Helper()
	w.both(fmt.Sprintf("%s %d pods of %s", what, count, image), func(ctx context.Context, on *side) error {
		var chosen []*corev1.Pod
		err := harness.Eventually(ctx, waitLimit, func(ctx context.Context) (err error) {
			chosen, err = on.choosePods(ctx, w, image, count, suits)
			return err
		})
		if err != nil {
			return err
		}
		for _, pod := range chosen {
			if err := do(ctx, on, pod); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *side) choosePods(ctx context.Context, w workload, image string, count int, suits func(*corev1.Pod) bool) ([]*corev1.Pod, error) {
	pods, err := s.client.CoreV1().Pods(w.namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=" + w.app})
	if err != nil {
		return nil, err
	}
	suitable := slices.DeleteFunc(pointers(pods.Items), func(pod *corev1.Pod) bool {
		return pod.Spec.Containers[0].Image != image || !suits(pod)
	})
	if len(suitable) < count {
		return nil, fmt.Errorf("only %d of %d pods are suitable", len(suitable), count)
	}
	slices.SortStableFunc(suitable, func(a, b *corev1.Pod) int {
		return a.CreationTimestamp.Compare(b.CreationTimestamp.Time)
	})
	return suitable[:count], nil
}

func isHeld(pod *corev1.Pod) bool {
	return len(pod.Spec.SchedulingGates) > 0 && pod.DeletionTimestamp == nil
}

func isTerminating(pod *corev1.Pod) bool { return pod.DeletionTimestamp != nil }

func isRunning(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp == nil
}

func isReady(pod *corev1.Pod) bool {
	condition := readyCondition(pod)
	return condition != nil && condition.Status == corev1.ConditionTrue && isRunning(pod)
}

func hasFailed(pod *corev1.Pod) bool {
	condition := readyCondition(pod)
	return condition != nil && condition.Status == corev1.ConditionFalse && isRunning(pod)
}

func readyCondition(pod *corev1.Pod) *corev1.PodCondition {
	i := slices.IndexFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady })
	if i < 0 {
		return nil
	}
	return &pod.Status.Conditions[i]
}
