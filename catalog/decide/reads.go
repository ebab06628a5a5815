package decide

import (
	"slices"
	"sort"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/template"
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

// reads holds when pods read their configs: their volumes, and the environment of each container. It knows the first and the
// last read of each kind and, if they are kept, all of them.
type reads struct {
	keepsAll bool
	mounted  times
	started  map[string]times // by container, without anyContainer
	any      times            // when any of the containers started, of which none are kept
	// vague holds the pods of which only the first and the last start are known. Each container may have started in between.
	// firsts are the first ones.
	vague  []names.Interval
	firsts times
}

// times are when something was done.
type times struct {
	first, last time.Time // zero if it was not done
	kept        []time.Time
	vague       []names.Interval // it may also have been done at some time in each
}

func (t *times) add(at time.Time, keep bool) {
	if at.IsZero() {
		return
	}
	if t.last = names.Latest(t.last, at); t.first.IsZero() || at.Before(t.first) {
		t.first = at
	}
	if keep {
		t.kept = append(t.kept, at)
	}
}

// hasAny reports whether one of the times of [reads.allOf] is, or may be, in an interval.
func (t *times) hasAny(in names.Interval) bool {
	i, _ := slices.BinarySearchFunc(t.kept, in.From, time.Time.Compare)
	begun := sort.Search(len(t.vague), func(i int) bool { return t.vague[i].From.After(in.Until) })
	return i < len(t.kept) && in.Has(t.kept[i]) || begun > 0 && !t.vague[begun-1].Until.Before(in.From)
}

// newReads returns the reads of pods. With keepsAll, it has all of them.
func newReads(pods []Pod, keepsAll bool) *reads {
	r := &reads{keepsAll: keepsAll, started: make(map[string]times)}
	for i := range pods {
		r.add(&pods[i])
	}
	// The end of each is the latest end so far.
	slices.SortFunc(r.vague, func(a, b names.Interval) int { return a.From.Compare(b.From) })
	for i := 1; i < len(r.vague); i++ {
		r.vague[i].Until = names.Latest(r.vague[i].Until, r.vague[i-1].Until)
	}
	return r
}

func (r *reads) add(pod *Pod) {
	r.mounted.add(pod.Mounted, r.keepsAll)
	if len(pod.Started) > 0 && pod.Started[0].Container == anyContainer {
		first, last := pod.Started[0].At, pod.Started[1].At
		r.firsts.add(first, false)
		r.any.add(first, false) // only the first start is certainly not too late
		if r.keepsAll {
			r.vague = append(r.vague, names.Interval{From: first, Until: last})
		}
		return
	}
	for _, start := range pod.Started {
		r.start(start.Container, start.At)
	}
}

func (r *reads) start(container string, at time.Time) {
	of := r.started[container]
	of.add(at, r.keepsAll)
	r.started[container] = of
	r.any.add(at, false)
}

// of returns when the first and the last of some readers read their config, zero if none has.
func (r *reads) of(readers []template.Reference) (both times) {
	for i := range readers {
		for _, by := range r.by(&readers[i]) {
			both.add(by.first, false)
			both.add(by.last, false)
		}
	}
	return both
}

// by returns the times at which a reader read its config.
func (r *reads) by(reader *template.Reference) [2]times {
	switch reader.Channel {
	case template.Volume:
		return [2]times{r.mounted}
	case template.API:
		return [2]times{r.any}
	case template.Environment:
	}
	return [2]times{r.started[reader.Container], r.firsts}
}

// allOf returns all times at which some readers read their config. They must be kept.
func (r *reads) allOf(readers []template.Reference) *times {
	all := &times{kept: make([]time.Time, 0, len(readers)*len(r.mounted.kept))}
	for i := range readers {
		switch readers[i].Channel {
		case template.Volume:
			all.kept = append(all.kept, r.mounted.kept...)
			continue
		case template.API:
			for _, of := range r.started {
				all.kept = append(all.kept, of.kept...)
			}
		case template.Environment:
			all.kept = append(all.kept, r.started[readers[i].Container].kept...)
		}
		all.vague = r.vague
	}
	slices.SortFunc(all.kept, time.Time.Compare)
	return all
}

// FirstRead returns when the pod first read a config by a reference, and false if it has not done so yet.
func (p *Pod) FirstRead(by *template.Reference) (time.Time, bool) {
	first := newReads([]Pod{*p}, false).of([]template.Reference{*by}).first
	return first, !first.IsZero()
}
