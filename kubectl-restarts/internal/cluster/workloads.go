package cluster

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/internal/apiclient"
	"kubernetes-deployment-restart-controller/internal/custom"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/facts"
)

// Kind is a kind of workload.
type Kind struct {
	Kind     catalog.WorkloadKind
	Resource string // the plural in the API's paths
	// client is nil for the kinds of the API group apps.
	client rest.Interface
	// reported means that the leader has named the kind, and not the caller, who may not be able to list it.
	reported bool
	// each calls take with the parts of each workload, page by page. It calls begin first, and
	// again if the list has to start again.
	each func(ctx context.Context, l apiclient.List, begin func(), take func(*catalog.Parts)) error
	// get reads one workload.
	get func(ctx context.Context, client rest.Interface, resource, namespace, name string) (catalog.Parts, error)
}

// Kinds are the kinds of workloads that are part of Kubernetes.
var Kinds = []Kind{
	{
		catalog.Deployment, "deployments", nil, false,
		eachOf(func() *appsv1.DeploymentList { return &appsv1.DeploymentList{} }, func(l *appsv1.DeploymentList) []appsv1.Deployment { return l.Items }, catalog.PartsOfDeployment),
		getOf(catalog.PartsOfDeployment),
	},
	{
		catalog.StatefulSet, "statefulsets", nil, false,
		eachOf(func() *appsv1.StatefulSetList { return &appsv1.StatefulSetList{} }, func(l *appsv1.StatefulSetList) []appsv1.StatefulSet { return l.Items }, catalog.PartsOfStatefulSet),
		getOf(catalog.PartsOfStatefulSet),
	},
	{
		catalog.DaemonSet, "daemonsets", nil, false,
		eachOf(func() *appsv1.DaemonSetList { return &appsv1.DaemonSetList{} }, func(l *appsv1.DaemonSetList) []appsv1.DaemonSet { return l.Items }, catalog.PartsOfDaemonSet),
		getOf(catalog.PartsOfDaemonSet),
	},
}

func eachOf[P apiclient.Page, T any](newPage func() P, items func(P) []T, parts func(*T) catalog.Parts) func(context.Context, apiclient.List, func(), func(*catalog.Parts)) error {
	return func(ctx context.Context, l apiclient.List, begin func(), take func(*catalog.Parts)) error {
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
}](parts func(*T) catalog.Parts) func(context.Context, rest.Interface, string, string, string) (catalog.Parts, error) {
	return func(ctx context.Context, client rest.Interface, resource, namespace, name string) (catalog.Parts, error) {
		object := PT(new(T))
		if err := client.Get().Namespace(namespace).Resource(resource).Name(name).Do(ctx).Into(object); err != nil {
			return catalog.Parts{}, err
		}
		return parts((*T)(object)), nil
	}
}

// Workloads lists all workloads of a namespace, or of all namespaces if it is empty; [Cluster.Enable] sets which are
// enabled. It leaves out those that only the API server can read, such as ones with an invalid selector. The errors of kinds that the leader
// has named are returned beside the workloads of the others.
func (c *Cluster) Workloads(ctx context.Context, namespace string) (all []facts.Workload, unlisted []error, err error) {
	noted, err := c.readNoted(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, kind := range c.kinds() {
		former := len(all)
		list := apiclient.List{Client: c.clientOf(&kind), Resource: kind.Resource, Namespace: namespace}
		err := kind.each(ctx, list, func() { all = all[:former] }, func(parts *catalog.Parts) {
			if w, err := newWorkload(noted.rules, kind.Kind, parts); err == nil {
				all = append(all, w)
			}
		})
		switch {
		case apierrors.IsNotFound(err) && kind.client != nil: // it is not installed
		case err != nil && kind.reported && ctx.Err() == nil:
			all = all[:former]
			unlisted = append(unlisted, fmt.Errorf("%s: %w", kind.Kind, err))
		case err != nil:
			return nil, nil, err
		}
	}
	return all, unlisted, nil
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

// Workload reads one workload; [Cluster.Enable] sets whether it is enabled. The error is one of k8s.io/apimachinery/pkg/api/errors.
func (c *Cluster) Workload(ctx context.Context, ref catalog.WorkloadRef) (facts.Workload, error) {
	for _, kind := range c.kinds() {
		if kind.Kind == ref.Kind {
			parts, err := kind.get(ctx, c.clientOf(&kind), kind.Resource, ref.Namespace, ref.Name)
			if err != nil {
				return facts.Workload{}, err
			}
			noted, err := c.readNoted(ctx)
			if err != nil {
				return facts.Workload{}, err
			}
			return newWorkload(noted.rules, kind.Kind, &parts)
		}
	}
	return facts.Workload{}, fmt.Errorf("%s is not a kind of workload", ref.Kind)
}

func newWorkload(rules []facts.OptInRules, kind catalog.WorkloadKind, written *catalog.Parts) (facts.Workload, error) {
	applying := facts.RulesFor(rules, written.Meta.Namespace)
	parts := applying.Understand(kind, *written)
	found := facts.Workload{
		Choice: catalog.ChoiceOf(parts.Meta), Tools: parts.Understood.By, Mistakes: applying.WorkloadMistakes(written), Unsupported: parts.Problem,
	}
	if parts.Problem == "" {
		w, err := catalog.NewWorkload(kind, &parts)
		if err != nil {
			return facts.Workload{}, err
		}
		found.Workload, found.Cause = w, parts.Template.Annotations[catalog.CauseAnnotation]
	} else {
		found.Ref, found.UID = catalog.WorkloadRef{Kind: kind, Namespace: parts.Meta.Namespace, Name: parts.Meta.Name}, parts.Meta.UID
	}
	if found.Policy != nil && found.Policy.Hold != "" {
		found.HeldBy = catalog.HeldBy(written.Meta)
	}
	if found.Mistakes != "" {
		found.Mistyped = applying.EnablingMistakes(written)
	}
	return found, nil
}
