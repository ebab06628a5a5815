package restart

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/events"
	"kubernetes-deployment-restart-controller/controller/kinds"
)

// putOffRecord puts off writing a record that another client keeps undoing, and reports whether
// it did so. The writes are spaced out like restarts, but restarts do not wait for them.
func (r *Restarter) putOffRecord(w *workload.Workload) bool {
	if !w.RecordUndone {
		return false
	}
	now := time.Now()
	wait, news := r.Table.SpaceRewrites(w.Ref, r.spacing(w), now)
	if wait == 0 {
		return false
	}
	r.Backlogs.PutOffRecord(w.Ref, now.Add(wait))
	r.Queue.AddAfter(w.Ref, wait)
	if news {
		r.reportUndone(w, now.Add(wait))
	}
	return true
}

func (r *Restarter) reportUndone(w *workload.Workload, until time.Time) {
	manager, by := unknownManager, "another client"
	if writer := w.RecordWriter(); writer != "" {
		manager, by = writer, fmt.Sprintf("field manager %.64q", writer)
	}
	next := until.UTC().Format(time.RFC3339)
	r.Log.Warn("another client keeps removing or replacing the record, writing it less often", "workload", w.Ref, "manager", manager, "until", next)
	r.Events.Eventf(kinds.ObjectReference(w), corev1.EventTypeWarning, events.Undone,
		"%s keeps removing or replacing the annotations %s and %s, which contain the controller's record. "+
			"The controller writes it again at %s, and then less and less often; restarts do not wait for that. Make the other writer leave both annotations alone",
		by, annotation.ChecksumsAnnotation, annotation.BasisAnnotation, next)
}

// noteRewritten notes that the record of a workload was written, if another client had undone it.
func (r *Restarter) noteRewritten(w *workload.Workload) {
	if w.RecordUndone {
		r.Metrics.Undone.Inc()
		r.Table.NoteRewritten(w.Ref, r.spacing(w), time.Now())
	}
}
