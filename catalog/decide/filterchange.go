package decide

import (
	"slices"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/template"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

// hadOtherFilter reports whether the workload had another filter since a trusted record, and has that of the record again. What
// happened in between is forgotten once the workload is recorded anew.
func hadOtherFilter(w *workload.Workload) bool {
	return w.Record.Trusted && !w.HasOtherFilter() && w.FilterChanged() > 0
}

// narrowing is what a trusted record that another filter made says about a config.
type narrowing struct {
	// recorded selects the keys that the record covers. It is empty if the record does not cover the config.
	recorded []template.Selection
	// isRecorded means that the record has the config, and differs that it has other content of it than
	// the present one, and that the workload sees the difference.
	isRecorded, differs bool
	// since is the moment after which edits of other keys count.
	since names.Sequence
	// present is the checksum of what counts now.
	present names.Checksum
}

// narrowingOf returns what the workload's record says about a config, which may be nil, by the references to it: nil if the
// record covers the same.
func narrowingOf(w *workload.Workload, references []template.Reference, config *content.Config) *narrowing {
	if !w.HasOtherFilter() {
		return nil
	}
	ref := references[0].Config
	recorded, since := template.ReferencesTo(w.Filtering.Recorded, ref), w.Filtering.Changed
	if slices.EqualFunc(recorded, references, template.IsSameReference) {
		return nil
	}
	if len(recorded) > 0 && recorded[0].NeedsMark && w.Record.SaysIgnored(ref) {
		recorded, since = nil, countedSince(w, config, since)
	}
	n := narrowing{recorded: content.Selections(recorded), since: since}
	_, n.isRecorded = w.Record.Checksums[ref]
	return &n
}

// countedSince returns the moment from which on a config counted that the record lacks for want of a mark, as far as that is
// known; otherwise the given moment.
func countedSince(w *workload.Workload, config *content.Config, otherwise names.Sequence) names.Sequence {
	switch marked := config.MarkedAfter(); {
	case config.IsMarked(): // it may have ignored itself, too; 0 is before the first list
		return min(otherwise, max(marked, config.CountsAfter()))
	case marked > 0 && (marked >= w.RecordSeen || !w.OwnRecord): // what began at that moment came after the record
		return min(otherwise, marked)
	}
	return otherwise
}

// isCovered reports whether the record covers the key of an edit.
func (n *narrowing) isCovered(edit annotation.Edit) bool {
	return slices.ContainsFunc(n.recorded, func(selection template.Selection) bool { return content.Concerns(edit, selection) })
}

// isReason reports whether an edit can be a reason to restart that the record does not know. An edit of a key that the
// record covers is none unless the content differs.
func (n *narrowing) isReason(edit annotation.Edit) bool {
	if n == nil {
		return true
	}
	isCovered := n.isCovered(edit)
	if isCovered && (!n.isRecorded || n.differs) {
		return true
	}
	return (!isCovered || edit.IsJoined()) && edit.Seen > n.since
}

// isCause reports whether an edit can be what makes the content differ from the record, or a reason
// besides that.
func (n *narrowing) isCause(edit annotation.Edit) bool {
	return n == nil || n.isCovered(edit) || n.isReason(edit)
}

// shows reports whether the workload sees a difference of a config from a record that covers other
// keys of it. If no edit since the record is known, any key may be different.
func (n *narrowing) shows(w *workload.Workload, s *seenConfig) bool {
	isKnown, present := false, content.Selections(s.references)
	for _, edit := range append(slices.Clone(s.config.Edits), s.config.Creation()) {
		if !n.isCovered(edit) || !lacks(w, edit) {
			continue
		}
		if isKnown = true; edit.Creation || slices.ContainsFunc(present, func(selection template.Selection) bool { return content.Concerns(edit, selection) }) {
			return true
		}
	}
	return !isKnown
}

// compare makes a seenConfig compare the config with a record that was made by another filter: with the
// keys that the record covers. A difference that does not count is none.
func (n *narrowing) compare(v *catalog.View, s *seenConfig) {
	n.present = s.checksum
	recorded, found := v.Workload.Record.Checksums[s.ref]
	if !found {
		return
	}
	s.seen = s.config.Seen(n.recorded)
	s.checksum = s.config.ChecksumOf(s.seen, v.Key)
	if n.differs = s.checksum != recorded && n.shows(v.Workload, s); !n.differs {
		s.checksum = recorded
	}
}
