package delivery

import (
	"slices"

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

// ConditionOf judges a pod of the present template. It returns the condition, and the reason as the
// API gives it.
func ConditionOf(pod *corev1.Pod) (Condition, string) {
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

// placeOf reports whether a pod has no node, or has lost it.
func placeOf(pod *corev1.Pod) (Condition, string) {
	for i := range pod.Status.Conditions {
		switch c := &pod.Status.Conditions[i]; {
		case c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse:
			return Blocked, c.Reason
		case c.Type == corev1.PodReady && c.Status == corev1.ConditionUnknown, c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue:
			return Blocked, "its node is gone"
		}
	}
	return Fine, ""
}
