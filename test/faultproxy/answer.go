package faultproxy

import (
	"encoding/json"
	"net/http"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// retryAfter is what a 429 asks to wait, in seconds: the least that can be said.
const retryAfter = 1

// refusal is how the API server would say it.
func refusal(kind Kind) *metav1.Status {
	status := func(code int32, reason metav1.StatusReason, message string) *metav1.Status {
		return &metav1.Status{
			TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
			Status:   metav1.StatusFailure, Code: code, Reason: reason, Message: message + " (fault proxy)",
		}
	}
	switch kind {
	case Conflict:
		return status(http.StatusConflict, metav1.StatusReasonConflict, "the object has been modified")
	case TooManyRequests:
		refused := status(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, "too many requests")
		refused.Details = &metav1.StatusDetails{RetryAfterSeconds: retryAfter}
		return refused
	case Unavailable:
		return status(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, "the server is unavailable")
	case Timeout:
		return status(http.StatusGatewayTimeout, metav1.StatusReasonTimeout, "the server did not answer in time")
	case Expired, ExpiredInStream:
		return status(http.StatusGone, metav1.StatusReasonExpired, "too old resource version")
	default:
		return status(http.StatusInternalServerError, metav1.StatusReasonInternalError, "internal error")
	}
}

func encode(status *metav1.Status) []byte {
	body, err := json.Marshal(status)
	if err != nil {
		panic(err) // a Status has nothing that could fail
	}
	return body
}

func answer(w http.ResponseWriter, status *metav1.Status) {
	w.Header().Set("Content-Type", "application/json")
	if status.Details != nil && status.Details.RetryAfterSeconds > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(status.Details.RetryAfterSeconds)))
	}
	w.WriteHeader(int(status.Code))
	_, _ = w.Write(encode(status)) // the client may be gone
}
