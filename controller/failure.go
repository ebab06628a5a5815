package controller

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/internal/apiclient"
	"kubernetes-deployment-restart-controller/internal/fairqueue"
	"kubernetes-deployment-restart-controller/internal/status"
)

// These errors say what it means if the API server refuses a patch, or seems to, because of
// the workload's version.
var (
	// errOutdated means that the patch was for a version that is no longer the present one.
	errOutdated = errors.New("the workload has changed")
	// errDenied means that the patch was for the present version.
	errDenied = errors.New("denied, although the workload has not changed")
)

// These errors are about writes that begin no restart.
var (
	// errOnlyRecord means that no restart is due of a workload that could not be patched.
	errOnlyRecord = errors.New("its record cannot be written, and no pods wait for that")
	// errNotMarked means that a restart is put off, whether or not the record can be marked.
	errNotMarked = errors.New("its record could not be written")
)

// onlyRecord returns the error of a write that begins no restart, which is one of the above.
func onlyRecord(kind, err error) error {
	if err == nil || errors.Is(err, errOutdated) {
		return err
	}
	return fmt.Errorf("%w: %w", kind, err)
}

// recordErrorIn returns which of the above an error is, nil if it is none.
func recordErrorIn(err error) error {
	for _, kind := range []error{errOnlyRecord, errNotMarked} {
		if errors.Is(err, kind) {
			return kind
		}
	}
	return nil
}

// failureReason names the kind of a failure for metrics; see [apiclient.FailureReason].
func failureReason(err error) string {
	if errors.Is(err, errDenied) || remedyOf(err).IsPolicy() {
		return "denied" // whatever reason the policy or webhook gives
	}
	return apiclient.FailureReason(err)
}

// keepsConflicting reports whether a conflict has come too often in a row to be transient. A
// conflict about a workload's version does not count.
func keepsConflicting(err error, attempts int) bool {
	return apierrors.IsConflict(err) && !errors.Is(err, errOutdated) && attempts >= passingFailures
}

// isPermanent reports whether a failed request will keep failing until a user changes
// something: it was forbidden, invalid, denied by admission or left without effect by it.
// Every other failure can be transient.
func isPermanent(err error) bool {
	if apiclient.IsIneffective(err) {
		return true
	}
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) || errors.Is(err, errOutdated) {
		return false
	}
	switch code := answer.Status().Code; code {
	case http.StatusUnauthorized, http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests:
		return false
	default:
		return code >= 400 && code < 500
	}
}

// These errors put a workload off until everything that a decision needs is known.
var (
	errConfigsUnknown = errors.New("the configs of the namespace have not all been listed, and nothing is decided before: /readyz says why")
	errKeyUnknown     = errors.New("the key of Secrets' checksums is not known yet")
	errConfigChanging = errors.New("a config has changed and the watch is about to show it")
)

// isWaiting reports whether an attempt ended because something is not known yet.
func isWaiting(err error) bool {
	return slices.ContainsFunc([]error{errConfigsUnknown, errWorkloadsUnknown, errHaltsUnknown, errKeyUnknown, errConfigChanging},
		func(unknown error) bool { return errors.Is(err, unknown) })
}

// failureOf returns whether a failed attempt was answered.
func failureOf(err error) fairqueue.Failure {
	if !isWaiting(err) && apiclient.IsUnanswered(err) {
		return fairqueue.Unanswered
	}
	return fairqueue.Refused
}

// isIgnored reports whether the operator wants to ignore a failure: then nothing waits for the workload either.
func (r *restarter) isIgnored(err error) bool {
	return !isWaiting(err) && !errors.Is(err, errOutdated) &&
		slices.ContainsFunc(r.ignoredErrors, func(text string) bool { return strings.Contains(err.Error(), text) })
}

// failed reports a request that failed and will be tried again.
func (r *restarter) failed(ref names.WorkloadRef, err error) {
	if isWaiting(err) {
		r.backlogs.noteFailure(ref, err, false)
		r.log.Debug("waiting", "workload", ref, "for", err)
		return
	}
	isIgnored := r.isIgnored(err)
	reason := failureReason(err)
	if isIgnored {
		reason = "ignored"
	}
	r.metrics.patchErrors.WithLabelValues(reason).Inc()
	attempts, alike := r.backlogs.noteFailure(ref, err, isIgnored)
	if attempts == 1 && remedyOf(err) == status.GrantPermission {
		r.refused.note()
	}
	attempts = max(attempts, r.queue.Failures(ref)+1)
	permanent := isPermanent(err) || keepsConflicting(err, attempts)
	switch {
	case errors.Is(err, errOutdated):
		r.log.Debug("workload has changed, deciding again", "workload", ref)
		return
	case isIgnored:
		atTimes(alike, r.log, r.log.Warn)("cannot update workload (ignored error), trying again", "workload", ref, "attempts", attempts, "error", err)
		return
	case permanent && r.exitOnError:
		r.reportFailure(ref, err)
		r.fail(err)
		return
	case permanent:
		atTimes(alike, r.log, r.log.Error)("cannot update workload, trying again", "workload", ref, "attempts", attempts, "error", err)
	default:
		atTimes(alike, r.log, r.log.Warn)("cannot update workload for now, trying again", "workload", ref, "attempts", attempts, "error", err)
	}
	switch {
	case apiclient.IsIneffective(err) && attempts > 1: // already reported
	case permanent || attempts >= passingFailures:
		r.reportFailure(ref, err)
	}
}

// atTimes returns a function that writes a line about each of the first four attempts in a row with one reason, of which an
// Event reports the third, and then about the eighth, sixteenth and so on. About the others, it writes one at the debug level.
func atTimes(alike int, log *slog.Logger, write func(string, ...any)) func(string, ...any) {
	if alike > passingFailures && alike&(alike-1) != 0 {
		return log.Debug
	}
	return write
}

func (r *restarter) reportFailure(ref names.WorkloadRef, err error) {
	if w := r.catalog.Workload(ref); w != nil {
		r.backlogs.noteFailureTold(ref)
		failed := "cannot apply a config change"
		if recordErrorIn(err) != nil {
			failed = "cannot write a record"
		}
		r.events.Eventf(objectReference(w), corev1.EventTypeWarning, reasonRestartFailed, "%s, trying again: %s", failed, described(err, longestEventError))
	}
}
