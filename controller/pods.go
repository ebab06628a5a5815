package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	appsclient "k8s.io/client-go/kubernetes/typed/apps/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"

	"kubernetes-deployment-restart-controller/catalog"
)

// podReader asks the API server for pods. It is only used for the few workloads
// about which the catalog cannot decide alone.
type podReader struct {
	apps appsclient.AppsV1Interface
	core coreclient.CoreV1Interface
}

// list returns the pods that a workload selects, of whichever template.
func (r podReader) list(ctx context.Context, w *catalog.Workload) ([]corev1.Pod, error) {
	list, err := r.core.Pods(w.Ref.Namespace).List(ctx, metav1.ListOptions{LabelSelector: w.Selector})
	if err != nil {
		return nil, fmt.Errorf("list pods of %s: %w", w.Ref, err)
	}
	return list.Items, nil
}

// ofPresentTemplate returns those of a workload's pods that were made from its
// present template. Those of an earlier one are about to be replaced anyway.
func (r podReader) ofPresentTemplate(ctx context.Context, w *catalog.Workload, pods []corev1.Pod) ([]corev1.Pod, error) {
	isPresent, err := r.presentRevision(ctx, w)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(pods), func(pod corev1.Pod) bool { return !isPresent(&pod) }), nil
}

// reducePods keeps of pods what a decision needs, and leaves out those that do
// not matter to it.
func reducePods(pods []corev1.Pod) []catalog.Pod {
	var reduced []catalog.Pod
	for i := range pods {
		if pod, matters := catalog.NewPod(&pods[i]); matters {
			reduced = append(reduced, pod)
		}
	}
	return reduced
}

// presentRevision returns a function that recognises the pods of the present
// template.
func (r podReader) presentRevision(ctx context.Context, w *catalog.Workload) (func(*corev1.Pod) bool, error) {
	if w.Ref.Kind == catalog.Deployment {
		return r.presentReplicaSet(ctx, w)
	}
	return r.presentControllerRevision(ctx, w)
}

// presentReplicaSet recognises a Deployment's pods by the ReplicaSet that owns
// them and was made from the present template.
func (r podReader) presentReplicaSet(ctx context.Context, w *catalog.Workload) (func(*corev1.Pod) bool, error) {
	list, err := r.apps.ReplicaSets(w.Ref.Namespace).List(ctx, metav1.ListOptions{LabelSelector: w.Selector})
	if err != nil {
		return nil, fmt.Errorf("list replicasets of %s: %w", w.Ref, err)
	}
	return func(pod *corev1.Pod) bool {
		owner := metav1.GetControllerOfNoCopy(pod)
		for i := range list.Items {
			if rs := &list.Items[i]; owner != nil && owner.UID == rs.UID {
				return isMadeFrom(w, rs, &rs.Spec.Template)
			}
		}
		return false
	}, nil
}

// presentControllerRevision recognises the pods of a StatefulSet or DaemonSet by
// their ControllerRevisions.
func (r podReader) presentControllerRevision(ctx context.Context, w *catalog.Workload) (func(*corev1.Pod) bool, error) {
	list, err := r.apps.ControllerRevisions(w.Ref.Namespace).List(ctx, metav1.ListOptions{LabelSelector: w.Selector})
	if err != nil {
		return nil, fmt.Errorf("list controllerrevisions of %s: %w", w.Ref, err)
	}
	return ofNoEarlierRevision(w, list.Items)
}

// ofNoEarlierRevision recognises the pods of a workload that are not of a revision with
// another template. A pod's label names the revision: its name for a StatefulSet, its hash
// for a DaemonSet. That of the present template may be missing, because somebody has deleted
// it, or the garbage collector that of a former workload of the same name. In doubt a pod
// counts.
func ofNoEarlierRevision(w *catalog.Workload, revisions []appsv1.ControllerRevision) (func(*corev1.Pod) bool, error) {
	earlier := make(map[string]bool)
	for i := range revisions {
		revision := &revisions[i]
		template, err := templateOf(revision)
		if err != nil {
			return nil, err
		}
		if metav1.IsControlledBy(revision, &metav1.ObjectMeta{UID: w.UID}) && !isMadeFrom(w, revision, template) {
			earlier[revision.Name] = true
			earlier[revision.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]] = true
		}
	}
	delete(earlier, "")
	return func(pod *corev1.Pod) bool {
		return metav1.IsControlledBy(pod, &metav1.ObjectMeta{UID: w.UID}) &&
			!earlier[pod.Labels[appsv1.ControllerRevisionHashLabelKey]]
	}, nil
}

// templateOf reads the pod template out of a ControllerRevision, which holds it
// as a patch of the workload.
func templateOf(revision *appsv1.ControllerRevision) (*corev1.PodTemplateSpec, error) {
	var patch struct {
		Spec struct {
			Template corev1.PodTemplateSpec `json:"template"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(revision.Data.Raw, &patch); err != nil {
		return nil, fmt.Errorf("read controllerrevision %s/%s: %w", revision.Namespace, revision.Name, err)
	}
	return &patch.Spec.Template, nil
}

// isMadeFrom tells whether a workload's revision has the present template.
func isMadeFrom(w *catalog.Workload, revision metav1.Object, template *corev1.PodTemplateSpec) bool {
	if !metav1.IsControlledBy(revision, &metav1.ObjectMeta{UID: w.UID}) {
		return false
	}
	fingerprint, err := catalog.RevisionFingerprint(template)
	return err == nil && fingerprint == w.PodTemplate
}
