package apiclient_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/rest"

	"kubernetes-deployment-restart-controller/internal/apiclient"
)

// refusing is an API server that refuses everything, and counts what is read of its answers.
type refusing struct {
	code    int
	header  http.Header
	content io.Reader
	read    int
}

func (s *refusing) RoundTrip(request *http.Request) (*http.Response, error) {
	s.read = 0
	return &http.Response{StatusCode: s.code, Request: request, Header: s.header, Body: io.NopCloser(readerFunc(func(into []byte) (int, error) {
		n, err := s.content.Read(into)
		s.read += n
		return n, err
	}))}, nil
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(into []byte) (int, error) { return f(into) }

// get asks for a Deployment.
func (s *refusing) get(t *testing.T) error {
	t.Helper()
	rate := apiclient.Rate{QPS: 100, Burst: 100}
	clients, err := apiclient.Connect(&rest.Config{Host: "http://api", Transport: s}, rate, rate)
	if err != nil {
		t.Fatal(err)
	}
	_, err = clients.Apps.Deployments("ns").Get(t.Context(), "web", metav1.GetOptions{})
	return err
}

var encoders = map[string]runtime.Encoder{
	"application/json":                    json.NewSerializerWithOptions(json.DefaultMetaFactory, apiclient.Scheme, apiclient.Scheme, json.SerializerOptions{}),
	"application/vnd.kubernetes.protobuf": protobuf.NewSerializer(apiclient.Scheme, apiclient.Scheme),
}

// refuse answers with a message of some size, in one encoding.
func refuse(t *testing.T, encoding string, code int32, reason string, size int) *refusing {
	t.Helper()
	status := &metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: code,
		Reason: metav1.StatusReason(reason), Message: strings.Repeat("x", size),
	}
	var content bytes.Buffer
	if err := encoders[encoding].Encode(status, &content); err != nil {
		t.Fatal(err)
	}
	return &refusing{code: int(code), header: http.Header{"Content-Type": {encoding}}, content: &content}
}

func TestARefusalOfUsualSizeIsReadAsItIs(t *testing.T) {
	for encoding := range encoders {
		err := refuse(t, encoding, 403, "it is Friday", 60<<10).get(t)
		var status apierrors.APIStatus
		if !errors.As(err, &status) || status.Status().Reason != "it is Friday" || len(status.Status().Message) != 60<<10 {
			t.Errorf("%s: %.200v", encoding, err)
		}
	}
}

func TestTheCodeOfATooLargeRefusalCounts(t *testing.T) {
	for encoding := range encoders {
		for code, reason := range map[int32]string{
			400: "badrequest", 403: "forbidden", 404: "notfound", 409: "conflict", 410: "gone", 418: "unknown", 422: "invalid", 500: "internalerror", 504: "timeout",
		} {
			server := refuse(t, encoding, code, "it is Friday", 16<<20)
			err := server.get(t)
			var status apierrors.APIStatus
			if !errors.As(err, &status) || status.Status().Code != code || apiclient.FailureReason(err) != reason || len(err.Error()) > 200 {
				t.Errorf("%s, %d: %.200v", encoding, code, err)
			}
			if server.read > 65<<10 {
				t.Errorf("%s, %d: %d bytes were read", encoding, code, server.read)
			}
		}
	}
}

func TestATooLargeRefusalSaysWhenToTryAgain(t *testing.T) {
	server := refuse(t, "application/vnd.kubernetes.protobuf", 429, "later", 16<<20)
	server.header.Set("Retry-After", "0") // client-go waits for it, and tries again
	err := server.get(t)
	if !apierrors.IsTooManyRequests(err) {
		t.Errorf("got %v", err)
	}
	server = refuse(t, "application/json", 503, "later", 16<<20)
	server.header.Set("Retry-After", "soon")
	if err := server.get(t); !apierrors.IsServiceUnavailable(err) {
		t.Errorf("got %v", err)
	}
}

func TestATruncatedRefusalIsNotAnAnswer(t *testing.T) {
	server := refuse(t, "application/json", 403, "it is Friday", 10)
	lost := syscall.ECONNRESET
	server.content = io.MultiReader(strings.NewReader(`{"kind":"Status",`), readerFunc(func([]byte) (int, error) { return 0, lost }))
	if err := server.get(t); !errors.Is(err, lost) || !apiclient.IsUnanswered(err) {
		t.Errorf("got %v", err)
	}
}
