package controller

import (
	"errors"
	"net/http"
	"regexp"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

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
