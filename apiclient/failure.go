package apiclient

import (
	"errors"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// FailureReason names the kind of a failed request for metrics: the API's reason
// in lower case, or "network" for an API server that did not answer.
func FailureReason(err error) string {
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
