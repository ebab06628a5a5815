package cluster

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/dialect"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/policy"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/internal/apiclient"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/facts"
)

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
		err := kind.each(ctx, list, func() { all = all[:former] }, func(parts *workload.Parts) {
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

// Workload reads one workload; [Cluster.Enable] sets whether it is enabled. The error is one of k8s.io/apimachinery/pkg/api/errors.
func (c *Cluster) Workload(ctx context.Context, ref names.WorkloadRef) (facts.Workload, error) {
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

// Deployment reads one Deployment.
func (c *Cluster) Deployment(ctx context.Context, namespace, name string) (*appsv1.Deployment, error) {
	var d appsv1.Deployment
	return &d, c.apps.Get().Namespace(namespace).Resource("deployments").Name(name).Do(ctx).Into(&d)
}

func newWorkload(rules []facts.OptInRules, kind names.WorkloadKind, written *workload.Parts) (facts.Workload, error) {
	applying := facts.RulesFor(rules, written.Meta.Namespace)
	parts := dialect.Understand(&applying.Rules, kind, *written)
	found := facts.Workload{
		Choice: annotation.ChoiceOf(parts.Meta), Tools: parts.Understood.By, Mistakes: dialect.WorkloadMistakes(&applying.Rules, written), Unsupported: parts.Problem,
		FellBack: parts.FellBack, AtStep: parts.AtStep,
	}
	if parts.Problem == "" {
		w, err := workload.NewWorkload(kind, &parts)
		if err != nil {
			return facts.Workload{}, err
		}
		found.Workload, found.Cause = w, parts.Template.Annotations[annotation.CauseAnnotation]
	} else {
		found.Ref, found.UID = names.WorkloadRef{Kind: kind, Namespace: parts.Meta.Namespace, Name: parts.Meta.Name}, parts.Meta.UID
	}
	if found.Policy != nil && found.Policy.Hold != "" {
		found.HeldBy = policy.HeldBy(written.Meta)
	}
	if found.Mistakes != "" {
		found.Mistyped = dialect.EnablingMistakes(&applying.Rules, written)
	}
	return found, nil
}
