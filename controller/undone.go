package controller

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/policy"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

// rewrites count how often in a row the record of a workload was written again because another
// client undid it. reported is whether an Event has reported that the writes are spaced out.
type rewrites struct {
	spent    policy.Budget
	reported bool
}

// putOffRecord puts off writing a record that another client keeps undoing, and reports whether
// it did so. The writes are spaced out like restarts, but restarts do not wait for them.
func (r *restarter) putOffRecord(w *workload.Workload) bool {
	if !w.RecordUndone {
		return false
	}
	now := time.Now()
	wait, news := r.journal.putOffRecord(w.Ref, r.spacing(w), now)
	if wait == 0 {
		return false
	}
	r.backlogs.putOffRecord(w.Ref, now.Add(wait))
	r.queue.AddAfter(w.Ref, wait)
	if news {
		r.reportUndone(w, now.Add(wait))
	}
	return true
}

func (r *restarter) reportUndone(w *workload.Workload, until time.Time) {
	manager, by := unknownManager, "another client"
	if writer := w.RecordWriter(); writer != "" {
		manager, by = writer, fmt.Sprintf("field manager %.64q", writer)
	}
	next := until.UTC().Format(time.RFC3339)
	r.log.Warn("another client keeps removing or replacing the record, writing it less often", "workload", w.Ref, "manager", manager, "until", next)
	r.events.Eventf(objectReference(w), corev1.EventTypeWarning, reasonUndone,
		"%s keeps removing or replacing the annotations %s and %s, which contain the controller's record. "+
			"The controller writes it again at %s, and then less and less often; restarts do not wait for that. Make the other writer leave both annotations alone",
		by, annotation.ChecksumsAnnotation, annotation.BasisAnnotation, next)
}

// noteRewritten notes that the record of a workload was written, if another client had undone it.
func (r *restarter) noteRewritten(w *workload.Workload) {
	if w.RecordUndone {
		r.metrics.undone.Inc()
		r.journal.noteRewritten(w.Ref, r.spacing(w), time.Now())
	}
}

// putOffRecord returns how long the record of a workload has to wait, and whether this is the
// first wait in a row.
func (j *journal) putOffRecord(ref names.WorkloadRef, spacing policy.Spacing, now time.Time) (wait time.Duration, news bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	row := j.rewrites[ref]
	if wait = row.spent.Wait(spacing, now); wait == 0 {
		return 0, false
	}
	news, row.reported = !row.reported, true
	j.rewrites[ref] = row
	return wait, news
}

func (j *journal) noteRewritten(ref names.WorkloadRef, spacing policy.Spacing, now time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	spent := j.rewrites[ref].spent.Spend(spacing, now)
	j.rewrites[ref] = rewrites{spent: spent, reported: j.rewrites[ref].reported && spent.Restarts > 1}
}
