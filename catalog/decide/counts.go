package decide

import (
	"slices"
	"strings"
	"time"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/template"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

// Which edits and earlier contents count: those since the record and, without one, since the opt-in.

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

// lacks reports whether an edit came after the workload's record.
func lacks(w *workload.Workload, edit annotation.Edit) bool {
	if edit.Seen > 0 {
		return isLater(w, names.Sighting{At: edit.At, Seen: edit.Seen})
	}
	return !edit.At.Before(w.Record.Written.Truncate(time.Second))
}

// isLater reports whether the watch showed something after the pods were last known to have, or to
// be about to get, the recorded content. The watch of workloads may be behind and show another
// process's record long after it was written, so anything dated after the write counts too.
func isLater(w *workload.Workload, shown names.Sighting) bool {
	isWrittenBefore := shown.Seen > 0 && shown.At.Sub(w.Record.Written) > -names.ClockTolerance
	return shown.Seen > w.LastRight() || isWrittenBefore && !w.OwnRecord && w.PodsSeen == 0
}

// since returns when content came, and false if it went before the record, or before the pods
// were found to have what the record says. Content that was there at that moment counts: either it
// is the recorded content, or the config was gone, or the process that wrote the record knew other
// content than this catalog. If it came at some time after From, any time since the record counts. The returned moment is that of
// the end, because content that outlasted the record began to matter with the record.
func since(v *content.Version, w *workload.Workload) (names.Sighting, bool) {
	from := names.Sighting{At: v.From.At, Seen: v.Until.Seen}
	if v.IsVague {
		from.At = names.Latest(from.At, w.Record.Written)
	}
	return from, isLater(w, v.Until) && !isGoneBefore(v, w)
}

// isGoneBefore reports whether the content had gone before another process made the record, so that
// no pod has read it: the record was made with a restart, after which all pods of the template were
// created. The clocks decide if the watches showed first that the content had gone, and then the
// record. Otherwise they must be apart by more than they may differ. If the times are too close, the
// record itself decides: had the content still been there, the record would say so, provided that it
// came early enough for the other process to know it.
func isGoneBefore(v *content.Version, w *workload.Workload) bool {
	if w.OwnRecord || w.PodsSeen > 0 || !w.Record.WithRestart {
		return false
	}
	written, until := w.Record.Written, v.Until.At
	isClear := !until.After(written)
	if v.Until.Seen > w.RecordSeen {
		isClear = !until.Add(names.ClockTolerance).After(written)
	}
	wasKnown := !v.IsVague && !v.IsAbsence() && !v.From.At.Add(names.ClockTolerance).After(written)
	return isClear || wasKnown && !until.After(written.Add(names.ClockTolerance))
}

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
	for _, edit := range append(slices.Collect(s.config.LastEdits(template.Selection{})), s.config.Creation()) {
		if !n.isCovered(edit) || !lacks(w, edit) {
			continue
		}
		if isKnown = true; edit.IsCreation() || slices.ContainsFunc(present, func(selection template.Selection) bool { return content.Concerns(edit, selection) }) {
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

// ignored returns what the record says about the configs that are ignored: their names, sorted and
// separated by commas. A config that is gone stays ignored if the record says so. So does one for which lacking returns true:
// the record is to cover what the present one covers, and lacks it.
func ignored(v *catalog.View, lacking func(names.ConfigRef) bool) string {
	var listed []string
	for ofOne := range names.Runs(v.Workload.References, template.OfOneConfig) {
		ref := ofOne[0].Config
		config := v.Present(ref)
		if ref.Kind.IsPerPod() {
			continue // nobody can ignore it by an annotation of its own
		}
		stays := config == nil || lacking(ref)
		if v.Workload.Ignores(config) || stays && v.Workload.Record.SaysIgnored(ref) {
			listed = append(listed, ref.NameWithin())
		}
	}
	all := strings.Join(listed, ",")
	if len(all) <= record.MaxIgnored {
		return all
	}
	fitting := all[:strings.LastIndex(all[:record.MaxIgnored-len(record.OtherIgnored)], ",")+1]
	return fitting + record.OtherIgnored
}

// counting returns a function that reports whether an edit of a config, or its creation, may be one that pods have missed, for all
// that the record says. There may be very many edits.
func (s *seenConfig) counting(w *workload.Workload) func(annotation.Edit) bool {
	until, onlySeen := ignoredUntil(w, s.config), w.Record.LacksInOriginal(s.ref)
	_, isRecorded := w.Record.Checksums[s.ref]
	isCovered := isRecorded && w.Record.Trusted // so it was not ignored, or not for long enough to be recorded
	mayBeIgnored := until > 0 || w.Record.SaysIgnored(s.ref)
	return func(edit annotation.Edit) bool {
		cameIgnored := mayBeIgnored && edit.Seen <= until && (!isCovered || s.narrowing != nil && !s.narrowing.isCovered(edit))
		return afterOptIn(edit, w) && (edit.Seen > 0 || !onlySeen) && s.narrowing.isReason(edit) && !cameIgnored
	}
}

// ignoredUntil returns a moment until which the workload ignored a config, as far as a watch showed it; 0 if none did.
// An edit of the config by then does not count.
func ignoredUntil(w *workload.Workload, config *content.Config) names.Sequence {
	until := config.CountsAfter()
	if !w.NeedsMark(config.Ref) {
		return until
	}
	changed, marked := w.FilterChanged(), config.MarkedAfter()
	recorded := w.RecordedReferences(config.Ref)
	switch {
	case changed == 0:
		return max(until, marked)
	case w.Record.Trusted && w.Record.SaysIgnored(config.Ref) && len(recorded) > 0 && recorded[0].NeedsMark:
		return max(until, min(marked, changed)) // it may have counted by a filter in between
	}
	return until
}
