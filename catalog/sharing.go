package catalog

import (
	"slices"

	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
)

// readersElsewhere holds the namespaces of the workloads that name a config of another namespace, whether it is
// shared with them or not.
type readersElsewhere map[names.ConfigRef]map[string]struct{}

func (r readersElsewhere) add(ref names.ConfigRef) {
	source := ref.Source()
	if r[source] == nil {
		r[source] = make(map[string]struct{})
	}
	r[source][ref.Namespace] = struct{}{}
}

func (r readersElsewhere) remove(ref names.ConfigRef) {
	source := ref.Source()
	if delete(r[source], ref.Namespace); len(r[source]) == 0 {
		delete(r, source)
	}
}

// NamesElsewhere returns the names that a config has in the namespaces with which it is shared and whose
// workloads name it, sorted.
func (c *Catalog) NamesElsewhere(ref names.ConfigRef) []names.ConfigRef {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.namesElsewhere(ref)
}

func (c *Catalog) namesElsewhere(ref names.ConfigRef) (listed []names.ConfigRef) {
	namespaces := c.elsewhere[ref]
	if len(namespaces) == 0 {
		return nil
	}
	config := c.source(ref)
	for namespace := range namespaces {
		if _, isShared := config.SharedSince(namespace); isShared {
			listed = append(listed, ref.SharedIn(namespace))
		}
	}
	slices.SortFunc(listed, names.CompareConfigRefs)
	return listed
}

// isSharedWithAny reports whether workloads name a config that is shared with their namespace.
func (c *Catalog) isSharedWithAny(ref names.ConfigRef) bool {
	config := c.source(ref)
	if config == nil || config.Policy == nil {
		return false
	}
	for namespace := range c.elsewhere[ref] {
		if _, isShared := config.SharedSince(namespace); isShared {
			return true
		}
	}
	return false
}

// addShared adds what is known of a config of another namespace, if it is shared with the workload. It reports
// whether the record is from before that, so that it says nothing about the config.
func (v *View) addShared(c *Catalog, ref names.ConfigRef) (isUnrecorded bool) {
	source := ref.Source()
	known := c.source(ref)
	config := known.As(ref)
	if config == nil {
		return false
	}
	if v.Configs[ref] = config; v.Sources == nil {
		v.Sources = make(map[names.ConfigRef]*content.Config)
	}
	v.Sources[ref] = known
	if past, found := c.Past[source]; found {
		v.addPast(ref, past)
	}
	v.Listing = v.Listing || c.listing[source.Namespace] > 0
	since, _ := config.SharedSince(ref.Namespace)
	return since.Began > v.Workload.RecordSeen
}

// Source returns what the catalog keeps of a config of the view: of the config itself if it is one of another
// namespace. It is the same value in each view until the config changes.
func (v *View) Source(ref names.ConfigRef) *content.Config {
	if source := v.Sources[ref]; source != nil {
		return source
	}
	return v.Configs[ref]
}
