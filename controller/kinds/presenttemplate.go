package kinds

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	catalogrecord "kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/template"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/events"
	"kubernetes-deployment-restart-controller/internal/apiclient"
	"kubernetes-deployment-restart-controller/internal/brief"
)

// OfPresentTemplate returns the workload's pods that were made from its present template.
// Pods of an earlier template are about to be replaced anyway, unless a Deployment has fallen back: then all its pods count.
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

// presentReplicaSet returns a function that recognizes a Deployment's pods of the present
// template: the ReplicaSet that controls them was made from that template.
func (r PodReader) presentReplicaSet(ctx context.Context, w *workload.Workload) (func(Origin) bool, error) {
	present := make(map[types.UID]bool)
	err := apiclient.EachPage(ctx, apiclient.List{Client: r.Apps, Resource: "replicasets", Namespace: w.Ref.Namespace, LabelSelector: w.Selector},
		func() *appsv1.ReplicaSetList { return &appsv1.ReplicaSetList{} },
		func() { clear(present) },
		func(page *appsv1.ReplicaSetList) {
			for i := range page.Items {
				if rs := &page.Items[i]; isControlledBy(rs, w) && (w.IsFallenBack() || IsMadeFrom(w, &rs.Spec.Template)) {
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

// TemplateOf reads the pod template out of a ControllerRevision.
func TemplateOf(revision *appsv1.ControllerRevision) (*corev1.PodTemplateSpec, error) {
	t, err := template.OfRevision(revision.Data.Raw) // anyone may have written it, and nobody has read it
	if err != nil {
		return nil, fmt.Errorf("read controllerrevision %s/%s: %w", revision.Namespace, revision.Name, err)
	}
	return t, nil
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
