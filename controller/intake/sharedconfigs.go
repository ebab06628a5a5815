package intake

import (
	"slices"
	"time"

	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
)

// A config that is shared with other namespaces has another name in each of them; see [names.ConfigRef.IsShared].
// What happens to it happens under each name.

// configsChanged queues the change of a config that has several names.
func (in *Intake) configsChanged(names []names.ConfigRef, at time.Time) {
	for _, name := range names {
		in.configChanged(name, at)
	}
}

// configsGone takes in that a config has lost names that it had, unless it still has them.
func (in *Intake) configsGone(names, present []names.ConfigRef) {
	for _, name := range names {
		if !slices.Contains(present, name) {
			in.configGone(name)
		}
	}
}

// policiesChanged acts on other annotations of a config that has several names.
func (in *Intake) policiesChanged(names []names.ConfigRef) {
	for _, name := range names {
		in.policyChanged(name)
	}
}

// namesElsewhere returns the names that configs have in other namespaces.
func (in *Intake) namesElsewhere(configs []*content.Config) map[names.ConfigRef][]names.ConfigRef {
	all := make(map[names.ConfigRef][]names.ConfigRef)
	for _, config := range configs {
		if names := in.Catalog.NamesElsewhere(config.Ref); len(names) > 0 {
			all[config.Ref] = names
		}
	}
	return all
}

// sharingListed takes in with whom listed configs are shared, given the names that they had in other namespaces before
// the list: their annotations may have changed.
func (in *Intake) sharingListed(before map[names.ConfigRef][]names.ConfigRef, configs []*content.Config) {
	present := in.namesElsewhere(configs)
	for _, names := range present {
		in.policiesChanged(names)
	}
	for ref, names := range before {
		in.configsGone(names, present[ref])
	}
}
