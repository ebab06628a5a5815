package evict

import (
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/delivery"
	"kubernetes-deployment-restart-controller/controller/events"
	"kubernetes-deployment-restart-controller/controller/failures"
	"kubernetes-deployment-restart-controller/controller/follow"
	"kubernetes-deployment-restart-controller/controller/kinds"
	"kubernetes-deployment-restart-controller/controller/tracker"
	"kubernetes-deployment-restart-controller/internal/brief"
	"kubernetes-deployment-restart-controller/internal/fairqueue"
)

// Failed takes in that a pod was not evicted, or that the pods could not be read, in an attempt that began then.
func (e *Evictor) Failed(w *workload.Workload, began time.Time, err error) {
	why, refusal := failures.Described(err, failures.LongestEventError), (*refusalError)(nil)
	wait := tracker.EvictionWait{Reason: tracker.WaitsForError, Text: "trying again: " + why, Since: time.Now(), Remedy: failures.RemedyOf(err)}
	if errors.As(err, &refusal) {
		why = refusal.Error()
		wait.Reason, wait.Text = tracker.WaitsForBudget, why
	}
	e.wait(w, wait)
	isNews, now := false, time.Now()
	e.Update(w.Ref, w.Record.Evict, func(row *tracker.Eviction) {
		row.Refusals++
		isWorthIt := refusal != nil || failures.IsPermanent(err) || row.Refusals >= failures.PassingFailures
		if isNews = isWorthIt && now.Sub(row.Reported) >= tracker.ReminderPeriod; isNews {
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

// refusalError says that a PodDisruptionBudget refuses an eviction.
type refusalError struct {
	pod   *delivery.Evicted
	why   string
	after time.Duration // as the API server suggests
}

// Error implements error.
func (e *refusalError) Error() string {
	if !e.pod.IsReady {
		return "a PodDisruptionBudget refuses to evict a pod that is not ready: " + e.why
	}
	return "a PodDisruptionBudget refuses to evict a pod although all are ready: " + e.why
}

// refusalPause is how long to wait after a refusal, unless the API server suggests to wait longer.
const refusalPause = 10 * time.Second

// pause returns how long to wait after so many refusals in a row.
func (e *refusalError) pause(refusals int) time.Duration {
	return doubled(max(e.after, refusalPause), refusals)
}

// disruptionBudgetCause is the type of the cause that an API server names if a PodDisruptionBudget refuses. An overloaded
// one answers with the same code.
const disruptionBudgetCause = "DisruptionBudget"

// severalBudgets is part of the answer if several PodDisruptionBudgets select a pod, which the API does not support.
const severalBudgets = "more than one PodDisruptionBudget"

// refused returns the error of an eviction, which is a refusalError if a PodDisruptionBudget is the reason.
func refused(err error, pod *delivery.Evicted) error {
	if cause, isBudget := apierrors.StatusCause(err, disruptionBudgetCause); isBudget {
		seconds, _ := apierrors.SuggestsClientDelay(err)
		return &refusalError{pod, brief.Text(cause.Message), time.Duration(seconds) * time.Second}
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) && strings.Contains(status.Status().Message, severalBudgets) {
		return &refusalError{pod, brief.Text(status.Status().Message), 0}
	}
	return fmt.Errorf("evict pod %s: %w", pod.Name, err)
}
