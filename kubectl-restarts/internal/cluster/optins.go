package cluster

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/apiclient"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/facts"
)

// Enable sets which workloads are enabled, by what controllers have noted on the ConfigMap of halts and what the
// Namespaces say. What the caller may not read does not count; the workloads' own annotations always do.
func (c *Cluster) Enable(ctx context.Context, namespace, name string, workloads []facts.Workload) error {
	halts, err := c.Meta(ctx, Target{"configmaps", namespace, name})
	switch {
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		return nil
	case err != nil:
		return fmt.Errorf("read which workloads are enabled: %w", err)
	}
	rules := facts.RulesIn(halts.Annotations)
	if len(rules) == 0 || len(workloads) == 0 {
		return nil
	}
	namespaces, err := c.namespacesOf(ctx, workloads)
	if err != nil && !apierrors.IsForbidden(err) {
		return fmt.Errorf("read which namespaces enable their workloads: %w", err)
	}
	facts.Follow(workloads, rules, namespaces)
	return nil
}

// namespacesOf reads the Namespaces of workloads, as metadata: the only one, or all.
func (c *Cluster) namespacesOf(ctx context.Context, workloads []facts.Workload) (map[string]*metav1.ObjectMeta, error) {
	list := apiclient.List{Client: c.core.RESTClient(), Resource: "namespaces"}
	if name := onlyNamespace(workloads); name != "" {
		list.FieldSelector = "metadata.name=" + name
	}
	all := make(map[string]*metav1.ObjectMeta)
	err := eachMeta(ctx, list, func() { clear(all) }, func(meta *metav1.ObjectMeta) { all[meta.Name] = meta })
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
