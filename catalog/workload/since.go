package workload

import (
	"time"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/names"
)

// Lacks reports whether an edit came after the workload's record.
func (w *Workload) Lacks(edit annotation.Edit) bool {
	if edit.Seen > 0 {
		return w.IsLater(names.Sighting{At: edit.At, Seen: edit.Seen})
	}
	return !edit.At.Before(w.Applied.Written.Truncate(time.Second))
}

// LastRight returns the moment at which the pods were last known to have, or to be about to get,
// the recorded content.
func (w *Workload) LastRight() names.Sequence { return max(w.RecordSeen, w.PodsSeen) }

// IsLater reports whether the watch showed something after the pods were last known to have, or to
// be about to get, the recorded content. The watch of workloads may be behind and show another
// process's record long after it was written, so anything dated after the write counts too.
func (w *Workload) IsLater(shown names.Sighting) bool {
	isWrittenBefore := shown.Seen > 0 && shown.At.Sub(w.Applied.Written) > -names.ClockTolerance
	return shown.Seen > w.LastRight() || isWrittenBefore && !w.OwnRecord && w.PodsSeen == 0
}

// ContradictedSince returns [record.AppliedState.Contradicted] if it matters to the pods of the present
// template. It does not matter if they were found to be up to date since then, unless the record
// itself is marked.
func (w *Workload) ContradictedSince() time.Time {
	if isVerified := w.PodsSeen > 0; isVerified && !w.Applied.Marked {
		return time.Time{}
	}
	return w.Applied.Contradicted
}

// IsProof reports whether the workload runs, with all its pods, what its record says.
func (w *Workload) IsProof() bool {
	return w.Applied.Trusted && w.Applied.Reverted == nil && !w.Idle && w.Hold == NoHold && !w.Deleting && w.Rollout.IsWhole() && w.Evict == 0
}
