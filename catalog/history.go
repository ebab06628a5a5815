package catalog

import "time"

// history holds the known edits of a config. Each way in which a workload reads the config
// looks up its edits here.
type history struct {
	workload *Workload
	config   *Config
	// narrowing is that of the [sight].
	narrowing *narrowing
	// ignoredUntil is the moment until which the workload ignored the config, as far as a watch showed it. wasIgnored
	// means that it did so at all. There may be very many edits.
	ignoredUntil Sequence
	wasIgnored   bool
	// onlySeen leaves out the edits that no watch showed.
	onlySeen bool
	// byKey holds the edits by their keys. It is built for the first reference to single
	// keys, so that each edit is visited once, however many references there are.
	byKey map[string]Edit
}

// newHistory returns the history of a config.
func newHistory(view *View, config *Config) *history {
	h := &history{workload: view.Workload, config: config, onlySeen: view.Workload.Applied.lacksInOriginal(config.Ref)}
	h.ignoredUntil = h.workload.ignoredUntil(config)
	h.wasIgnored = h.ignoredUntil > 0 || h.workload.Applied.saysIgnored(config.Ref)
	return h
}

// edits returns the edits that touched a selected key; those of all keys if the selection does not list them.
func (h *history) edits(selection Selection) []Edit {
	names, isList := selection.Listed()
	if !isList || len(h.config.Edits) == 0 {
		return h.config.Edits
	}
	if h.byKey == nil {
		h.byKey = make(map[string]Edit, len(h.config.Edits))
		for _, edit := range h.config.Edits {
			h.byKey[edit.Key] = edit
		}
	}
	var edits []Edit
	if edit, found := h.byKey[""]; found { // of a key that is no longer known
		edits = append(edits, edit)
	}
	for _, name := range names {
		if edit, found := h.byKey[name]; found && name != "" {
			edits = append(edits, edit)
		}
	}
	return edits
}

// inspect finds the edits that some readers may have missed. The creation of the config
// counts as an edit only if containers start without the config and see a part of it now,
// or if other content was recorded, since the config was then created again.
func (h *history) inspect(readers []Reference, recordedOtherwise bool) (candidate, bool) {
	keys := readers[0].Keys
	s := candidate{readers: readers, templateSeen: h.workload.PodTemplateSeen}
	if recordedOtherwise {
		s.recorded = h.workload.Applied.Written
	}
	if recordedOtherwise || readers[0].Optional && h.config.shows(keys) {
		h.offer(&s, h.config.creation())
	}
	for _, edit := range h.edits(keys) {
		if h.config.isVisible(edit, keys) {
			h.offer(&s, edit)
		}
	}
	return s, recordedOtherwise || len(s.edits) > 0
}

// offer adds an edit to those that the readers may have missed, if it counts.
func (h *history) offer(s *candidate, edit Edit) {
	if afterOptIn(edit, h.workload) && (edit.Seen > 0 || !h.onlySeen) && h.narrowing.isReason(edit) && !h.cameIgnored(edit) {
		s.edits = append(s.edits, edit)
	}
}

// creation returns the edit that created the config.
func (c *Config) creation() Edit {
	return Edit{At: time.Unix(int64(c.Created), 0).UTC(), Seen: c.Appeared, creation: true}
}

// afterOptIn reports whether an edit may have come after the workload opted in: by the
// order in which the watches showed both, or by the clocks if a gap in the watch leaves the
// order open. Two watches may show events in another order than they happened, and OptedIn
// may be late.
func afterOptIn(edit Edit, w *Workload) bool {
	after := edit.At.Sub(w.OptedIn)
	switch {
	case edit.Seen == 0:
		return after >= 0
	case edit.Seen > w.EnabledSeen:
		return true
	case edit.Seen > w.EnabledAfter:
		return after >= -clockTolerance
	}
	return after > clockTolerance
}
