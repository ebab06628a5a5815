package gatekeeper

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/controller/gate"
)

// ParseGroup reads the name of a group of ConfigMaps, such as configmap/*/ca-bundle. There are no groups of
// Secrets: what is recorded of their content differs from namespace to namespace, so that nobody can compare it.
func ParseGroup(text string) (names.ConfigRef, error) {
	ref, ok := names.ParseConfigRef(text)
	if !ok || !gate.IsGroup(ref) || ref.Kind != names.ConfigMap || len(validation.IsDNS1123Subdomain(ref.Name)) > 0 {
		return names.ConfigRef{}, fmt.Errorf("%.100q does not name ConfigMaps in all namespaces, such as configmap/*/ca-bundle", text)
	}
	return ref, nil
}

// inGroup completes a cause whose config has copies in other namespaces.
func (g *Gatekeeper) inGroup(c gate.Cause) gate.Cause {
	group := gate.GroupOf(c.Config.Kind, c.Config.Name)
	if c.IsGradual && slices.Contains(g.FanOut.Groups, group) {
		c.Group, c.Content = group, g.Catalog.ContentID(c.Config, nil)
	}
	return c
}
