package decide

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/internal/podsight"
)

// Pod is what a decision needs to know about a pod: when its containers read their configs.
type Pod struct {
	// UID is empty unless the workload reads configs of which each pod has its own content; see [workload.Workload.HasMounts].
	UID types.UID
	// Created is when the pod was created, in whole seconds.
	Created time.Time
	// Mounted is when the pod's volumes were mounted. It is zero if they are not mounted yet, or
	// will be mounted again before anything starts.
	Mounted time.Time
	// Started is when the running containers and the finished init containers started. A
	// container that failed or waits for its first or next start will read its configs when it
	// starts, and is absent. With more than maxStarts containers, Started holds only the first
	// and the last start, both for anyContainer.
	Started []Start
}

// maxStarts is the highest number of containers of a pod whose starts are kept. A pod rarely has
// more than a few containers that read configs from their environment, but a workload may have
// thousands of pods with a thousand containers each.
const maxStarts = 8

// anyContainer stands for each container of a pod with too many containers. Each may have
// started at any time between the first and the last start, which at worst causes a needless
// restart.
const anyContainer = ""

// Start is when a container started.
type Start struct {
	Container string
	At        time.Time
}

// NewPod reduces a pod. It keeps only the containers with the given names, which must be sorted;
// see [workload.Workload.Readers]. It returns false for a pod that does not matter because it
// is terminating or has finished. It does not keep the pod itself.
func NewPod(pod *corev1.Pod, containers []string) (Pod, bool) {
	if pod.DeletionTimestamp != nil || podsight.HasFinished(pod) {
		return Pod{}, false
	}
	p := Pod{Created: pod.CreationTimestamp.Time}
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

// startOf returns when a container started. The kubelet reports no time for an init container
// that the runtime has forgotten, but the container cannot have started before the kubelet
// accepted the pod.
func startOf(pod *corev1.Pod, at metav1.Time) time.Time {
	switch {
	case !at.IsZero():
		return at.Time
	case pod.Status.StartTime != nil:
		return pod.Status.StartTime.Time
	}
	return pod.CreationTimestamp.Time
}

// firstAndLast returns the first and the last of the starts, as starts of anyContainer.
func firstAndLast(starts []Start) []Start {
	byTime := func(a, b Start) int { return a.At.Compare(b.At) }
	first, last := slices.MinFunc(starts, byTime), slices.MaxFunc(starts, byTime)
	return []Start{{anyContainer, first.At}, {anyContainer, last.At}}
}

// addStart adds the start of a container if it is one of the given containers.
func (p *Pod) addStart(container string, at time.Time, containers []string) {
	if name, found := findContainer(containers, container); found {
		p.Started = append(p.Started, Start{name, at})
	}
}

// findContainer returns the name under which the starts of a container are kept, which is not the pod's
// own copy. It returns false if they are not kept.
func findContainer(containers []string, name string) (string, bool) {
	if i, found := slices.BinarySearch(containers, name); found {
		return containers[i], true
	}
	return names.EveryContainer, len(containers) > 0 && containers[0] == names.EveryContainer
}

// awaitsVolumes reports whether a pod has not started any container because its volumes are not
// mounted, or its sandbox, which comes after them, does not exist. The kubelet mounts the
// volumes again with each attempt.
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

func isEarlier(w *workload.Workload, pod Pod) bool { return w.Record.IsEarlierPod(pod.Created) }
