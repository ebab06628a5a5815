package kinds

import (
	"context"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/delivery"
	"kubernetes-deployment-restart-controller/internal/apiclient"
	"kubernetes-deployment-restart-controller/internal/podsight"
)

// PodReader reads pods from the API server. It is used only for the few workloads about which
// the catalog alone cannot decide. It reads page by page and keeps little: a workload may
// have thousands of pods, and revisions of a megabyte each.
type PodReader struct {
	Apps, Core rest.Interface
	Kinds      Custom
	Events     record.EventRecorder // nil to report nothing
}

// LivePod is what PodReader keeps of a pod that has not finished.
type LivePod struct {
	decide.Pod
	Origin
}

// Origin shows which template a pod was made from.
type Origin struct {
	Controller  types.UID
	Revision    string // the label that names its ControllerRevision, or what a custom kind has instead
	Unrestarted bool   // the pod is not from the restart that the present template is from
}

// List returns the live pods that a workload selects, whatever their template. It returns
// only pods that the workload controls or, if its revisions control its pods, pods that have
// any controller.
func (r PodReader) List(ctx context.Context, w *workload.Workload) ([]LivePod, error) {
	var pods []LivePod
	containers, hasMounts := w.Readers(), w.HasMounts()
	err := r.Each(ctx, w, func() { pods = nil }, func(pod *corev1.Pod, from Origin) {
		if reduced, isLive := decide.NewPod(pod, containers); isLive {
			if hasMounts {
				reduced.UID = pod.UID
			}
			pods = append(pods, LivePod{reduced, from})
		}
	})
	return pods, err
}

// Sight returns what a workload's pods show of its last restart. Of pods of an earlier template, and from before a restart by
// eviction, it only reports that they are blocked or leave. If the traces say since when pods count, those of any template do.
func (r PodReader) Sight(ctx context.Context, w *workload.Workload, traces delivery.Traces) (podsight.Sight, error) {
	var all sights
	now, suspects := time.Now(), suspectsOf(traces.Causes)
	reset := func() { all = sights{worst: make(map[Origin]podsight.Sight), count: make(map[Origin]podsight.Tally)} }
	reset()
	err := r.Each(ctx, w, reset, func(pod *corev1.Pod, from Origin) {
		isEarlier := w.Record.IsEarlierPod(pod.CreationTimestamp.Time) || pod.CreationTimestamp.Time.Before(traces.Since.Truncate(time.Second))
		seen := podsight.Of(pod, suspects, now)
		if traces.Counts && podsight.RunsSince(pod, now.Add(-traces.Soak)) {
			seen.Ran = 1
		}
		all.add(seen, from, isEarlier)
	})
	if err != nil || len(all.worst) == 0 && !traces.Counts {
		return all.blocked, err
	}
	isOfRestart, err := r.isOfRestart(ctx, w, traces)
	if err != nil {
		return podsight.Sight{}, err
	}
	return all.of(isOfRestart), nil
}

// suspectsOf returns what a restart for these configs may have brought. There are none if they are not all known.
func suspectsOf(causes []names.ConfigRef) podsight.Suspects {
	if len(causes) == 0 {
		return nil
	}
	return func(isSecret bool, name string) bool {
		return slices.ContainsFunc(causes, func(config names.ConfigRef) bool {
			return config.Name == name && config.Kind.IsSecret() == isSecret
		})
	}
}

// sights are what pods show, by their origin.
type sights struct {
	blocked podsight.Sight // of any pod, and whether one leaves
	worst   map[Origin]podsight.Sight
	count   map[Origin]podsight.Tally
}

func (s *sights) add(seen podsight.Sight, from Origin, isEarlier bool) {
	isLeaving := s.blocked.IsLeaving || seen.IsLeaving
	switch {
	case seen.Condition == podsight.Blocked:
		s.blocked = cloned(seen)
	case seen.Condition > s.worst[from].Condition && !isEarlier:
		s.worst[from] = cloned(seen)
	}
	if s.blocked.IsLeaving = isLeaving; !isEarlier {
		s.count[from] = s.count[from].Plus(seen.Tally)
	}
}

// of returns what the pods of some origins show.
func (s *sights) of(is func(Origin) bool) podsight.Sight {
	seen := s.blocked
	for from, one := range s.worst {
		if one.Condition > seen.Condition && is(from) {
			one.IsLeaving, seen = seen.IsLeaving, one
		}
	}
	seen.Tally = podsight.Tally{}
	for from, count := range s.count {
		if is(from) {
			seen.Tally = seen.Plus(count)
		}
	}
	return seen
}

// isOfRestart returns a function that reports whether pods of an origin say something about a restart.
func (r PodReader) isOfRestart(ctx context.Context, w *workload.Workload, traces delivery.Traces) (func(Origin) bool, error) {
	if !traces.Since.IsZero() {
		return r.own(ctx, w)
	}
	return r.Kinds.Row(w.Ref.Kind).Revisions.Present(r, ctx, w)
}

// cloned returns what was seen without the memory of the pod.
func cloned(seen podsight.Sight) podsight.Sight {
	seen.Reason, seen.Pod, seen.Container = strings.Clone(seen.Reason), strings.Clone(seen.Pod), strings.Clone(seen.Container)
	return seen
}

// Each calls a function with each pod that a workload selects, and that it controls or, if its
// revisions control its pods, that has any controller. It calls reset before it begins, and before
// it begins anew.
func (r PodReader) Each(ctx context.Context, w *workload.Workload, reset func(), take func(*corev1.Pod, Origin)) error {
	var names namePool
	kind := r.Kinds.Row(w.Ref.Kind)
	return apiclient.EachPage(ctx, apiclient.List{Client: r.Core, Resource: "pods", Namespace: w.Ref.Namespace, LabelSelector: w.Selector},
		func() *corev1.PodList { return &corev1.PodList{} },
		func() { names = make(namePool); reset() },
		func(page *corev1.PodList) {
			for i := range page.Items {
				pod := &page.Items[i]
				controller := metav1.GetControllerOfNoCopy(pod)
				if controller != nil && (kind.Revisions.ownPods || controller.UID == w.UID) {
					take(pod, kind.originOf(w, pod, controller.UID, names))
				}
			}
		})
}

// originOf returns the origin of a pod of a workload.
func (k *WorkloadKind) originOf(w *workload.Workload, pod *corev1.Pod, controller types.UID, names namePool) Origin {
	label := appsv1.ControllerRevisionHashLabelKey
	if k.Custom != nil {
		label = k.Custom.RevisionLabel()
	}
	return Origin{types.UID(names.one(string(controller))), names.one(pod.Labels[label]), annotation.RestartTimestamp(pod.Annotations) != w.Timestamp}
}

// namePool keeps one copy of equal strings.
type namePool map[string]string

func (p namePool) one(name string) string {
	if known, found := p[name]; found {
		return known
	}
	p[name] = name
	return name
}

// ReducedPods returns what a decision needs to know about the pods.
func ReducedPods(pods []LivePod) []decide.Pod {
	reduced := make([]decide.Pod, 0, len(pods))
	for _, pod := range pods {
		reduced = append(reduced, pod.Pod)
	}
	return reduced
}
