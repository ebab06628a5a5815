package apiclient

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"golang.org/x/net/http2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// reasons holds the reasons that the API server itself gives, with their names in metrics. An
// admission webhook may give any other text as its reason.
var reasons = namesOf(
	metav1.StatusReasonUnauthorized, metav1.StatusReasonForbidden, metav1.StatusReasonNotFound,
	metav1.StatusReasonAlreadyExists, metav1.StatusReasonConflict, metav1.StatusReasonGone, metav1.StatusReasonInvalid,
	metav1.StatusReasonServerTimeout, metav1.StatusReasonStoreReadError, metav1.StatusReasonTimeout,
	metav1.StatusReasonTooManyRequests, metav1.StatusReasonBadRequest, metav1.StatusReasonMethodNotAllowed,
	metav1.StatusReasonNotAcceptable, metav1.StatusReasonRequestEntityTooLarge, metav1.StatusReasonUnsupportedMediaType,
	metav1.StatusReasonInternalError, metav1.StatusReasonExpired, metav1.StatusReasonServiceUnavailable,
)

func namesOf(all ...metav1.StatusReason) map[metav1.StatusReason]string {
	names := make(map[metav1.StatusReason]string, len(all))
	for _, reason := range all {
		names[reason] = strings.ToLower(string(reason))
	}
	return names
}

// reasonsByCode holds the reasons of answers whose own reason is not known.
var reasonsByCode = map[int32]metav1.StatusReason{
	http.StatusBadRequest:            metav1.StatusReasonBadRequest,
	http.StatusUnauthorized:          metav1.StatusReasonUnauthorized,
	http.StatusForbidden:             metav1.StatusReasonForbidden,
	http.StatusNotFound:              metav1.StatusReasonNotFound,
	http.StatusMethodNotAllowed:      metav1.StatusReasonMethodNotAllowed,
	http.StatusConflict:              metav1.StatusReasonConflict,
	http.StatusGone:                  metav1.StatusReasonGone,
	http.StatusRequestEntityTooLarge: metav1.StatusReasonRequestEntityTooLarge,
	http.StatusUnprocessableEntity:   metav1.StatusReasonInvalid,
	http.StatusTooManyRequests:       metav1.StatusReasonTooManyRequests,
	http.StatusInternalServerError:   metav1.StatusReasonInternalError,
	http.StatusServiceUnavailable:    metav1.StatusReasonServiceUnavailable,
	http.StatusGatewayTimeout:        metav1.StatusReasonTimeout,
}

// IneffectiveError is the error of a write that the API server has accepted but that counts
// as failed because the object does not have the requested content. A mutating admission
// webhook or policy can cause that. Writing again immediately would have the same result, as
// fast as the API server answers.
type IneffectiveError struct {
	Object  string // a readable name
	Missing string // the part that is not as requested; empty if the object has not changed at all
}

// Error implements error.
func (e *IneffectiveError) Error() string {
	found := e.Object + " has not changed"
	if e.Missing != "" {
		found = fmt.Sprintf("%s differs from the request (%s)", e.Object, e.Missing)
	}
	return "the API server accepted a write without effect: " + found + "; an admission webhook or policy may be the cause"
}

// IsIneffective reports whether an error is that of a write without effect.
func IsIneffective(err error) bool {
	var ineffective *IneffectiveError
	return errors.As(err, &ineffective)
}

// FailureReason names the kind of a failed request for metrics: the API's reason in lower
// case, "ineffective" for a write without effect, or "network" for an API server that did not
// answer. The set of names is closed: a reason that the API server does not give by itself is
// replaced by the reason of its HTTP status code, or by "unknown". An error that is neither
// an answer nor the lack of one is "unknown" too.
func FailureReason(err error) string {
	var status apierrors.APIStatus
	switch {
	case IsIneffective(err):
		return "ineffective"
	case IsUnanswered(err):
		return "network"
	case !errors.As(err, &status):
		return "unknown"
	}
	if name, known := reasons[status.Status().Reason]; known {
		return name
	}
	if name, known := reasons[reasonsByCode[status.Status().Code]]; known {
		return name
	}
	return "unknown"
}

// IsUnanswered reports whether a request failed because no answer came: the API server could
// not be reached, or the connection broke. Other errors, for example about an object that
// cannot be encoded, say nothing about the API server.
func IsUnanswered(err error) bool {
	if IsAnswered(err) {
		return false
	}
	var transport net.Error // as url.Error, syscall.Errno and context.DeadlineExceeded are
	return errors.As(err, &transport) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || isBrokenStream(err)
}

// IsAnswered reports whether an error is the API server's answer to a request, or means that
// the answer lacks the requested content.
func IsAnswered(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) || IsIneffective(err)
}

// isBrokenStream reports whether the connection broke, or the API server ended the stream,
// before all of an answer was read.
func isBrokenStream(err error) bool {
	var stream http2.StreamError
	return errors.As(err, &stream) || utilnet.IsHTTP2ConnectionLost(err) || err != nil && strings.Contains(err.Error(), "http2: server sent GOAWAY")
}
