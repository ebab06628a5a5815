package catalog

import (
	"slices"
	"time"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/policy"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/template"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

// What happened to the content of a config, as those need to know who follow how it reaches the
// workloads.

// HasConfig reports whether the catalog knows a config that is not gone.
func (c *Catalog) HasConfig(ref names.ConfigRef) bool { return c.Config(ref) != nil }

// Config returns a config that exists, or nil. The value is shared and never modified.
func (c *Catalog) Config(ref names.ConfigRef) *content.Config {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.present(ref)
}

// IsContentOf reports whether a config of a kind and name has a content in any namespace; see
// [Catalog.ContentID]. It looks at each namespace.
func (c *Catalog) IsContentOf(kind names.ConfigKind, name, content string) bool {
	for _, ref := range c.namesakes(kind, name) {
		if c.ContentID(ref, nil) == content {
			return true
		}
	}
	return false
}

func (c *Catalog) namesakes(kind names.ConfigKind, name string) (found []names.ConfigRef) {
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
func (c *Catalog) EditedSince(ref names.ConfigRef, keys []string, moment names.Sequence) bool {
	config := c.Config(ref)
	return config == nil || config.Appeared > moment ||
		slices.ContainsFunc(config.Edits, func(edit annotation.Edit) bool { return edit.Seen > moment && content.IsAmong(edit, keys) })
}

// ShowedEditTo reports whether a watch showed an edit of a config after a moment that the pod template of a workload lets it see.
func (c *Catalog) ShowedEditTo(w *workload.Workload, ref names.ConfigRef, moment names.Sequence) bool {
	config := c.Config(ref)
	if config == nil {
		return false
	}
	selected := content.Selections(w.ReferencesTo(ref))
	return slices.ContainsFunc(config.Edits, func(edit annotation.Edit) bool { return edit.Seen > moment && config.IsSeen(edit, selected) })
}

// EditedFor returns when the last edit of a config was made that the pod template of a workload lets it see, zero if none is known.
func (c *Catalog) EditedFor(w *workload.Workload, ref names.ConfigRef) time.Time {
	config, selected := c.Config(ref), content.Selections(w.ReferencesTo(ref))
	return config.LastEdit(func(edit annotation.Edit) bool { return config.IsSeen(edit, selected) })
}

// ContentKey returns the id of the key with which [Catalog.ContentID] is made of a config, empty if it is made with none.
func (c *Catalog) ContentKey(ref names.ConfigRef) string {
	if !ref.Kind.IsSecret() {
		return ""
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.key.ID()
}

// ShowedEdit reports whether a watch showed an edit of keys of a config after a time; no keys means any. It is true for a
// config that is gone.
func (c *Catalog) ShowedEdit(ref names.ConfigRef, keys []string, since time.Time) bool {
	config := c.Config(ref)
	return config == nil || slices.ContainsFunc(config.Edits, func(edit annotation.Edit) bool {
		return edit.Seen > 0 && edit.At.After(since) && content.IsAmong(edit, keys)
	})
}

// MissedEdit reports whether a config was edited after the record of a workload was made and before the
// watches began: it differs from the record, and no watch showed an edit since. Then nobody knows which
// of its keys the workload still has.
func (c *Catalog) MissedEdit(w *workload.Workload, ref names.ConfigRef) bool {
	if ref.Kind.IsPerPod() || c.EditedSince(ref, nil, w.RecordSeen) {
		return false // no record has its content
	}
	c.mu.RLock()
	present, key := c.present(ref), c.key
	c.mu.RUnlock()
	recorded, found := w.Applied.Checksums[ref]
	if present == nil || !found || ref.Kind.IsSecret() && (key.IsZero() || !w.IsReadableWith(key)) {
		return false
	}
	return recorded != c.wholes.Checksum(present, content.Selections(w.RecordedReferences(ref)), key)
}

// Running returns the workloads that run with the present content of a config already and take part
// in the fan-out of one moment, in no particular order. For a moment of a watch, these are the
// readers that see an edit of that moment. For 0, which stands for all edits that no watch showed,
// they are the workloads whose record says that they restarted for the config after the last such
// edit. They have all the pods that they want; the others prove nothing. Those of the latter that have been restarted for the
// content and lack pods have failed.
//
// It costs about as much as a decision about each workload that references the config.
func (c *Catalog) Running(config names.ConfigRef, moment names.Sequence) (running, failed []names.WorkloadRef) {
	c.mu.RLock()
	present, key, readers := c.present(config), c.key, c.readersOf(config)
	c.mu.RUnlock()
	if present == nil || present.IsIgnored() {
		return nil, nil
	}
	spread := NewSpread(present, moment, key, &c.wholes)
	for _, w := range readers {
		hasFailed := w.LacksPods() && w.Applied.Trusted && spread.isRestarted(w)
		switch {
		case !w.IsProof() && !hasFailed, w.Ignores(present), !spread.HasReached(w):
		case hasFailed:
			failed = append(failed, w.Ref)
		default:
			running = append(running, w.Ref)
		}
	}
	return running, failed
}

// ContentID returns 16 hexadecimal digits that identify the present content of the given keys of a
// config, or of all its keys if none is given. That a key is missing is part of the content; other
// keys are not. The id of a Secret's content is made with the key of checksums, so that nobody can
// test guesses against it. It is empty if the config is gone, the key of checksums is not known, or no
// rotation shows which of its contents is the newest.
func (c *Catalog) ContentID(config names.ConfigRef, keys []string) string {
	c.mu.RLock()
	present, key := c.present(config), c.key
	c.mu.RUnlock()
	if present == nil || config.Kind.IsSecret() && key.IsZero() || config.Kind.IsPerPod() && len(present.Keys) == 0 {
		return ""
	}
	return c.wholes.Checksum(present, content.SelectionOf(keys), key).String()
}

// present returns a config that exists, or nil.
func (c *Catalog) present(ref names.ConfigRef) *content.Config {
	if config := c.config(ref); config != nil && !config.Deleted {
		return config
	}
	return nil
}

// Spread is what the edits of one moment made of a config, on its way to the workloads that
// reference the config.
type Spread struct {
	config *content.Config
	key    content.ChecksumKey
	moment names.Sequence
	// edits are those of the moment, or for 0 those that no watch showed; last is when the last of
	// them happened.
	edits  []annotation.Edit
	last   time.Time
	wholes *content.WholeChecksums
}

func NewSpread(config *content.Config, moment names.Sequence, key content.ChecksumKey, wholes *content.WholeChecksums) *Spread {
	s := &Spread{config: config, key: key, moment: moment, wholes: wholes}
	for _, edit := range config.Edits {
		s.add(edit)
	}
	if creation := config.Creation(); moment > 0 {
		s.add(creation)
	} else if len(s.edits) == 0 {
		s.last = creation.At
	}
	return s
}

// add adds an edit if it belongs to the moment.
func (s *Spread) add(edit annotation.Edit) {
	if edit.Seen != s.moment {
		return
	}
	s.edits = append(s.edits, edit)
	if edit.At.After(s.last) {
		s.last = edit.At
	}
}

// HasReached reports whether a workload takes part, and has the present content by its record.
func (s *Spread) HasReached(w *workload.Workload) bool {
	ref := s.config.Ref
	if ref.Kind.IsPerPod() {
		return s.isRestarted(w)
	}
	recorded, found := w.Applied.Checksums[ref]
	if !found || ref.Kind.IsSecret() && (s.key.IsZero() || !w.IsReadableWith(s.key)) {
		return false
	}
	selected := content.Selections(template.ReferencesTo(w.References, ref)) // few, however many containers there are
	return s.concerns(w, selected) && recorded == s.wholes.Checksum(s.config, selected, s.key)
}

func (s *Spread) concerns(w *workload.Workload, selected []template.Selection) bool {
	if s.moment == 0 {
		return s.isRestarted(w)
	}
	return slices.ContainsFunc(s.edits, func(edit annotation.Edit) bool { return s.config.IsSeen(edit, selected) })
}

// isRestarted reports whether the workload restarted for the config after the last of the edits.
func (s *Spread) isRestarted(w *workload.Workload) bool {
	isFor := slices.ContainsFunc(w.Applied.RestartedFor, func(r record.Restarted) bool { return r.Config == s.config.Ref })
	return isFor && !w.Applied.Written.Before(s.last.Truncate(time.Second))
}

// EditedAt returns when the watch showed the edits of a config of a moment, the zero value if that is not known any more.
func (c *Catalog) EditedAt(ref names.ConfigRef, moment names.Sequence) time.Time {
	return c.Config(ref).EditedAt(moment)
}

// EditedBeforeWatching returns when the last edit of a config was made that no watch showed, zero if none is known.
func (c *Catalog) EditedBeforeWatching(ref names.ConfigRef) time.Time {
	return c.Config(ref).LastEdit(func(edit annotation.Edit) bool { return edit.Seen == 0 })
}

// PolicyOf returns what the annotations of a config ask for. It is the zero value for a config that
// is gone.
func (c *Catalog) PolicyOf(ref names.ConfigRef) policy.ConfigPolicy {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if config := c.present(ref); config != nil && config.Policy != nil {
		return *config.Policy
	}
	return policy.ConfigPolicy{}
}

// LacksRequired reports whether a config does not exist, or lacks a key, without which the containers of a workload cannot
// start.
func (c *Catalog) LacksRequired(w *workload.Workload, ref names.ConfigRef) bool {
	present := c.Config(ref)
	return !ref.Kind.IsPerPod() && slices.ContainsFunc(template.ReferencesTo(w.References, ref), func(reference template.Reference) bool {
		names, _ := reference.Keys.Listed()
		return !reference.Optional && (present == nil || slices.ContainsFunc(names, func(name string) bool { return !content.HasKey(present.Keys, name) }))
	})
}
