package decide

import (
	"time"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

// Which edits and earlier contents count: those since the record and, without one, since the opt-in.

// afterOptIn reports whether an edit may have come after the workload opted in: by the
// order in which the watches showed both, or by the clocks if a gap in the watch leaves the
// order open. Two watches may show events in another order than they happened, and OptedIn
// may be late.
func afterOptIn(edit annotation.Edit, w *workload.Workload) bool {
	switch {
	case edit.Seen == 0:
		return !edit.At.Before(w.OptedIn)
	case edit.Seen > w.EnabledSeen:
		return true
	case edit.Seen > w.EnabledAfter:
		return names.IsAfter(edit.At, w.OptedIn, true)
	}
	return names.IsAfter(edit.At, w.OptedIn, false)
}

// lacks reports whether an edit came after the workload's record.
func lacks(w *workload.Workload, edit annotation.Edit) bool {
	if edit.Seen > 0 {
		return isLater(w, names.Sighting{At: edit.At, Seen: edit.Seen})
	}
	return !edit.At.Before(w.Record.Written.Truncate(time.Second))
}

// isMissed reports whether an edit that no watch showed may have come after the record of another process, whose pods this one has
// not verified.
func isMissed(w *workload.Workload, edit annotation.Edit) bool {
	return !w.OwnRecord && w.PodsSeen == 0 && lacks(w, edit)
}

// isLater reports whether the watch showed something after the pods were last known to have, or to
// be about to get, the recorded content. The watch of workloads may be behind and show another
// process's record long after it was written, so anything dated after the write counts too.
func isLater(w *workload.Workload, shown names.Sighting) bool {
	isWrittenBefore := shown.Seen > 0 && names.IsAfter(shown.At, w.Record.Written, true)
	return shown.Seen > w.LastRight() || isWrittenBefore && !w.OwnRecord && w.PodsSeen == 0
}

// since returns when the content came, and false if it went before the record, or before the pods
// were found to have what the record says. Content that was there at that moment counts: either it
// is the recorded content, or the config was gone, or the process that wrote the record knew other
// content than this catalog. In a mixture, some contents came later than the first one; if in
// doubt, any time since the record counts or, if the watch was behind, since the first one came.
func since(p *content.Past, w *workload.Workload) (time.Time, bool) {
	from := p.From.At
	if (p.Mixed || p.Vague) && !p.Late && p.From.Seen <= w.LastRight() {
		from = w.Record.Written
	}
	return from, isLater(w, p.Until) && !isGoneBefore(p, w)
}

// isGoneBefore reports whether the content had gone before another process made the record, so that
// no pod has read it: the record was made with a restart, after which all pods of the template were
// created. The clocks decide if the watches showed first that the content had gone, and then the
// record. Otherwise they must be apart by more than they may differ. If the times are too close, the
// record itself decides: had the content still been there, the record would say so, provided that it
// came early enough for the other process to know it.
func isGoneBefore(p *content.Past, w *workload.Workload) bool {
	if isUnseen := p.From.Seen == 0; isUnseen && p.IsAbsence() { // the record may have been the first one that has the config
		return !w.OwnRecord && !names.IsAfter(p.Until.At, w.Record.Written, false)
	}
	if w.OwnRecord || w.PodsSeen > 0 || !w.Record.WithRestart {
		return false
	}
	written, until := w.Record.Written, p.Until.At
	isClear := !until.After(written)
	if p.Until.Seen > w.RecordSeen {
		isClear = names.IsAfter(written, until, false)
	}
	wasKnown := !p.Mixed && !p.Vague && !p.IsAbsence() && names.IsAfter(written, p.From.At, false)
	return isClear || wasKnown && names.IsAfter(written, until, true)
}
