package evict

import (
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/events"
	"kubernetes-deployment-restart-controller/controller/failures"
	"kubernetes-deployment-restart-controller/controller/follow"
	"kubernetes-deployment-restart-controller/controller/kinds"
	"kubernetes-deployment-restart-controller/controller/pending"
	"kubernetes-deployment-restart-controller/internal/fairqueue"
)

// Failed takes in that a pod was not evicted, or that the pods could not be read, in an attempt that began then.
func (e *Evictor) Failed(w *workload.Workload, began time.Time, err error) {
	why, refusal := failures.Described(err, failures.LongestEventError), (*refusalError)(nil)
	wait := follow.EvictionWait{Reason: follow.WaitsForError, Text: "trying again: " + why, Since: time.Now(), Remedy: failures.RemedyOf(err)}
	if errors.As(err, &refusal) {
		why = refusal.Error()
		wait.Reason, wait.Text = follow.WaitsForBudget, why
	}
	e.wait(w, wait)
	isNews, now := false, time.Now()
	e.Update(w.Ref, w.Record.Evict, func(row *follow.Eviction) {
		row.Refusals++
		isWorthIt := refusal != nil || failures.IsPermanent(err) || row.Refusals >= failures.PassingFailures
		if isNews = isWorthIt && now.Sub(row.Reported) >= pending.ReminderPeriod; isNews {
			row.Reported = now
		}
		switch { // a status that changes brings the workload back at once
		case refusal != nil:
			row.NotBefore = now.Add(refusal.pause(row.Refusals))
		case failures.Of(err) == fairqueue.Refused:
			row.NotBefore = now.Add(max(doubled(stepPause, row.Refusals), follow.ListingShare*time.Since(began)))
		}
	})
	if isNews {
		e.Events.Eventf(kinds.ObjectReference(w), corev1.EventTypeWarning, events.NotEvicted, "cannot %s, trying again: %s", attemptOf(w), why)
	}
	if refusal != nil {
		e.Queue.Forget(w.Ref)
		e.Queue.AddAfter(w.Ref, refusal.pause(1))
		return
	}
	e.Metrics.EvictionErrors.WithLabelValues(failures.Reason(err)).Inc()
	e.Log.Warn("cannot replace a pod, trying again", "workload", w.Ref, "error", err)
	e.Queue.Retry(w.Ref, failures.Of(err))
}
