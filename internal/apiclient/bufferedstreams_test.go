package apiclient_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"kubernetes-deployment-restart-controller/internal/apiclient"
)

// streaming is an API server that answers each request with a stream, and counts how often that is read.
type streaming struct {
	stream io.Reader
	reads  int
}

func (s *streaming) RoundTrip(request *http.Request) (*http.Response, error) {
	body := readerFunc(func(into []byte) (int, error) { s.reads++; return s.stream.Read(into) })
	header := http.Header{"Content-Type": {"application/json"}}
	return &http.Response{StatusCode: http.StatusOK, Request: request, Header: header, Body: io.NopCloser(body)}, nil
}

// watch returns how many events the stream shows until it ends, or all if that comes first.
func (s *streaming) watch(t *testing.T, all int) (shown int) {
	t.Helper()
	rate := apiclient.Rate{QPS: 100, Burst: 100}
	clients, err := apiclient.Connect(&rest.Config{Host: "http://api", Transport: s}, rate, rate)
	if err != nil {
		t.Fatal(err)
	}
	watch, err := clients.Core.RESTClient().Get().Resource("configmaps").Param("watch", "true").Watch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	for range watch.ResultChan() {
		if shown++; shown == all {
			break
		}
	}
	return shown
}

// events returns so many events of a watch.
func events(count int) []byte {
	var all bytes.Buffer
	for i := range count {
		fmt.Fprintf(&all, `{"type":"ADDED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"config-%d"},"data":{"key":%q}}}`, i, strings.Repeat("x", 500))
	}
	return all.Bytes()
}

func TestAStreamIsReadInLargePieces(t *testing.T) {
	stream := events(1000)
	s := &streaming{stream: bytes.NewReader(stream)}
	if shown := s.watch(t, 0); shown != 1000 || s.reads > len(stream)/(8<<10) {
		t.Errorf("%d events of %d bytes were shown with %d reads", shown, len(stream), s.reads)
	}
}

func TestAnEventThatHasArrivedDoesNotWaitForTheNextOne(t *testing.T) {
	never, server := io.Pipe()
	defer func() { _ = server.Close() }()
	s := &streaming{stream: io.MultiReader(bytes.NewReader(events(1)), never)}
	if shown := s.watch(t, 1); shown != 1 {
		t.Errorf("%d events", shown)
	}
}
