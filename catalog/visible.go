package catalog

import "slices"

// VisibleChanges returns the names of the keys in which two contents of a config differ for the
// workload: of the keys that its containers see, those that were changed, added or removed. Either
// content may be nil, for a config that does not exist. Changes of an ignored config are not visible.
func (w *Workload) VisibleChanges(ref ConfigRef, before, after *Config) []string {
	if w.Ignores(after) {
		return nil
	}
	selected := selections(referencesTo(w.References, ref))
	return changedKeys(before.seenBy(selected), after.seenBy(selected))
}

// seenBy returns the keys that any of the selections sees of a config, none if there is no config.
func (c *Config) seenBy(selections []Selection) []Key {
	if c == nil {
		return nil
	}
	return c.seen(selections)
}

// Unseen returns the names of the keys that a config has and that no container of the workload sees, or that do not count.
// It is sorted. The config may be nil.
func (w *Workload) Unseen(config *Config) []string {
	if config == nil {
		return nil
	}
	return changedKeys(config.Keys, config.seen(selections(referencesTo(w.References, config.Ref))))
}

// SeesAllButHidden reports whether the workload sees all keys that a config may have, but for those that the pod template
// hides, because something else has their names there. Its annotations then leave out none.
func (w *Workload) SeesAllButHidden(ref ConfigRef) bool {
	byRules := func(r Reference) bool { return r.Keys.ByRules }
	return w.Filter() == (Filter{}) && slices.ContainsFunc(referencesTo(w.References, ref), byRules)
}

// Recorded reports whether the record has a checksum of the config, which must not be a Secret, and
// whether it is that of what the workload sees of the config.
func (w *Workload) Recorded(config *Config) (isRecorded, isSame bool) {
	recorded, isRecorded := w.Applied.Checksums[config.Ref]
	selected := selections(w.recordedReferences(config.Ref))
	return isRecorded, isRecorded && recorded == config.Checksum(selected, ChecksumKey{})
}

// Selects reports whether the workload reads all of these keys of a config, if the config has them. No keys mean all that it
// reads.
func (w *Workload) Selects(ref ConfigRef, keys []string) bool {
	selects := w.KeySelector(ref)
	return selects != nil && !slices.ContainsFunc(keys, func(key string) bool { return !selects(key) })
}

// KeySelector returns a function that reports whether the workload reads a key of a config, if the config has it; nil if it reads
// none. It has sorted what the workload reads, so that very many keys can be looked at.
func (w *Workload) KeySelector(ref ConfigRef) func(key string) bool {
	selected := selections(referencesTo(w.References, ref))
	if len(selected) == 0 {
		return nil
	}
	return func(key string) bool {
		return slices.ContainsFunc(selected, func(s Selection) bool { return s.names(key) })
	}
}

// LacksRequired reports whether a config does not exist, or lacks a key, without which the containers of a workload cannot
// start.
func (c *Catalog) LacksRequired(w *Workload, ref ConfigRef) bool {
	present := c.Config(ref)
	return !ref.Kind.IsPerPod() && slices.ContainsFunc(referencesTo(w.References, ref), func(reference Reference) bool {
		names, _ := reference.Keys.Listed()
		return !reference.Optional && (present == nil || slices.ContainsFunc(names, func(name string) bool { return !hasKey(present.Keys, name) }))
	})
}
