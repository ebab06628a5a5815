package kinds

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/delivery"
	"kubernetes-deployment-restart-controller/internal/apiclient"
)

// Left returns what is left to do for the restart by eviction of a workload. Only the pods of the workload count, or
// of its revisions if these control its pods; others may have the same labels.
func (r PodReader) Left(ctx context.Context, w *workload.Workload) (*delivery.Left, error) {
	isOwn, err := r.own(ctx, w)
	if err != nil {
		return nil, err
	}
	var left *delivery.Left
	err = r.Each(ctx, w, func() { left = delivery.LeftOf(w) }, func(pod *corev1.Pod, from Origin) {
		if isOwn(from) {
			left.Add(pod)
		}
	})
	return left, err
}

// own returns a function that recognizes the pods that a workload or its revisions control.
func (r PodReader) own(ctx context.Context, w *workload.Workload) (func(Origin) bool, error) {
	kind := r.Kinds.Row(w.Ref.Kind).Revisions
	if !kind.ownPods || kind.resource == "" {
		return func(pod Origin) bool { return pod.Controller == w.UID }, nil
	}
	own := make(map[types.UID]bool)
	revisions := apiclient.List{Client: r.Apps, Resource: kind.resource, Namespace: w.Ref.Namespace, LabelSelector: w.Selector}
	err := apiclient.EachMeta(ctx, revisions, func() { clear(own) }, func(revision *metav1.ObjectMeta) {
		if isControlledBy(revision, w) {
			own[types.UID(strings.Clone(string(revision.UID)))] = true
		}
	})
	return func(pod Origin) bool { return own[pod.Controller] }, err
}
