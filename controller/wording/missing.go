package wording

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/internal/brief"
)

// maxQuoted is how long the names are, in bytes, that texts quote and no API server has checked.
const maxQuoted = 100

// Missing says what a workload lacks of the configs that are known, empty if nothing. It names no keys of Secrets.
func Missing(view *catalog.View, isKnown func(names.ConfigRef) bool) string {
	first, count := view.Missing(isKnown)
	if count == 0 {
		return ""
	}
	text := ConfigName(first.Config) + " does not exist"
	switch {
	case len(validation.IsDNS1123Subdomain(first.Config.Name)) > 0: // which the API accepts in a template
		text = fmt.Sprintf("a config does not exist, because no object can have its name: %q", brief.Within(maxQuoted, first.Config.Name))
	case view.MayBeUnwatched(first.Config):
		text = "no " + ConfigName(first.Config) + " is watched: it does not exist, or is of type helm.sh/release.v1"
	case first.Key == "":
	case first.Config.Kind.IsSecret():
		text = ConfigName(first.Config) + " lacks a key"
	case len(validation.IsConfigMapKey(first.Key)) > 0:
		text = fmt.Sprintf("%s cannot have the key %q", ConfigName(first.Config), brief.Within(maxQuoted, first.Key))
	default:
		text = ConfigName(first.Config) + " has no key " + first.Key
	}
	if count > 1 {
		text += fmt.Sprintf(" (and %d more)", count-1)
	}
	return text
}
