package controller

import (
	"cmp"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/internal/fairqueue"
	"kubernetes-deployment-restart-controller/internal/status"
)

// evictionWait is what the next eviction waits for; the zero value for nothing.
type evictionWait struct {
	reason evictionReason
	text   string
	since  time.Time
	remedy status.Remedy
}

// evictionReason is a kind of wait. The set is closed, because a metric has it as a label.
type evictionReason string

const (
	waitsForPods   evictionReason = "pods"              // the last pod has not been replaced
	waitsForPerson evictionReason = "held"              // people hold the restart, or its content is halted
	waitsForBudget evictionReason = "disruption-budget" // a PodDisruptionBudget refuses
	waitsForError  evictionReason = "error"             // an eviction failed
)

var evictionReasons = []evictionReason{waitsForPods, waitsForPerson, waitsForBudget, waitsForError}

// isOutside reports whether the wait has nothing to do with the pods of the workload.
func (w *evictionWait) isOutside() bool { return w.reason != "" && w.reason != waitsForPods }

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

// collect computes the metric of the restarts by eviction that are not over.
func (e *evictor) collect(gauge func(desc *prometheus.Desc, value float64, labels ...string)) {
	count := make(map[evictionReason]int)
	e.each(func(_ names.WorkloadRef, row eviction) { count[cmp.Or(row.wait.reason, waitsForPods)]++ })
	for _, reason := range evictionReasons {
		gauge(evictingDesc, float64(count[reason]), string(reason))
	}
}
