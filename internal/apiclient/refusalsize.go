package apiclient

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// maxRefusal is how large an answer that refuses a request may be. The API server's own
// refusals take some hundred bytes. It passes on refusals of admission webhooks of 16 MiB and
// more.
const maxRefusal = 64 << 10

// bounded returns a copy of a configuration whose clients read no larger refusals, and streams in large pieces.
func bounded(config *rest.Config) *rest.Config {
	own := rest.CopyConfig(config)
	own.Wrap(func(next http.RoundTripper) http.RoundTripper { return buffered{refusals{next}} })
	return own
}

// refusals is a transport that limits the size of refusals. It replaces larger refusals by
// what their HTTP status code and headers say.
type refusals struct{ next http.RoundTripper }

// WrappedRoundTripper lets client-go find the underlying transport.
func (r refusals) WrappedRoundTripper() http.RoundTripper { return r.next }

// RoundTrip implements http.RoundTripper.
func (r refusals) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := r.next.RoundTrip(request)
	if err != nil || response.StatusCode < http.StatusBadRequest || response.Body == nil {
		return response, err
	}
	begin, err := io.ReadAll(io.LimitReader(response.Body, maxRefusal+1))
	if err == nil && len(begin) > maxRefusal {
		return response, replace(response, request.Method)
	}
	response.Body = &replayed{io.MultiReader(bytes.NewReader(begin), failing{err}), response.Body}
	return response, nil
}

// replace replaces the body of a response by one that is as short as possible.
func replace(response *http.Response, method string) error {
	content, err := json.Marshal(statusOf(response, method))
	if err != nil {
		return fmt.Errorf("encode status: %w", err)
	}
	response.Body = &replayed{bytes.NewReader(content), response.Body}
	response.ContentLength = int64(len(content))
	response.Header.Set("Content-Length", strconv.Itoa(len(content)))
	response.Header.Set("Content-Type", runtime.ContentTypeJSON)
	response.Header.Del("Content-Encoding")
	return nil
}

// statusOf returns what a response says apart from its body.
func statusOf(response *http.Response, method string) *metav1.Status {
	seconds, err := strconv.Atoi(response.Header.Get("Retry-After"))
	if err != nil {
		seconds = 0 // the value is not in seconds, and client-go understands no other
	}
	text := fmt.Sprintf("the request was refused in more than %d bytes, which were not read", maxRefusal)
	status := apierrors.NewGenericServerResponse(response.StatusCode, method, schema.GroupResource{}, "", text, seconds, false).ErrStatus
	if status.Reason == metav1.StatusReasonUnknown {
		status.Reason = reasonsByCode[status.Code]
	}
	status.Message = text + ": " + http.StatusText(response.StatusCode)
	status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	return &status
}

// replayed is a body that is read from somewhere else: a part of it has already been read.
type replayed struct {
	io.Reader
	io.Closer
}

// failing ends a body in the way in which the original ended: with an error, if it is not nil.
type failing struct{ err error }

// Read implements io.Reader.
func (f failing) Read([]byte) (int, error) {
	if f.err != nil {
		return 0, f.err
	}
	return 0, io.EOF
}
