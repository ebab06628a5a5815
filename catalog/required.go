package catalog

import (
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/template"
)

// Missing is a config that the containers need to start, and that does not exist or lacks a key.
type Missing struct {
	Config names.ConfigRef
	// Key is a key that the config lacks, empty if there is no such config.
	Key string
}

// Missing returns the first config that pods need to start and do not find, and how many there are. Only those configs
// count that isKnown reports on: all of their kind have been listed, for example.
func (v *View) Missing(isKnown func(names.ConfigRef) bool) (first Missing, count int) {
	if v.Workload.Idle {
		return Missing{}, 0
	}
	var last names.ConfigRef // the references to a config are next to each other
	for i := range v.Workload.References {
		r := &v.Workload.References[i]
		if key, isMissing := v.misses(r); isMissing && r.Config != last && isKnown(r.Config) {
			last = r.Config
			if count++; count == 1 {
				first = Missing{r.Config, key}
			}
		}
	}
	return first, count
}

// MayBeUnwatched reports whether a config that seems to be missing may be a Secret of the type that the controller does
// not watch; see [workload.Workload.MayBeUnwatched]. One that was seen was of another type.
func (v *View) MayBeUnwatched(ref names.ConfigRef) bool {
	return v.Configs[ref] == nil && v.Workload.MayBeUnwatched(ref)
}

// misses reports whether the config of a reference is missing, or which of its keys is.
func (v *View) misses(r *template.Reference) (key string, isMissing bool) {
	if !r.IsRequired() {
		return "", false
	}
	config := v.Present(r.Config)
	names, isList := r.Keys.Listed()
	if config == nil || !r.Items && r.Channel != template.Environment || !isList {
		return "", config == nil
	}
	for _, name := range names {
		if key, found := content.FindKey(config.Keys, name); !found || !r.Keys.Selects(key) {
			return name, true
		}
	}
	return "", false
}
