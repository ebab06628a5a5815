package cluster

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/internal/apiclient"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/facts"
)

// Rules returns the rules of the controller that watches a namespace.
func (c *Cluster) Rules(ctx context.Context, namespace string) (*facts.OptInRules, error) {
	noted, err := c.readNoted(ctx)
	return facts.RulesFor(noted.rules, namespace), err
}

// Enable sets which workloads are enabled, and why, by what controllers have noted on the ConfigMap of halts and what the
// Namespaces say. What the caller may not read does not count; the workloads' own annotations always do. It returns why
// others may be enabled than it seems, empty if that is known of all.
func (c *Cluster) Enable(ctx context.Context, workloads []facts.Workload) (doubt string, err error) {
	noted, err := c.readNoted(ctx)
	switch {
	case err != nil:
		return "", err
	case noted.isHidden && facts.Follow(workloads, facts.UnreadRules(), nil):
		return "you may not read the ConfigMap of halts, which says which workloads are enabled besides those with the annotation: more may be enabled than it seems", nil
	case noted.isHidden, !facts.Follow(workloads, noted.rules, nil):
		return "", nil
	}
	namespaces, err := c.namespacesOf(ctx, workloads)
	if err != nil && !apierrors.IsForbidden(err) {
		return "", fmt.Errorf("read which namespaces enable their workloads: %w", err)
	}
	if facts.Follow(workloads, noted.rules, namespaces) {
		doubt = "you may not read Namespaces, which decide here which workloads are enabled: it may be others than it seems"
	}
	return doubt, nil
}

// namespacesOf reads the Namespaces of workloads, as metadata: the only one, or all.
func (c *Cluster) namespacesOf(ctx context.Context, workloads []facts.Workload) (map[string]*metav1.ObjectMeta, error) {
	list := apiclient.List{Client: c.core.RESTClient(), Resource: "namespaces"}
	if name := onlyNamespace(workloads); name != "" {
		list.FieldSelector = "metadata.name=" + name
	}
	all := make(map[string]*metav1.ObjectMeta)
	err := apiclient.EachMeta(ctx, list, func() { clear(all) }, func(meta *metav1.ObjectMeta) { all[meta.Name] = meta })
	return all, err
}

// onlyNamespace returns the namespace of all workloads, empty if they are in several.
func onlyNamespace(workloads []facts.Workload) string {
	only := workloads[0].Ref.Namespace
	for i := range workloads {
		if workloads[i].Ref.Namespace != only {
			return ""
		}
	}
	return only
}
