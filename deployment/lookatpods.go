package deployment

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/deployment/rollout"
	"kubernetes-deployment-restart-controller/internal/apiclient"
	"kubernetes-deployment-restart-controller/internal/podsight"
)

// longestSelector is how many bytes a selector may have that is part of the address of a list.
const longestSelector = 16 << 10

// lookAtPods reads the pods of a ReplicaSet page by page, and keeps only what they show of its release. It recognizes them by
// their controller: anyone may change the labels of a ReplicaSet.
func (x *executor) lookAtPods(ctx context.Context, d *rollout.Deployment, a *rollout.LookAtPods) error {
	selector, err := metav1.LabelSelectorAsSelector(d.Selector)
	if err != nil {
		return err
	}
	labels := selector.String()
	if len(labels) > longestSelector {
		labels = ""
	}
	began := time.Now()
	inTurn := func(work func()) {
		defer takeTurn(&x.looks, d.Namespace)()
		work()
	}
	err = apiclient.EachPage(ctx, apiclient.List{Client: x.core, Resource: "pods", Namespace: d.Namespace, LabelSelector: labels, InTurn: inTurn},
		func() *corev1.PodList { return &corev1.PodList{} },
		func() { *a.Found = rollout.Look{At: a.At, IsLast: a.IsLast} },
		func(page *corev1.PodList) {
			for i := range page.Items {
				pod := &page.Items[i]
				if controller := metav1.GetControllerOfNoCopy(pod); controller != nil && controller.UID == a.Target.UID {
					a.Found.Add(podsight.Of(pod, nil, a.At))
				}
			}
		})
	a.Found.Took = time.Since(began)
	return err
}
