package controller

import (
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kubernetes-deployment-restart-controller/apiclient"
)

// These say what a refusal means that is, or seems to be, for a workload's version.
var (
	// errOutdated is a patch of a version that is no longer the present one.
	errOutdated = errors.New("the workload has changed")
	// errDenied is a patch of the present version.
	errDenied = errors.New("denied, although the workload has not changed")
)

// failureReason names the kind of a failure for metrics; see [apiclient.FailureReason].
func failureReason(err error) string {
	if errors.Is(err, errDenied) {
		return "denied"
	}
	return apiclient.FailureReason(err)
}

// keepsConflicting reports whether a conflict that would pass by itself has come too often
// in a row for that. One of a workload's version does not count.
func keepsConflicting(err error, attempts int) bool {
	return apierrors.IsConflict(err) && !errors.Is(err, errOutdated) && attempts >= passingFailures
}

// isPermanent tells whether a failed request will go on to fail until somebody
// changes something: it was forbidden, invalid or denied by admission. All else
// can pass by itself.
func isPermanent(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || errors.Is(err, errOutdated) {
		return false
	}
	switch code := status.Status().Code; code {
	case http.StatusUnauthorized, http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests:
		return false
	default:
		return code >= 400 && code < 500
	}
}

// ErrorFilter selects errors by their text. The zero value selects none.
type ErrorFilter struct {
	// Texts select the errors that contain one of them.
	Texts []string
	// Patterns select the errors that match one of them.
	Patterns []*regexp.Regexp
}

// matches reports whether the filter selects an error.
func (f ErrorFilter) matches(err error) bool {
	message := err.Error()
	return slices.ContainsFunc(f.Texts, func(text string) bool { return strings.Contains(message, text) }) ||
		slices.ContainsFunc(f.Patterns, func(pattern *regexp.Regexp) bool { return pattern.MatchString(message) })
}
