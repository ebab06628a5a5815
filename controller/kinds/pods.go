package kinds

import (
	"context"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/catalog/names"
	catalogrecord "kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/template"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/delivery"
	"kubernetes-deployment-restart-controller/controller/events"
	"kubernetes-deployment-restart-controller/internal/apiclient"
	"kubernetes-deployment-restart-controller/internal/brief"
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

// Sight returns what a workload's pods show of its last restart, which was for these configs. Of pods of an earlier
// template, and from before a restart by eviction, it only reports that they are blocked or leave.
func (r PodReader) Sight(ctx context.Context, w *workload.Workload, causes []names.ConfigRef) (delivery.Sight, error) {
	var blocked delivery.Sight
	isLeaving, worst, now := false, make(map[Origin]delivery.Sight), time.Now()
	err := r.Each(ctx, w, func() { isLeaving, blocked = false, delivery.Sight{}; clear(worst) }, func(pod *corev1.Pod, from Origin) {
		seen := delivery.SightOf(pod, causes, now)
		isLeaving = isLeaving || seen.IsLeaving
		switch {
		case seen.Condition == delivery.Blocked:
			blocked = cloned(seen)
		case seen.Condition > worst[from].Condition && !w.Record.IsEarlierPod(pod.CreationTimestamp.Time):
			worst[from] = cloned(seen)
		}
	})
	if err != nil {
		return delivery.Sight{}, err
	}
	seen := blocked
	if len(worst) > 0 {
		isPresent, err := r.Kinds.Row(w.Ref.Kind).Revisions.Present(r, ctx, w)
		if err != nil {
			return delivery.Sight{}, err
		}
		for from, one := range worst {
			if one.Condition > seen.Condition && isPresent(from) {
				seen = one
			}
		}
	}
	seen.IsLeaving = isLeaving
	return seen, nil
}

// cloned returns what was seen without the memory of the pod.
func cloned(seen delivery.Sight) delivery.Sight {
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

// OfPresentTemplate returns the workload's pods that were made from its present template.
// Pods of an earlier template are about to be replaced anyway.
func (r PodReader) OfPresentTemplate(ctx context.Context, w *workload.Workload, pods []LivePod) ([]LivePod, error) {
	isPresent, err := r.Kinds.Row(w.Ref.Kind).Revisions.Present(r, ctx, w)
	if err != nil {
		return nil, err
	}
	var present []LivePod
	for _, pod := range pods {
		if isPresent(pod.Origin) {
			present = append(present, pod)
		}
	}
	return present, nil
}

// ReducedPods returns what a decision needs to know about the pods.
func ReducedPods(pods []LivePod) []decide.Pod {
	reduced := make([]decide.Pod, 0, len(pods))
	for _, pod := range pods {
		reduced = append(reduced, pod.Pod)
	}
	return reduced
}

// presentReplicaSet returns a function that recognizes a Deployment's pods of the present
// template: the ReplicaSet that controls them was made from that template.
func (r PodReader) presentReplicaSet(ctx context.Context, w *workload.Workload) (func(Origin) bool, error) {
	present := make(map[types.UID]bool)
	err := apiclient.EachPage(ctx, apiclient.List{Client: r.Apps, Resource: "replicasets", Namespace: w.Ref.Namespace, LabelSelector: w.Selector},
		func() *appsv1.ReplicaSetList { return &appsv1.ReplicaSetList{} },
		func() { clear(present) },
		func(page *appsv1.ReplicaSetList) {
			for i := range page.Items {
				if rs := &page.Items[i]; isControlledBy(rs, w) && IsMadeFrom(w, &rs.Spec.Template) {
					present[rs.UID] = true
				}
			}
		})
	return func(pod Origin) bool { return present[pod.Controller] }, err
}

// NoEarlierRevision returns a function that recognizes the pods of a StatefulSet or DaemonSet
// that do not belong to a ControllerRevision with another template. A pod's label names the
// revision: by its name for a StatefulSet, by its hash for a DaemonSet. The revision of the
// present template may be missing, because a user deleted it, or because the garbage
// collector deleted it with a former workload of the same name. So may that of an earlier one. Then
// a pod counts unless it is from another restart than the present template.
func (r PodReader) NoEarlierRevision(ctx context.Context, w *workload.Workload) (func(Origin) bool, error) {
	isEarlier := make(map[string]bool) // of all revisions of the workload
	var unread error
	err := apiclient.EachPage(ctx, apiclient.List{Client: r.Apps, Resource: "controllerrevisions", Namespace: w.Ref.Namespace, LabelSelector: w.Selector},
		func() *appsv1.ControllerRevisionList { return &appsv1.ControllerRevisionList{} },
		func() { clear(isEarlier); unread = nil },
		func(page *appsv1.ControllerRevisionList) {
			for i := range page.Items {
				if revision := &page.Items[i]; isControlledBy(revision, w) { // others need not be readable
					other, err := isOfEarlierTemplate(w, revision)
					if unread == nil {
						unread = err
					}
					isEarlier[revision.Name], isEarlier[revision.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]] = other, other
				}
			}
		})
	delete(isEarlier, "")
	if unread != nil && r.Events != nil {
		r.Events.Event(ObjectReference(w), corev1.EventTypeWarning, events.Unread, describeUnread(unread))
	}
	return func(pod Origin) bool {
		if other, found := isEarlier[pod.Revision]; found {
			return !other
		}
		return !pod.Unrestarted
	}, err
}

// isOfEarlierTemplate reports whether a revision is known to have another template than the present one. That is not
// known of a revision that cannot be read.
func isOfEarlierTemplate(w *workload.Workload, revision *appsv1.ControllerRevision) (isEarlier bool, err error) {
	isHeavy, err := template.CheckSize(revision.Data.Raw)
	if err != nil {
		return false, fmt.Errorf("read controllerrevision %s/%s: %w", revision.Namespace, revision.Name, err)
	}
	decode(revision.Namespace, isHeavy, func() {
		var template *corev1.PodTemplateSpec
		if template, err = TemplateOf(revision); err == nil {
			isEarlier = !IsMadeFrom(w, template)
		}
	})
	return isEarlier, err
}

// TemplateOf reads the pod template out of a ControllerRevision, which holds it
// as a patch of the workload.
func TemplateOf(revision *appsv1.ControllerRevision) (*corev1.PodTemplateSpec, error) {
	var patch struct {
		Spec struct {
			Template corev1.PodTemplateSpec `json:"template"`
		} `json:"spec"`
	}
	err := template.CheckQuantities(revision.Data.Raw) // anyone may have written it, and nobody has read it
	if err == nil {
		err = utiljson.Unmarshal(revision.Data.Raw, &patch)
	}
	if err != nil {
		return nil, fmt.Errorf("read controllerrevision %s/%s: %w", revision.Namespace, revision.Name, err)
	}
	return &patch.Spec.Template, nil
}

func isControlledBy(object metav1.Object, w *workload.Workload) bool {
	controller := metav1.GetControllerOfNoCopy(object)
	return controller != nil && controller.UID == w.UID
}

// IsMadeFrom reports whether a template is the workload's present template.
func IsMadeFrom(w *workload.Workload, template *corev1.PodTemplateSpec) bool {
	return catalogrecord.RevisionFingerprint(template) == w.PodTemplate
}

// describeUnread describes that a revision of a workload cannot be read.
func describeUnread(problem error) string {
	return "whether a pod is from the present pod template cannot be told by a revision, so its pods count as if they were: " +
		brief.Text(problem.Error()) + "; delete the revision if nothing needs it"
}
