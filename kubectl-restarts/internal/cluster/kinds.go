package cluster

import (
	"context"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/rest"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/internal/apiclient"
	"kubernetes-deployment-restart-controller/internal/custom"
)

// Kind is a kind of workload.
type Kind struct {
	Kind     names.WorkloadKind
	Resource string // the plural in the API's paths
	// client is nil for the kinds of the API group apps.
	client rest.Interface
	// reported means that the leader has named the kind, and not the caller, who may not be able to list it.
	reported bool
	// each calls take with the parts of each workload, page by page. It calls begin first, and
	// again if the list has to start again.
	each func(ctx context.Context, l apiclient.List, begin func(), take func(*workload.Parts)) error
	// get reads one workload.
	get func(ctx context.Context, client rest.Interface, resource, namespace, name string) (workload.Parts, error)
}

// Kinds are the kinds of workloads that are part of Kubernetes.
var Kinds = []Kind{
	{
		names.Deployment, "deployments", nil, false,
		eachOf(func() *appsv1.DeploymentList { return &appsv1.DeploymentList{} }, func(l *appsv1.DeploymentList) []appsv1.Deployment { return l.Items }, workload.PartsOfDeployment),
		getOf(workload.PartsOfDeployment),
	},
	{
		names.StatefulSet, "statefulsets", nil, false,
		eachOf(func() *appsv1.StatefulSetList { return &appsv1.StatefulSetList{} }, func(l *appsv1.StatefulSetList) []appsv1.StatefulSet { return l.Items }, workload.PartsOfStatefulSet),
		getOf(workload.PartsOfStatefulSet),
	},
	{
		names.DaemonSet, "daemonsets", nil, false,
		eachOf(func() *appsv1.DaemonSetList { return &appsv1.DaemonSetList{} }, func(l *appsv1.DaemonSetList) []appsv1.DaemonSet { return l.Items }, workload.PartsOfDaemonSet),
		getOf(workload.PartsOfDaemonSet),
	},
}

func eachOf[P apiclient.Page, T any](newPage func() P, items func(P) []T, parts func(*T) workload.Parts) func(context.Context, apiclient.List, func(), func(*workload.Parts)) error {
	return func(ctx context.Context, l apiclient.List, begin func(), take func(*workload.Parts)) error {
		return apiclient.EachPage(ctx, l, newPage, begin, func(page P) {
			all := items(page)
			for i := range all {
				p := parts(&all[i])
				take(&p)
			}
		})
	}
}

func getOf[T any, PT interface {
	*T
	Object
}](parts func(*T) workload.Parts) func(context.Context, rest.Interface, string, string, string) (workload.Parts, error) {
	return func(ctx context.Context, client rest.Interface, resource, namespace, name string) (workload.Parts, error) {
		object := PT(new(T))
		if err := client.Get().Namespace(namespace).Resource(resource).Name(name).Do(ctx).Into(object); err != nil {
			return workload.Parts{}, err
		}
		return parts((*T)(object)), nil
	}
}

// kinds returns all kinds of workloads that the cluster may have.
func (c *Cluster) kinds() []Kind { return slices.Concat(Kinds, c.custom) }

func (c *Cluster) clientOf(kind *Kind) rest.Interface {
	if kind.client != nil {
		return kind.client
	}
	return c.apps
}

// customKind returns a kind of workload that is not part of Kubernetes.
func customKind(kind custom.Kind, client rest.Interface, reported bool) Kind {
	return Kind{
		kind.Name(), kind.Resource, client, reported,
		eachOf(func() *custom.List { return &custom.List{} }, func(l *custom.List) []custom.Object { return l.Items }, kind.Parts),
		getOf(kind.Parts),
	}
}
