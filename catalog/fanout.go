package catalog

import (
	"slices"
	"time"
)

// What happened to the content of a config, as those need to know who follow how it reaches the
// workloads.

// HasConfig reports whether the catalog knows a config that is not gone.
func (c *Catalog) HasConfig(ref ConfigRef) bool { return c.Config(ref) != nil }

// Config returns a config that exists, or nil. The value is shared and never modified.
func (c *Catalog) Config(ref ConfigRef) *Config {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.present(ref)
}

// IsContentOf reports whether a config of a kind and name has a content in any namespace; see
// [Catalog.ContentID]. It looks at each namespace.
func (c *Catalog) IsContentOf(kind ConfigKind, name, content string) bool {
	for _, ref := range c.namesakes(kind, name) {
		if c.ContentID(ref, nil) == content {
			return true
		}
	}
	return false
}

func (c *Catalog) namesakes(kind ConfigKind, name string) (found []ConfigRef) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for in, configs := range c.configs.values {
		if config := configs[name]; in.kind == kind && config != nil && !config.Deleted {
			found = append(found, config.Ref)
		}
	}
	return found
}

// EditedSince reports whether keys of a config were edited after a moment; no keys means any. It is true
// for a config that is gone.
func (c *Catalog) EditedSince(ref ConfigRef, keys []string, moment Sequence) bool {
	config := c.Config(ref)
	return config == nil || config.Appeared > moment ||
		slices.ContainsFunc(config.Edits, func(edit Edit) bool { return edit.Seen > moment && edit.isAmong(keys) })
}

// ShowedEditTo reports whether a watch showed an edit of a config after a moment that the pod template of a workload lets it see.
func (c *Catalog) ShowedEditTo(w *Workload, ref ConfigRef, moment Sequence) bool {
	config := c.Config(ref)
	if config == nil {
		return false
	}
	selected := selections(w.ReferencesTo(ref))
	return slices.ContainsFunc(config.Edits, func(edit Edit) bool { return edit.Seen > moment && config.isSeen(edit, selected) })
}

// EditedFor returns when the last edit of a config was made that the pod template of a workload lets it see, zero if none is known.
func (c *Catalog) EditedFor(w *Workload, ref ConfigRef) time.Time {
	config, selected := c.Config(ref), selections(w.ReferencesTo(ref))
	return config.LastEdit(func(edit Edit) bool { return config.isSeen(edit, selected) })
}

// ContentKey returns the id of the key with which [Catalog.ContentID] is made of a config, empty if it is made with none.
func (c *Catalog) ContentKey(ref ConfigRef) string {
	if !ref.Kind.IsSecret() {
		return ""
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.key.ID()
}

// ShowedEdit reports whether a watch showed an edit of keys of a config after a time; no keys means any. It is true for a
// config that is gone.
func (c *Catalog) ShowedEdit(ref ConfigRef, keys []string, since time.Time) bool {
	config := c.Config(ref)
	return config == nil || slices.ContainsFunc(config.Edits, func(edit Edit) bool {
		return edit.Seen > 0 && edit.At.After(since) && edit.isAmong(keys)
	})
}

// isAmong reports whether the edit concerns one of the keys; no keys means any.
func (e Edit) isAmong(keys []string) bool {
	return len(keys) == 0 || e.Key == "" || slices.Contains(keys, e.Key)
}

// MissedEdit reports whether a config was edited after the record of a workload was made and before the
// watches began: it differs from the record, and no watch showed an edit since. Then nobody knows which
// of its keys the workload still has.
func (c *Catalog) MissedEdit(w *Workload, ref ConfigRef) bool {
	if ref.Kind.IsPerPod() || c.EditedSince(ref, nil, w.RecordSeen) {
		return false // no record has its content
	}
	c.mu.RLock()
	present, key := c.present(ref), c.key
	c.mu.RUnlock()
	recorded, found := w.Applied.Checksums[ref]
	if present == nil || !found || ref.Kind.IsSecret() && (key.IsZero() || !w.isReadableWith(key)) {
		return false
	}
	return recorded != c.wholes.checksum(present, selections(w.recordedReferences(ref)), key)
}

// MomentsUntil returns the moments of the edits of keys of a config that are no later than a time, sorted
// and each once: a record that was made at that time includes them. No keys means any, and a moment of 0
// stands for edits that no watch showed.
func (c *Catalog) MomentsUntil(ref ConfigRef, keys []string, until time.Time) []Sequence {
	config := c.Config(ref)
	var cause Cause
	if config != nil {
		for _, edit := range config.Edits {
			if edit.isAmong(keys) && !edit.earliest().After(until) {
				cause.addMoment(edit.Seen)
			}
		}
	}
	cause.tidyMoments()
	return cause.Moments
}
