package cluster

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
	object, err := c.core.ConfigMaps(c.halts.Namespace).Get(ctx, c.halts.Name, metav1.GetOptions{})
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

// Halts returns the halts. They are not known if there is no ConfigMap of halts, or if the caller may not read it.
func (c *Cluster) Halts(ctx context.Context) (facts.Halts, error) {
	noted, err := c.readNoted(ctx)
	return noted.halts, err
}
