package delivery

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Condition is how a pod is, as far as it says something about the restart that created it. Of
// several pods, the highest condition counts.
type Condition uint8

const (
	// Fine pods run, or are on the way.
	Fine Condition = iota
	// Blocked pods cannot run for a reason that has nothing to do with their configs: no node has
	// room, the image cannot be pulled, or the node is gone.
	Blocked
	// Broken pods crash, or their containers cannot be created with these configs.
	Broken
)

// manyRestarts is how often a container of a new pod has to restart to count as broken. A single
// restart can have other causes, such as a dependency that was not ready.
const manyRestarts = 2

// The reasons that the kubelet gives for containers that wait. See
// https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#container-state-waiting.
var (
	brokenReasons  = []string{"CrashLoopBackOff", "CreateContainerConfigError", "CreateContainerError", "RunContainerError"}
	blockedReasons = []string{"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError", "RegistryUnavailable"}
)

// ConditionOf judges a pod at the given time. It returns the condition, and the reason as the API
// gives it. A pod that terminates or has finished is fine, unless no kubelet ends it.
func ConditionOf(pod *corev1.Pod, now time.Time) (Condition, string) {
	switch {
	case pod.DeletionTimestamp != nil && now.Sub(pod.DeletionTimestamp.Time) > terminationDelay:
		return Blocked, "it does not terminate"
	case pod.DeletionTimestamp != nil, pod.Status.Phase == corev1.PodFailed, pod.Status.Phase == corev1.PodSucceeded:
		return Fine, ""
	}
	worst, reason := Fine, ""
	note := func(condition Condition, why string) {
		if condition > worst {
			worst, reason = condition, why
		}
	}
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range statuses {
			note(conditionOfContainer(&statuses[i]))
		}
	}
	note(placeOf(pod))
	return worst, reason
}

// terminationDelay is how long after its deletion timestamp, which includes its grace period, a pod
// may still be there.
const terminationDelay = 30 * time.Second

func conditionOfContainer(status *corev1.ContainerStatus) (Condition, string) {
	waiting := status.State.Waiting
	switch {
	case waiting != nil && slices.Contains(brokenReasons, waiting.Reason):
		return Broken, waiting.Reason
	case status.RestartCount >= manyRestarts:
		return Broken, "it restarts again and again"
	case waiting != nil && slices.Contains(blockedReasons, waiting.Reason):
		return Blocked, waiting.Reason
	}
	return Fine, ""
}

// placeOf reports whether a pod has no node, or has lost it. When a node does not answer, its pods are
// marked as not ready, and nothing else of their status changes. A pod whose readiness gates are closed
// looks the same, and says as little about its configs.
func placeOf(pod *corev1.Pod) (Condition, string) {
	scheduled, ready, containers := conditionOf(pod, corev1.PodScheduled), conditionOf(pod, corev1.PodReady), conditionOf(pod, corev1.ContainersReady)
	switch {
	case scheduled.Status == corev1.ConditionFalse:
		return Blocked, scheduled.Reason
	case ready.Status == corev1.ConditionUnknown, conditionOf(pod, corev1.DisruptionTarget).Status == corev1.ConditionTrue:
		return Blocked, "its node is gone"
	case ready.Status == corev1.ConditionFalse && containers.Status == corev1.ConditionTrue:
		return Blocked, "it is not ready, but its containers are"
	}
	return Fine, ""
}

// IsReady reports whether a pod is ready.
func IsReady(pod *corev1.Pod) bool {
	return conditionOf(pod, corev1.PodReady).Status == corev1.ConditionTrue
}

// conditionOf returns a condition of a pod, or the zero value if the pod does not have it.
func conditionOf(pod *corev1.Pod, kind corev1.PodConditionType) corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == kind {
			return pod.Status.Conditions[i]
		}
	}
	return corev1.PodCondition{}
}
