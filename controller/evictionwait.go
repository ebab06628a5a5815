package controller

import (
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/internal/fairqueue"
	"kubernetes-deployment-restart-controller/internal/status"
)

// wait notes what the next eviction waits for.
func (e *evictor) wait(w *workload.Workload, wait evictionWait) {
	e.update(w.Ref, w.Evict, func(row *eviction) {
		if row.wait.reason == wait.reason {
			wait.since = row.wait.since
		}
		if row.wait.text != wait.text && wait.isOutside() {
			e.log.Info("eviction waits", "workload", w.Ref, "reason", wait.reason, "why", wait.text)
		}
		if wait.remedy == status.GrantPermission && row.wait.remedy != wait.remedy {
			e.refused.note()
		}
		row.wait = wait
	})
}

// failed takes in that a pod was not evicted, or that the pods could not be read, in an attempt that began then.
func (e *evictor) failed(w *workload.Workload, began time.Time, err error) {
	why, refusal := described(err, longestEventError), (*refusalError)(nil)
	wait := evictionWait{waitsForError, "trying again: " + why, time.Now(), remedyOf(err)}
	if errors.As(err, &refusal) {
		why = refusal.Error()
		wait.reason, wait.text = waitsForBudget, why
	}
	e.wait(w, wait)
	isNews, now := false, time.Now()
	e.update(w.Ref, w.Evict, func(row *eviction) {
		row.refusals++
		isWorthIt := refusal != nil || isPermanent(err) || row.refusals >= passingFailures
		if isNews = isWorthIt && now.Sub(row.reported) >= reminderPeriod; isNews {
			row.reported = now
		}
		switch { // a status that changes brings the workload back at once
		case refusal != nil:
			row.notBefore = now.Add(refusal.pause(row.refusals))
		case failureOf(err) == fairqueue.Refused:
			row.notBefore = now.Add(max(doubled(stepPause, row.refusals), listingShare*time.Since(began)))
		}
	})
	if isNews {
		e.events.Eventf(objectReference(w), corev1.EventTypeWarning, reasonNotEvicted, "cannot %s, trying again: %s", attemptOf(w), why)
	}
	if refusal != nil {
		e.queue.Forget(w.Ref)
		e.queue.AddAfter(w.Ref, refusal.pause(1))
		return
	}
	e.metrics.evictionErrors.WithLabelValues(failureReason(err)).Inc()
	e.log.Warn("cannot replace a pod, trying again", "workload", w.Ref, "error", err)
	e.queue.Retry(w.Ref, failureOf(err))
}
