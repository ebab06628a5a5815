package restart

import (
	"errors"
	"log/slog"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/controller/events"
	"kubernetes-deployment-restart-controller/controller/failures"
	"kubernetes-deployment-restart-controller/controller/kinds"
	"kubernetes-deployment-restart-controller/internal/apiclient"
	"kubernetes-deployment-restart-controller/internal/status"
)

// isIgnored reports whether the operator wants to ignore a failure: then nothing waits for the workload either.
func (r *Restarter) isIgnored(err error) bool {
	return !failures.IsWaiting(err) && !errors.Is(err, failures.ErrOutdated) &&
		slices.ContainsFunc(r.IgnoredErrors, func(text string) bool { return strings.Contains(err.Error(), text) })
}

// Failed reports a request that failed and will be tried again.
func (r *Restarter) Failed(ref names.WorkloadRef, err error) {
	if failures.IsWaiting(err) {
		r.Backlogs.NoteFailure(ref, err, false)
		r.Log.Debug("waiting", "workload", ref, "for", err)
		return
	}
	isIgnored := r.isIgnored(err)
	reason := failures.Reason(err)
	if isIgnored {
		reason = "ignored"
	}
	r.Metrics.PatchErrors.WithLabelValues(reason).Inc()
	attempts, alike := r.Backlogs.NoteFailure(ref, err, isIgnored)
	if attempts == 1 && failures.RemedyOf(err) == status.GrantPermission {
		r.Refused.Note()
	}
	attempts = max(attempts, r.Queue.Failures(ref)+1)
	permanent := failures.IsPermanent(err) || failures.KeepsConflicting(err, attempts)
	switch {
	case errors.Is(err, failures.ErrOutdated):
		r.Log.Debug("workload has changed, deciding again", "workload", ref)
		return
	case isIgnored:
		atTimes(alike, r.Log, r.Log.Warn)("cannot update workload (ignored error), trying again", "workload", ref, "attempts", attempts, "error", err)
		return
	case permanent && r.ExitOnError:
		r.reportFailure(ref, err)
		r.fail(err)
		return
	case permanent:
		atTimes(alike, r.Log, r.Log.Error)("cannot update workload, trying again", "workload", ref, "attempts", attempts, "error", err)
	default:
		atTimes(alike, r.Log, r.Log.Warn)("cannot update workload for now, trying again", "workload", ref, "attempts", attempts, "error", err)
	}
	switch {
	case apiclient.IsIneffective(err) && attempts > 1: // already reported
	case permanent || attempts >= failures.PassingFailures:
		r.reportFailure(ref, err)
	}
}

// atTimes returns a function that writes a line about each of the first four attempts in a row with one reason, of which an
// Event reports the third, and then about the eighth, sixteenth and so on. About the others, it writes one at the debug level.
func atTimes(alike int, log *slog.Logger, write func(string, ...any)) func(string, ...any) {
	if alike > failures.PassingFailures && alike&(alike-1) != 0 {
		return log.Debug
	}
	return write
}

func (r *Restarter) reportFailure(ref names.WorkloadRef, err error) {
	if w := r.Catalog.Workload(ref); w != nil {
		r.Backlogs.NoteFailureTold(ref)
		failed := "cannot apply a config change"
		if failures.RecordErrorIn(err) != nil {
			failed = "cannot write a record"
		}
		r.Events.Eventf(kinds.ObjectReference(w), corev1.EventTypeWarning, events.RestartFailed, "%s, trying again: %s", failed, failures.Described(err, failures.LongestEventError))
	}
}
