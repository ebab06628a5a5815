package decide

import (
	"slices"
	"time"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/template"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

// candidate is a way of reading a config whose readers may have missed an edit.
type candidate struct {
	// readers are references that see the same part of one config.
	readers []template.Reference
	// edits are the edits that the readers may have missed.
	edits []annotation.Edit
	// otherUntil is until when pods read content that a record shows to be other; zero if none does.
	otherUntil time.Time
	// templateSeen is the moment at which the watch showed the template of the pods.
	templateSeen names.Sequence
}

// before returns the time in which pods have missed an edit if they read the config then. When the clocks cannot decide, the
// edit counts as missed unless the watch showed it before the template that the pod is made from. A config that was created
// along with its pods, while no controller watched, was there first.
func (c *candidate) before(edit *annotation.Edit) names.Interval {
	return names.Before(edit.At, edit.Seen >= c.templateSeen && !(edit.Creation && edit.Seen == 0))
}

// missed reports whether a pod that first read the config at the given time is stale, and returns the edits that explain why:
// those that it missed and, if a record shows that it is stale, all that a watch showed.
func (c *candidate) missed(first time.Time) (edits []annotation.Edit, isStale bool) {
	if first.IsZero() {
		return nil, false
	}
	isOther := names.Interval{Until: c.otherUntil}.Has(first)
	for i := range c.edits {
		edit := &c.edits[i]
		if !(isOther && edit.Seen > 0) && !c.before(edit).Has(first) {
			continue
		}
		if edits == nil {
			edits = make([]annotation.Edit, 0, len(c.edits)-i)
		}
		edits = append(edits, *edit)
	}
	return edits, isOther || len(edits) > 0
}

// unknownToRecord selects the configs of which the workload's record does not say what its pods have read.
func unknownToRecord(w *workload.Workload) func(standing) bool {
	mayHaveOther := w.Record.Reverted != nil || hasRested(w)
	return func(as standing) bool { return as == unrecorded || mayHaveOther && as != asRecorded }
}

// candidates returns the references to the configs whose content changed since the workload
// opted in, or since a record of the original, sorted by config. Keys that did not count when the record was
// made always matter.
func candidates(view *catalog.View, seenConfigs []seenConfig, matters func(standing) bool) []candidate {
	var found []candidate
	for i := range seenConfigs {
		if s := &seenConfigs[i]; s.config != nil && (matters(s.standing) || s.narrowing != nil) {
			found = append(found, candidatesOf(view, s)...)
		}
	}
	return found
}

// candidatesOf finds the edits that concern the references to one config.
func candidatesOf(view *catalog.View, s *seenConfig) []candidate {
	comparison, config := compareOriginal(view, s), s.config
	if comparison == sameData {
		config = config.Binary()
	}
	history := newHistory(view, config)
	history.narrowing = s.narrowing
	var otherUntil time.Time
	switch {
	case comparison == different:
		otherUntil = names.Always.Until
	case s.standing == otherThanRecorded:
		otherUntil = names.Before(view.Workload.Record.Written, false).Until
	}
	var found []candidate
	for readers := range names.Runs(s.references, seeTheSame) {
		if comparison == sameData && readers[0].Keys.DataOnly {
			continue
		}
		if candidate := history.inspect(readers, otherUntil); len(candidate.edits) > 0 || !otherUntil.IsZero() {
			found = append(found, candidate)
		}
	}
	return found
}

// seeTheSame reports whether two references to a config see the same part of it in the same
// way. It returns false for references to single keys, even to the same ones.
func seeTheSame(a, b *template.Reference) bool {
	if a.Channel != b.Channel || a.Optional != b.Optional {
		return false
	}
	_, isListA := a.Keys.Listed()
	_, isListB := b.Keys.Listed()
	return !isListA && !isListB && slices.Equal(a.Keys.Names, b.Keys.Names)
}

// history holds the known edits of a config. Each way in which a workload reads the config
// looks up its edits here.
type history struct {
	workload *workload.Workload
	config   *content.Config
	// narrowing is that of the [seenConfig].
	narrowing *narrowing
	// ignoredUntil is the moment until which the workload ignored the config, as far as a watch showed it. wasIgnored
	// means that it did so at all. There may be very many edits.
	ignoredUntil names.Sequence
	wasIgnored   bool
	// onlySeen leaves out the edits that no watch showed.
	onlySeen bool
	// byKey holds the edits by their keys. It is built for the first reference to single
	// keys, so that each edit is visited once, however many references there are.
	byKey map[string]annotation.Edit
}

// newHistory returns the history of a config.
func newHistory(view *catalog.View, config *content.Config) *history {
	h := &history{workload: view.Workload, config: config, onlySeen: view.Workload.Record.LacksInOriginal(config.Ref)}
	h.ignoredUntil = ignoredUntil(h.workload, config)
	h.wasIgnored = h.ignoredUntil > 0 || h.workload.Record.SaysIgnored(config.Ref)
	return h
}

// edits returns the edits that touched a selected key; those of all keys if the selection does not list them.
func (h *history) edits(selection template.Selection) []annotation.Edit {
	names, isList := selection.Listed()
	if !isList || len(h.config.Edits) == 0 {
		return h.config.Edits
	}
	if h.byKey == nil {
		h.byKey = make(map[string]annotation.Edit, len(h.config.Edits))
		for _, edit := range h.config.Edits {
			h.byKey[edit.Key] = edit
		}
	}
	var edits []annotation.Edit
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
func (h *history) inspect(readers []template.Reference, otherUntil time.Time) candidate {
	keys := readers[0].Keys
	s := candidate{readers: readers, otherUntil: otherUntil, templateSeen: h.workload.PodTemplateSeen}
	if !otherUntil.IsZero() || readers[0].Optional && h.config.Shows(keys) {
		h.offer(&s, h.config.Creation())
	}
	for _, edit := range h.edits(keys) {
		if h.config.IsVisible(edit, keys) {
			h.offer(&s, edit)
		}
	}
	return s
}

// offer adds an edit to those that the readers may have missed, if it counts.
func (h *history) offer(s *candidate, edit annotation.Edit) {
	if afterOptIn(edit, h.workload) && (edit.Seen > 0 || !h.onlySeen) && h.narrowing.isReason(edit) && !h.cameIgnored(edit) {
		s.edits = append(s.edits, edit)
	}
}
