package catalog

import (
	"cmp"
	"slices"
)

// index moves a workload's entries in the reverse index from its previous references to its
// present ones. Either may be nil. It compares the references themselves, because a fingerprint
// could be forged.
func (c *Catalog) index(previous, present *Workload) {
	if previous != nil && present != nil && slices.EqualFunc(previous.References, present.References, refersToSameConfig) {
		return // as in most changes
	}
	before, after := configsOf(previous), configsOf(present)
	var name *WorkloadRef
	if len(after) > 0 {
		name = new(present.Ref) // for all its configs
	}
	for len(before) > 0 || len(after) > 0 {
		switch order := compareFirst(before, after); {
		case order < 0:
			c.unreference(before[0], previous.Ref)
			before = before[1:]
		case order > 0:
			c.reference(after[0], name)
			after = after[1:]
		default:
			before, after = before[1:], after[1:]
		}
	}
}

func refersToSameConfig(a, b Reference) bool { return a.Config == b.Config }

func configsOf(w *Workload) []ConfigRef {
	if w == nil {
		return nil
	}
	return w.Configs()
}

// compareFirst compares the first configs of two lists. An empty list comes last.
func compareFirst(a, b []ConfigRef) int {
	if len(a) == 0 || len(b) == 0 {
		return cmp.Compare(len(b), len(a))
	}
	return compareConfigRefs(a[0], b[0])
}

func (c *Catalog) reference(config ConfigRef, workload *WorkloadRef) {
	referencing := c.referencing[config]
	referencing.add(workload)
	c.referencing[config] = referencing
	if config.IsShared() {
		c.elsewhere.add(config)
	}
}

// unreference removes a workload from the set of workloads that reference a config. The catalog
// forgets a deleted config with its last reference.
func (c *Catalog) unreference(config ConfigRef, workload WorkloadRef) {
	referencing := c.referencing[config]
	if referencing.remove(workload); referencing.len() > 0 {
		c.referencing[config] = referencing
		return
	}
	if delete(c.referencing, config); config.IsShared() {
		c.elsewhere.remove(config)
		config = config.Source()
	}
	if !c.isReferenced(config) {
		c.forgetUnreferenced(config)
	}
}

// forgetUnreferenced forgets what is only kept of configs that are referenced.
func (c *Catalog) forgetUnreferenced(config ConfigRef) {
	delete(c.past, config)
	c.forgetUnmounted(config)
	if c.gone == 0 {
		return
	}
	if known := c.config(config); known != nil && known.Deleted {
		c.dropConfig(config)
		c.gone--
	}
}
