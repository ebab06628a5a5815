package catalog

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Pod is what a decision needs to know of a pod: when its containers read
// their configs.
type Pod struct {
	// Mounted is when the pod's volumes were put in place, zero if they are not
	// yet, or will be anew before anything starts.
	Mounted time.Time
	// Started is when containers started: those that run, and init containers that
	// finished. One that waits, for the first or another start, or failed, will read its
	// configs at the next start, and is absent. Of more than maxStarts containers these are
	// only the first and the last start, of anyContainer.
	Started []Start
}

// maxStarts is of how many containers of a pod the starts are kept. More than a few that read
// their environment are rare, and a workload may have thousands of pods with a thousand each.
const maxStarts = 8

// anyContainer stands for each container of a pod that has too many. Each may have started at
// any time from the first to the last start, which can only cause a restart too many.
const anyContainer = ""

// Start is when a container started.
type Start struct {
	Container string
	At        time.Time
}

// NewPod reduces a pod. Of its containers it keeps those of the given names, which must
// be sorted: see [Workload.EnvironmentReaders]. It returns false for a pod that does not
// matter, because it is on its way out or has finished. The pod itself is not kept.
func NewPod(pod *corev1.Pod, containers []string) (Pod, bool) {
	if pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded {
		return Pod{}, false
	}
	p := Pod{}
	for i := range pod.Status.InitContainerStatuses {
		status := &pod.Status.InitContainerStatuses[i]
		if t := status.State.Terminated; t != nil && t.ExitCode == 0 {
			p.addStart(status.Name, startOf(pod, t.StartedAt), containers)
		}
	}
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range statuses {
			if r := statuses[i].State.Running; r != nil {
				p.addStart(statuses[i].Name, startOf(pod, r.StartedAt), containers)
			}
		}
	}
	if pod.Status.StartTime != nil && !awaitsVolumes(pod) {
		p.Mounted = pod.Status.StartTime.Time
	}
	if len(p.Started) > maxStarts {
		p.Started = firstAndLast(p.Started)
	}
	return p, true
}

// startOf returns when a container started. Of an init container that the runtime has
// forgotten the kubelet reports no time; it has not started before the kubelet accepted the pod.
func startOf(pod *corev1.Pod, at metav1.Time) time.Time {
	switch {
	case !at.IsZero():
		return at.Time
	case pod.Status.StartTime != nil:
		return pod.Status.StartTime.Time
	}
	return pod.CreationTimestamp.Time
}

// firstAndLast returns the first and the last of some starts, as those of any container.
func firstAndLast(starts []Start) []Start {
	byTime := func(a, b Start) int { return a.At.Compare(b.At) }
	first, last := slices.MinFunc(starts, byTime), slices.MaxFunc(starts, byTime)
	return []Start{{anyContainer, first.At}, {anyContainer, last.At}}
}

// addStart adds the start of a container if it is one of those that are asked for.
func (p *Pod) addStart(container string, at time.Time, containers []string) {
	if i, found := slices.BinarySearch(containers, container); found {
		p.Started = append(p.Started, Start{containers[i], at}) // not the pod's own copy of the name
	}
}

// awaitsVolumes reports whether a pod has not started anything because its
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

// reads are when the first of a workload's pods read their configs: its volumes, and the
// environment of each container. One that has read a config later has missed no more of it.
type reads struct {
	mounted time.Time // zero if none has
	started map[string]time.Time
}

func firstReads(pods []Pod) reads {
	first := reads{started: make(map[string]time.Time)}
	for _, pod := range pods {
		first.mounted = firstOf(first.mounted, pod.Mounted)
		for _, start := range pod.Started {
			first.started[start.Container] = firstOf(first.started[start.Container], start.At)
		}
	}
	return first
}

// of returns when the first reader read its config, and false if none has yet.
func (r reads) of(readers []Reference) (time.Time, bool) {
	var first time.Time
	for i := range readers {
		at := r.mounted
		if readers[i].Channel == Environment {
			at = firstOf(r.started[readers[i].Container], r.started[anyContainer])
		}
		first = firstOf(first, at)
	}
	return first, !first.IsZero()
}

// firstOf returns the earlier of two times. One that is zero does not count.
func firstOf(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
