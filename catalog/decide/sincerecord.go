package decide

import (
	"time"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/policy"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

// What came after the record of a workload.

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

// hasRested reports whether the workload wanted no pods of its template, or may have wanted none, at some time
// since its record. Its present pods may then be younger than the record.
func hasRested(w *workload.Workload) bool { return w.Idle || w.Woke > 0 && w.Woke >= w.RecordSeen }

// hasChangedMethod reports whether a restart by eviction was not over, as far as is known, when the workload came to
// restart by its pod template again.
func hasChangedMethod(w *workload.Workload) bool {
	return w.Record.Evict > 0 && w.Method() == policy.ByTemplate
}
