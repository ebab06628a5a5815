package cluster

import (
	"context"
	"regexp"

	appsv1 "k8s.io/api/apps/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/release"
)

// retryIn finds what to set the annotation to in the message of the deployment engine, which ends with it. Before that, it has words
// of others.
var retryIn = regexp.MustCompile(`\b` + regexp.QuoteMeta(annotation.RetryAnnotation) + ` to (\S+/[0-9]+)\.$`)

// FailedRelease is a release that has failed, so that its Deployment has fallen back.
type FailedRelease struct {
	// Next is which attempt comes next if a person asks for it, as the annotation [annotation.RetryAnnotation] names it.
	Next     string
	IsPaused bool
}

// FailedRelease returns the failed release of a Deployment, the zero value if it has not fallen back.
func (c *Cluster) FailedRelease(ctx context.Context, namespace, name string) (FailedRelease, error) {
	d, err := c.deployment(ctx, namespace, name)
	if err != nil {
		return FailedRelease{}, err
	}
	found := retryIn.FindStringSubmatch(workload.PartsOfDeployment(d).FellBack)
	if found == nil {
		return FailedRelease{}, nil
	}
	return FailedRelease{found[1], d.Spec.Paused}, nil
}

// Rollout returns how the rollout of a Deployment stands.
func (c *Cluster) Rollout(ctx context.Context, namespace, name string) (release.Rollout, error) {
	d, err := c.deployment(ctx, namespace, name)
	if err != nil {
		return release.Rollout{}, err
	}
	return release.RolloutOf(d), nil
}

func (c *Cluster) deployment(ctx context.Context, namespace, name string) (*appsv1.Deployment, error) {
	var d appsv1.Deployment
	return &d, c.apps.Get().Namespace(namespace).Resource("deployments").Name(name).Do(ctx).Into(&d)
}
