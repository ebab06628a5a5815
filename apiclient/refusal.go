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

// maxRefusal is how large an answer may be that refuses a request. The API server's own take
// some hundred bytes. It passes on those of admission webhooks up to 16 MiB and more.
const maxRefusal = 64 << 10

// bounded returns a copy of a configuration whose clients read no refusal that is larger.
func bounded(config *rest.Config) *rest.Config {
	own := rest.CopyConfig(config)
	own.Wrap(func(next http.RoundTripper) http.RoundTripper { return refusals{next} })
	return own
}

// refusals is a network whose refusals are bounded. Those that are larger are replaced by what
// their HTTP status code and headers say.
type refusals struct{ next http.RoundTripper }

// WrappedRoundTripper lets client-go find the connections.
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

// replace gives a response another content, which is as short as it can be.
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

// statusOf returns what a response says beside its content.
func statusOf(response *http.Response, method string) *metav1.Status {
	seconds, err := strconv.Atoi(response.Header.Get("Retry-After"))
	if err != nil {
		seconds = 0 // there is none in seconds, and client-go knows no other
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

// replayed is a body of which something has been read.
type replayed struct {
	io.Reader
	io.Closer
}

// failing ends a body as it has ended: with an error, if it is not nil.
type failing struct{ err error }

// Read implements io.Reader.
func (f failing) Read([]byte) (int, error) {
	if f.err != nil {
		return 0, f.err
	}
	return 0, io.EOF
}
