package cluster

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/internal/apiclient"
)

// EachPod calls take with each pod that has not finished of a namespace, or of all namespaces if it is empty, page by page. It calls begin first, and again
// if the list has to start again. The error is one of k8s.io/apimachinery/pkg/api/errors.
func (c *Cluster) EachPod(ctx context.Context, namespace string, begin func(), take func(*corev1.Pod)) error {
	list := apiclient.List{Client: c.core.RESTClient(), Resource: "pods", Namespace: namespace, FieldSelector: "status.phase!=Succeeded,status.phase!=Failed"}
	return apiclient.EachPage(ctx, list, func() *corev1.PodList { return &corev1.PodList{} }, begin, func(page *corev1.PodList) {
		for i := range page.Items {
			take(&page.Items[i])
		}
	})
}

// Selected lists the names of the configs of a kind that have the labels, in a namespace or in all if it is empty.
func (c *Cluster) Selected(ctx context.Context, kind names.ConfigKind, namespace, labels string) (refs []names.ConfigRef, err error) {
	list := apiclient.List{Client: c.core.RESTClient(), Resource: kind.String() + "s", Namespace: namespace, LabelSelector: labels}
	err = apiclient.EachMeta(ctx, list, func() { refs = nil }, func(meta *metav1.ObjectMeta) {
		refs = append(refs, names.ConfigRef{Kind: kind, Namespace: meta.Namespace, Name: meta.Name})
	})
	return refs, err
}
