package catalog

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Pod is what a decision needs to know of a pod: when its containers read
// their configs.
type Pod struct {
	// Mounted is when the pod's volumes were put in place, zero if they are not
	// yet, or will be anew before anything starts.
	Mounted time.Time
	// Started is when each container started: one that runs, or an init
	// container that finished. One that waits, for the first or another start,
	// or failed, will read its configs at the next start, and is absent.
	Started map[string]time.Time
}

// NewPod reduces a pod. It returns false for one that does not matter, because
// it is on its way out or has finished.
func NewPod(pod *corev1.Pod) (Pod, bool) {
	if pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded {
		return Pod{}, false
	}
	started := make(map[string]time.Time)
	for _, status := range pod.Status.InitContainerStatuses {
		if t := status.State.Terminated; t != nil && t.ExitCode == 0 {
			started[status.Name] = t.StartedAt.Time
		}
	}
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for _, status := range statuses {
			if r := status.State.Running; r != nil {
				started[status.Name] = r.StartedAt.Time
			}
		}
	}
	p := Pod{Started: started}
	if pod.Status.StartTime != nil && !awaitsVolumes(pod) {
		p.Mounted = pod.Status.StartTime.Time
	}
	return p, true
}

// awaitsVolumes tells whether a pod has not started anything because its
// volumes, or its sandbox that comes after them, are not there. The kubelet
// puts the volumes in place anew with each attempt.
func awaitsVolumes(pod *corev1.Pod) bool {
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for _, status := range statuses {
			if status.State.Waiting == nil || status.LastTerminationState.Terminated != nil {
				return false
			}
		}
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReadyToStartContainers {
			return condition.Status == corev1.ConditionFalse
		}
	}
	return false
}

// readAt returns when the pod read a config through a reference, and false if
// it has not yet.
func (p Pod) readAt(reference Reference) (time.Time, bool) {
	at := p.Mounted
	if reference.Channel == Environment {
		at = p.Started[reference.Container]
	}
	return at, !at.IsZero()
}
