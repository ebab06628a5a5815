package cluster

import (
	"context"
	"fmt"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/template"
	"kubernetes-deployment-restart-controller/internal/apiclient"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/facts"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/history"
)

// Revisions reads the revisions of a workload that are left. It leaves out those that cannot be read, and counts them.
func (c *Cluster) Revisions(ctx context.Context, w *facts.Workload) (revisions []history.Source, unread int, err error) {
	isOf := func(object metav1.Object) bool {
		controller := metav1.GetControllerOfNoCopy(object)
		return controller != nil && controller.UID == w.UID
	}
	list := apiclient.List{Client: c.apps, Resource: "replicasets", Namespace: w.Ref.Namespace, LabelSelector: w.Selector}
	begin := func() { revisions, unread = nil, 0 }
	switch w.Ref.Kind {
	case names.Deployment:
		err = apiclient.EachPage(ctx, list, func() *appsv1.ReplicaSetList { return &appsv1.ReplicaSetList{} }, begin, func(page *appsv1.ReplicaSetList) {
			for i := range page.Items {
				rs := &page.Items[i]
				if number, err := strconv.ParseInt(rs.Annotations["deployment.kubernetes.io/revision"], 10, 64); isOf(rs) && err == nil {
					revisions = append(revisions, history.Source{Number: number, Meta: &rs.ObjectMeta, Template: &rs.Spec.Template, Pods: &rs.Status.Replicas})
				} else if isOf(rs) {
					unread++
				}
			}
		})
	case names.StatefulSet, names.DaemonSet:
		list.Resource = "controllerrevisions"
		err = apiclient.EachPage(ctx, list, func() *appsv1.ControllerRevisionList { return &appsv1.ControllerRevisionList{} }, begin, func(page *appsv1.ControllerRevisionList) {
			for i := range page.Items {
				revision := &page.Items[i]
				if !isOf(revision) {
					continue
				}
				if t, err := template.OfRevision(revision.Data.Raw); err == nil {
					revisions = append(revisions, history.Source{Number: revision.Revision, Meta: &revision.ObjectMeta, Template: t})
				} else {
					unread++
				}
			}
		})
	default:
		err = fmt.Errorf("%s has no revisions that this command knows; use deployment/NAME, statefulset/NAME or daemonset/NAME", w.Ref)
	}
	return revisions, unread, err
}
