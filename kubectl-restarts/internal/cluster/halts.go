package cluster

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/facts"
)

// notes are what controllers have noted on the ConfigMap of halts: the halts, and the rules about which workloads are
// enabled. They are empty if there is none.
type notes struct {
	halts facts.Halts
	rules []facts.OptInRules
	// isHidden means that the caller may not read it.
	isHidden bool
}

// readNoted reads the ConfigMap of halts, unless it has been read.
func (c *Cluster) readNoted(ctx context.Context) (notes, error) {
	if c.noted != nil {
		return *c.noted, nil
	}
	var found notes
	object, err := c.HaltsConfigMap(ctx)
	switch {
	case apierrors.IsNotFound(err):
	case apierrors.IsForbidden(err):
		found.isHidden = true
	case err != nil:
		return notes{}, fmt.Errorf("read the ConfigMap of halts: %w", err)
	default:
		found.halts, found.rules = facts.NewHalts(object.Data), facts.RulesIn(object.Annotations)
	}
	c.noted = &found
	return found, nil
}

// Refresh makes the Cluster read the ConfigMap of halts again when it needs it.
func (c *Cluster) Refresh() { c.noted = nil }

// HaltsConfigMap reads the ConfigMap of halts anew. The error is one of k8s.io/apimachinery/pkg/api/errors.
func (c *Cluster) HaltsConfigMap(ctx context.Context) (*corev1.ConfigMap, error) {
	return c.core.ConfigMaps(c.halts.Namespace).Get(ctx, c.halts.Name, metav1.GetOptions{})
}

// SetHaltsEntry sets an entry of the ConfigMap of halts. The error is a conflict if this has another resourceVersion.
func (c *Cluster) SetHaltsEntry(ctx context.Context, entry, value, resourceVersion string, dryRun bool) error {
	patch, err := json.Marshal(map[string]any{"data": map[string]string{entry: value}, "metadata": map[string]string{"resourceVersion": resourceVersion}})
	if err != nil {
		return fmt.Errorf("encode the patch: %w", err)
	}
	return c.patch(ctx, c.halts, types.MergePatchType, patch, dryRun)
}

// RemoveHaltsEntry removes an entry of the ConfigMap of halts. The error is that the object is invalid if it has another value
// than this one, or is not there.
func (c *Cluster) RemoveHaltsEntry(ctx context.Context, entry, value string, dryRun bool) error {
	return c.remove(ctx, c.halts, "/data/"+entry, value, dryRun)
}

// Halts returns the halts. They are not known if there is no ConfigMap of halts, or if the caller may not read it.
func (c *Cluster) Halts(ctx context.Context) (facts.Halts, error) {
	noted, err := c.readNoted(ctx)
	return noted.halts, err
}
