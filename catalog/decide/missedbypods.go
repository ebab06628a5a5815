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
	// differs means that the content is known to differ from the record of the original, so that all readers
	// have missed something.
	differs bool
	// recorded is when a trusted record of other content was made, which the pods of that
	// time have read. It is zero if there is no such record.
	recorded time.Time
	// templateSeen is the moment at which the watch showed the template of the pods.
	templateSeen names.Sequence
}

// isStale reports whether a pod that read the config at the given time has missed an edit.
func (s *candidate) isStale(read time.Time) bool {
	return s.isStaleByRecord(read) || slices.ContainsFunc(s.edits, func(edit annotation.Edit) bool { return s.isMissed(edit, read) })
}

// isStaleByRecord reports whether a record shows that a pod which read the config at the given time is stale.
func (s *candidate) isStaleByRecord(read time.Time) bool {
	return s.differs || s.recorded.Sub(read) > names.ClockTolerance
}

// isMissed reports whether an edit came after a pod read the config. When the two times are
// too close for the clocks to decide, the edit counts as missed unless the watch showed it
// before the template that the pod is made from. A config that was created along with its
// pods, while no controller watched, was there first.
func (s *candidate) isMissed(edit annotation.Edit, read time.Time) bool {
	switch late := edit.At.Sub(read); {
	case late > names.ClockTolerance:
		return true
	case late < -names.ClockTolerance:
		return false
	case edit.Creation && edit.Seen == 0:
		return false
	default:
		return edit.Seen >= s.templateSeen
	}
}

// explanation returns the edits that explain why a pod that read the config at the given time is
// stale: the ones that it missed and, if a record shows that it is stale, all that a watch showed.
func (s *candidate) explanation(read time.Time) []annotation.Edit {
	byRecord := s.isStaleByRecord(read)
	return slices.DeleteFunc(slices.Clone(s.edits), func(edit annotation.Edit) bool {
		isShown := byRecord && edit.Seen > 0
		return !isShown && !s.isMissed(edit, read)
	})
}

func anyConfig(names.ConfigRef) bool { return true }

// appeared selects the configs that are missing from the workload's record.
func appeared(w *workload.Workload) func(names.ConfigRef) bool {
	return func(ref names.ConfigRef) bool {
		_, recorded := w.Record.Checksums[ref]
		return !recorded
	}
}

// recordedOtherwise selects the configs whose content is not the one in the workload's
// record.
func recordedOtherwise(w *workload.Workload, seenConfigs []seenConfig) func(names.ConfigRef) bool {
	same := make(map[names.ConfigRef]struct{})
	for i := range seenConfigs {
		if recorded, found := w.Record.Checksums[seenConfigs[i].ref]; found && recorded == seenConfigs[i].checksum {
			same[seenConfigs[i].ref] = struct{}{}
		}
	}
	return func(ref names.ConfigRef) bool {
		_, isSame := same[ref]
		return !isSame
	}
}

// candidates returns the references to the configs whose content changed since the workload
// opted in, or since a record of the original, sorted by config. Keys that did not count when the record was
// made always matter.
func candidates(view *catalog.View, seenConfigs []seenConfig, matters func(names.ConfigRef) bool) []candidate {
	var found []candidate
	for i := range seenConfigs {
		if s := &seenConfigs[i]; s.config != nil && (matters(s.ref) || s.narrowing != nil) {
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
	history, differs := newHistory(view, config), comparison == different
	history.narrowing = s.narrowing
	recordedOtherwise := differs || isRecordedOtherwise(view, s)
	var found []candidate
	for readers := range names.Runs(s.references, seeTheSame) {
		if comparison == sameData && readers[0].Keys.DataOnly {
			continue
		}
		if candidate, is := history.inspect(readers, recordedOtherwise); is {
			candidate.differs = differs
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
func (h *history) inspect(readers []template.Reference, recordedOtherwise bool) (candidate, bool) {
	keys := readers[0].Keys
	s := candidate{readers: readers, templateSeen: h.workload.PodTemplateSeen}
	if recordedOtherwise {
		s.recorded = h.workload.Record.Written
	}
	if recordedOtherwise || readers[0].Optional && h.config.Shows(keys) {
		h.offer(&s, h.config.Creation())
	}
	for _, edit := range h.edits(keys) {
		if h.config.IsVisible(edit, keys) {
			h.offer(&s, edit)
		}
	}
	return s, recordedOtherwise || len(s.edits) > 0
}

// offer adds an edit to those that the readers may have missed, if it counts.
func (h *history) offer(s *candidate, edit annotation.Edit) {
	if afterOptIn(edit, h.workload) && (edit.Seen > 0 || !h.onlySeen) && h.narrowing.isReason(edit) && !h.cameIgnored(edit) {
		s.edits = append(s.edits, edit)
	}
}

// afterOptIn reports whether an edit may have come after the workload opted in: by the
// order in which the watches showed both, or by the clocks if a gap in the watch leaves the
// order open. Two watches may show events in another order than they happened, and OptedIn
// may be late.
func afterOptIn(edit annotation.Edit, w *workload.Workload) bool {
	after := edit.At.Sub(w.OptedIn)
	switch {
	case edit.Seen == 0:
		return after >= 0
	case edit.Seen > w.EnabledSeen:
		return true
	case edit.Seen > w.EnabledAfter:
		return after >= -names.ClockTolerance
	}
	return after > names.ClockTolerance
}
