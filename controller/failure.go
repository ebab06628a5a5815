package controller

import (
	"errors"
	"net/http"
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// failureReason names the kind of a failure for metrics: the API's reason in
// lower case, or "network" for an API server that did not answer.
func failureReason(err error) string {
	reason := apierrors.ReasonForError(err)
	if reason != metav1.StatusReasonUnknown {
		return strings.ToLower(string(reason))
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return "unknown"
	}
	return "network"
}

// isPermanent tells whether a failed request will go on to fail until somebody
// changes something: it was forbidden, invalid or denied by admission. All else
// can pass by itself.
func isPermanent(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	switch code := status.Status().Code; code {
	case http.StatusUnauthorized, http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests:
		return false
	default:
		return code >= 400 && code < 500
	}
}

// matchesAny tells whether the text of an error matches one of the patterns.
func matchesAny(err error, patterns []*regexp.Regexp) bool {
	for _, pattern := range patterns {
		if pattern.MatchString(err.Error()) {
			return true
		}
	}
	return false
}
