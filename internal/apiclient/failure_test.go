package apiclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/http2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kubernetes-deployment-restart-controller/internal/apiclient"
)

func TestFailuresAreNamedAsTheAPINamesThem(t *testing.T) {
	deployments := schema.GroupResource{Group: "apps", Resource: "deployments"}
	for want, err := range map[string]error{
		"forbidden":       apierrors.NewForbidden(deployments, "web", errors.New("denied")),
		"conflict":        apierrors.NewConflict(deployments, "web", errors.New("changed")),
		"toomanyrequests": apierrors.NewTooManyRequests("later", 1),
		"unknown":         apierrors.NewGenericServerResponse(http.StatusTeapot, "patch", deployments, "web", "", 0, true),
		"network":         syscall.ECONNREFUSED,
	} {
		if got := apiclient.FailureReason(fmt.Errorf("patch web: %w", err)); got != want {
			t.Errorf("reason: got %q, want %q", got, want)
		}
	}
}

func denied(code int32, reason string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: metav1.StatusReason(reason), Message: reason}}
}

func TestAReasonThatAWebhookMadeUpIsNamedByItsCode(t *testing.T) {
	for code, want := range map[int32]string{
		400: "badrequest", 401: "unauthorized", 403: "forbidden", 404: "notfound", 405: "methodnotallowed", 409: "conflict", 410: "gone",
		413: "requestentitytoolarge", 422: "invalid", 429: "toomanyrequests", 500: "internalerror", 503: "serviceunavailable", 504: "timeout",
		418: "unknown", 0: "unknown",
	} {
		if got := apiclient.FailureReason(denied(code, "you may not: it is Friday")); got != want {
			t.Errorf("code %d: got %q, want %q", code, got, want)
		}
	}
}

func TestAWebhookThatGivesANewReasonEachTimeHasOneName(t *testing.T) {
	names := make(map[string]struct{})
	for i := range 1000 {
		names[apiclient.FailureReason(denied(400, fmt.Sprintf("denied for the %dth time", i)))] = struct{}{}
	}
	if len(names) != 1 {
		t.Errorf("%d names", len(names))
	}
}

func TestAFailureWithoutAnAnswerDiffersFromARefusal(t *testing.T) {
	refused := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "web", errors.New("denied"))
	for err, want := range map[error]bool{
		nil: false, refused: false, fmt.Errorf("patch web: %w", refused): false, syscall.ECONNREFUSED: true,
		&url.Error{Op: "Patch", Err: errors.New("http2: server sent GOAWAY")}: true,
		fmt.Errorf("list pods: %w", io.ErrUnexpectedEOF):                      true, io.EOF: true, context.DeadlineExceeded: true,
		fmt.Errorf("list pods: %w", http2.StreamError{StreamID: 1, Code: http2.ErrCodeInternal}):       true,
		fmt.Errorf("list pods: %w", errors.New("http2: server sent GOAWAY and closed the connection")): true,
		errors.New("http2: client connection lost"):                                                    true,
	} {
		if got := apiclient.IsUnanswered(err); got != want {
			t.Errorf("%v: got %t, want %t", err, got, want)
		}
	}
}

// Something that cannot be encoded must not make the API
// server look as if it were away.
func TestAFailureToEncodeIsNotAFailureOfTheConnection(t *testing.T) {
	_, err := json.Marshal(time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC))
	if err == nil || apiclient.IsUnanswered(err) || apiclient.FailureReason(err) != "unknown" {
		t.Errorf("%v: unanswered %t, reason %s", err, apiclient.IsUnanswered(err), apiclient.FailureReason(err))
	}
}
