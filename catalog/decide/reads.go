package decide

import (
	"maps"
	"slices"
	"sort"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/template"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

// allReads are the times at which pods read their configs, each list sorted.
type allReads struct {
	mounted []time.Time
	started map[string][]time.Time
	// any are the times in started, of whichever container, once something asked for them.
	any []time.Time
	// spans holds the pods of which only the first and the last start are known.
	spans readSpans
}

// endOfTime is later than any time that the API can express.
var endOfTime = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)

func newAllReads(pods []Pod) *allReads {
	all := &allReads{started: make(map[string][]time.Time)}
	for i := range pods {
		if !pods[i].Mounted.IsZero() {
			all.mounted = append(all.mounted, pods[i].Mounted)
		}
		all.addStarts(pods[i].Started)
	}
	slices.SortFunc(all.mounted, time.Time.Compare)
	for _, times := range all.started {
		slices.SortFunc(times, time.Time.Compare)
	}
	all.spans.sort()
	return all
}

// addStarts adds the starts of one pod.
func (a *allReads) addStarts(starts []Start) {
	if len(starts) > 0 && starts[0].Container == anyContainer {
		a.spans = append(a.spans, readSpan{starts[0].At, starts[1].At})
		return
	}
	for _, start := range starts {
		a.started[start.Container] = append(a.started[start.Container], start.At)
	}
}

// isAny reports whether a pod read, or may have read, a config through a reference in an
// interval.
func (a *allReads) isAny(reader *template.Reference, from, until time.Time) bool {
	switch reader.Channel {
	case template.Volume:
		return isAnyIn(a.mounted, from, until)
	case template.API:
		return isAnyIn(a.ofAny(), from, until) || a.spans.meet(from, until)
	case template.Environment:
	}
	return isAnyIn(a.started[reader.Container], from, until) || a.spans.meet(from, until)
}

// ofAny returns the times at which any container started.
func (a *allReads) ofAny() []time.Time {
	if a.any == nil {
		a.any = slices.Concat(slices.Collect(maps.Values(a.started))...)
		slices.SortFunc(a.any, time.Time.Compare)
	}
	return a.any
}

// isAnyIn reports whether one of sorted times lies in an interval.
func isAnyIn(times []time.Time, from, until time.Time) bool {
	i, _ := slices.BinarySearchFunc(times, from, time.Time.Compare)
	return i < len(times) && !times[i].After(until)
}

// readSpan is an interval in which a pod read its config.
type readSpan struct{ first, last time.Time }

// readSpans are sorted by their beginnings. The end of each is the latest end so far.
type readSpans []readSpan

func (r readSpans) sort() {
	slices.SortFunc(r, func(a, b readSpan) int { return a.first.Compare(b.first) })
	for i := 1; i < len(r); i++ {
		if r[i-1].last.After(r[i].last) {
			r[i].last = r[i-1].last
		}
	}
}

// meet reports whether one of the spans overlaps an interval.
func (r readSpans) meet(from, until time.Time) bool {
	begun := sort.Search(len(r), func(i int) bool { return r[i].first.After(until) })
	return begun > 0 && !r[begun-1].last.Before(from)
}

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
	if pod.DeletionTimestamp != nil || HasFinished(pod) {
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

// HasFinished reports whether no container of a pod will run any more.
func HasFinished(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
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

// reads holds when the first of a workload's pods read their configs: its volumes, and the
// environment of each container. A pod that read a config later has not missed more edits.
type reads struct {
	mounted time.Time // zero if no pod has mounted its volumes
	started map[string]time.Time
	// any is when any of the containers started.
	any time.Time
}

func firstReads(pods []Pod) reads {
	first := reads{started: make(map[string]time.Time)}
	for _, pod := range pods {
		first.mounted = firstOf(first.mounted, pod.Mounted)
		for _, start := range pod.Started {
			first.note(start, firstOf)
		}
	}
	return first
}

// note takes in a start. The function choose chooses between two times.
func (r *reads) note(start Start, choose func(a, b time.Time) time.Time) {
	r.started[start.Container] = choose(r.started[start.Container], start.At)
	r.any = choose(r.any, start.At)
}

// of returns when the first reader read its config, and false if no reader has done so yet.
func (r reads) of(readers []template.Reference) (time.Time, bool) {
	var first time.Time
	for i := range readers {
		first = firstOf(first, r.by(&readers[i], firstOf))
	}
	return first, !first.IsZero()
}

// by returns when a reader read its config. The function choose chooses between the starts of a container
// and those of any container.
func (r *reads) by(reader *template.Reference, choose func(a, b time.Time) time.Time) time.Time {
	switch reader.Channel {
	case template.Volume:
		return r.mounted
	case template.API:
		return r.any
	case template.Environment:
	}
	return choose(r.started[reader.Container], r.started[anyContainer])
}

// firstOf returns the earlier of two times. A zero time does not count.
func firstOf(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

func isEarlier(w *workload.Workload, pod Pod) bool { return w.Record.IsEarlierPod(pod.Created) }
