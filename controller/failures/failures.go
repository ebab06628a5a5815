package failures

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kubernetes-deployment-restart-controller/internal/apiclient"
	"kubernetes-deployment-restart-controller/internal/fairqueue"
)

// These errors say what it means if the API server refuses a patch, or seems to, because of
// the workload's version.
var (
	// ErrOutdated means that the patch was for a version that is no longer the present one.
	ErrOutdated = errors.New("the workload has changed")
	// ErrDenied means that the patch was for the present version.
	ErrDenied = errors.New("denied, although the workload has not changed")
)

// These errors are about writes that begin no restart.
var (
	// ErrOnlyRecord means that no restart is due of a workload that could not be patched.
	ErrOnlyRecord = errors.New("its record cannot be written, and no pods wait for that")
	// ErrNotMarked means that a restart is put off, whether or not the record can be marked.
	ErrNotMarked = errors.New("its record could not be written")
)

// OnlyRecord returns the error of a write that begins no restart, which is one of the above.
func OnlyRecord(kind, err error) error {
	if err == nil || errors.Is(err, ErrOutdated) {
		return err
	}
	return fmt.Errorf("%w: %w", kind, err)
}

// RecordErrorIn returns which of the above an error is, nil if it is none.
func RecordErrorIn(err error) error {
	for _, kind := range []error{ErrOnlyRecord, ErrNotMarked} {
		if errors.Is(err, kind) {
			return kind
		}
	}
	return nil
}

// Reason names the kind of a failure for metrics; see [apiclient.FailureReason].
func Reason(err error) string {
	if errors.Is(err, ErrDenied) || RemedyOf(err).IsPolicy() {
		return "denied" // whatever reason the policy or webhook gives
	}
	return apiclient.FailureReason(err)
}

// KeepsConflicting reports whether a conflict has come too often in a row to be transient. A
// conflict about a workload's version does not count.
func KeepsConflicting(err error, attempts int) bool {
	return apierrors.IsConflict(err) && !errors.Is(err, ErrOutdated) && attempts >= PassingFailures
}

// IsPermanent reports whether a failed request will keep failing until a user changes
// something: it was forbidden, invalid, denied by admission or left without effect by it.
// Every other failure can be transient.
func IsPermanent(err error) bool {
	if apiclient.IsIneffective(err) {
		return true
	}
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) || errors.Is(err, ErrOutdated) {
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
	ErrConfigsUnknown = errors.New("the configs of the namespace have not all been listed, and nothing is decided before: /readyz says why")
	ErrKeyUnknown     = errors.New("the key of Secrets' checksums is not known yet")
	ErrConfigChanging = errors.New("a config has changed and the watch is about to show it")
)

// IsWaiting reports whether an attempt ended because something is not known yet.
func IsWaiting(err error) bool {
	return slices.ContainsFunc([]error{ErrConfigsUnknown, ErrWorkloadsUnknown, ErrHaltsUnknown, ErrKeyUnknown, ErrConfigChanging},
		func(unknown error) bool { return errors.Is(err, unknown) })
}

// Of returns whether a failed attempt was answered.
func Of(err error) fairqueue.Failure {
	if !IsWaiting(err) && apiclient.IsUnanswered(err) {
		return fairqueue.Unanswered
	}
	return fairqueue.Refused
}

// These errors put a restart off until enough is known to hold it back.
var (
	ErrHaltsUnknown     = errors.New("the halts of former leaders have not been read yet")
	ErrWorkloadsUnknown = errors.New("the workloads of the namespace have not all been listed yet")
)

// PassingFailures is how often a request may fail for a transient reason before an Event
// reports it.
const PassingFailures = 3
