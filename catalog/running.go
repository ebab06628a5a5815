package catalog

import (
	"slices"
	"time"
)

// Running returns the workloads that run with the present content of a config already and take part
// in the fan-out of one moment, in no particular order. For a moment of a watch, these are the
// readers that see an edit of that moment. For 0, which stands for all edits that no watch showed,
// they are the workloads whose record says that they restarted for the config after the last such
// edit. They have all the pods that they want; the others prove nothing. Those of the latter that have been restarted for the
// content and lack pods have failed.
//
// It costs about as much as a decision about each workload that references the config.
func (c *Catalog) Running(config ConfigRef, moment Sequence) (running, failed []WorkloadRef) {
	c.mu.RLock()
	present, key, readers := c.present(config), c.key, c.readersOf(config)
	c.mu.RUnlock()
	if present == nil || present.isIgnored() {
		return nil, nil
	}
	spread := newSpread(present, moment, key, &c.wholes)
	for _, w := range readers {
		hasFailed := w.LacksPods() && w.Applied.Trusted && spread.isRestarted(w)
		switch {
		case !w.isProof() && !hasFailed, w.Ignores(present), !spread.hasReached(w):
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
func (c *Catalog) ContentID(config ConfigRef, keys []string) string {
	c.mu.RLock()
	present, key := c.present(config), c.key
	c.mu.RUnlock()
	if present == nil || config.Kind.IsSecret() && key.IsZero() || config.Kind.IsPerPod() && len(present.Keys) == 0 {
		return ""
	}
	return c.wholes.checksum(present, selectionOf(keys), key).String()
}

// ContentID is [Catalog.ContentID] for a config that exists.
func (c *Config) ContentID(keys []string, key ChecksumKey) string {
	return c.Checksum(selectionOf(keys), key).String()
}

// selectionOf selects the given keys, or all if none is given.
func selectionOf(keys []string) []Selection {
	var selection Selection
	if len(keys) > 0 {
		selection.Names = slices.Sorted(slices.Values(keys))
	}
	return []Selection{selection}
}

// present returns a config that exists, or nil.
func (c *Catalog) present(ref ConfigRef) *Config {
	if config := c.config(ref); config != nil && !config.Deleted {
		return config
	}
	return nil
}

// isProof reports whether the workload runs, with all its pods, what its record says.
func (w *Workload) isProof() bool {
	return w.Applied.Trusted && w.Applied.Reverted == nil && !w.Idle && w.Hold == NoHold && !w.Deleting && w.Rollout.IsWhole() && w.Evict == 0
}

// spread is what the edits of one moment made of a config, on its way to the workloads that
// reference the config.
type spread struct {
	config *Config
	key    ChecksumKey
	moment Sequence
	// edits are those of the moment, or for 0 those that no watch showed; last is when the last of
	// them happened.
	edits  []Edit
	last   time.Time
	wholes *wholeChecksums
}

func newSpread(config *Config, moment Sequence, key ChecksumKey, wholes *wholeChecksums) *spread {
	s := &spread{config: config, key: key, moment: moment, wholes: wholes}
	for _, edit := range config.Edits {
		s.add(edit)
	}
	if creation := config.creation(); moment > 0 {
		s.add(creation)
	} else if len(s.edits) == 0 {
		s.last = creation.At
	}
	return s
}

// add adds an edit if it belongs to the moment.
func (s *spread) add(edit Edit) {
	if edit.Seen != s.moment {
		return
	}
	s.edits = append(s.edits, edit)
	if edit.At.After(s.last) {
		s.last = edit.At
	}
}

// hasReached reports whether a workload takes part, and has the present content by its record.
func (s *spread) hasReached(w *Workload) bool {
	ref := s.config.Ref
	if ref.Kind.IsPerPod() {
		return s.isRestarted(w)
	}
	recorded, found := w.Applied.Checksums[ref]
	if !found || ref.Kind.IsSecret() && (s.key.IsZero() || !w.isReadableWith(s.key)) {
		return false
	}
	selected := selections(referencesTo(w.References, ref)) // few, however many containers there are
	return s.concerns(w, selected) && recorded == s.wholes.checksum(s.config, selected, s.key)
}

func (s *spread) concerns(w *Workload, selected []Selection) bool {
	if s.moment == 0 {
		return s.isRestarted(w)
	}
	return slices.ContainsFunc(s.edits, func(edit Edit) bool { return s.config.isSeen(edit, selected) })
}

// isRestarted reports whether the workload restarted for the config after the last of the edits.
func (s *spread) isRestarted(w *Workload) bool {
	isFor := slices.ContainsFunc(w.Applied.RestartedFor, func(r Restarted) bool { return r.Config == s.config.Ref })
	return isFor && !w.Applied.Written.Before(s.last.Truncate(time.Second))
}
