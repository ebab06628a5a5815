package watch

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
)

// server plays an API server that has ConfigMaps, without a network, so that a
// test can run in a synctest bubble.
type server struct {
	pages     [][]*corev1.ConfigMap // what a list shows; a streaming list brings all at once
	version   string                // of the list
	noStreams bool                  // whether streaming lists are rejected
	noWatches bool                  // whether lists are allowed, but no streams
	cuts      bool                  // whether streaming lists end before they are complete
	hangs     bool                  // whether requests that are not rejected are never answered
	// events are what an open stream sends next. Nil ends it.
	events chan *event

	mu       sync.Mutex
	failure  *metav1.Status // answers all requests, if it is not nil
	requests []string
}

// event is one line of a stream.
type event struct {
	Type   string `json:"type"`
	Object any    `json:"object"`
}

func newServer(pages ...[]*corev1.ConfigMap) *server {
	return &server{pages: pages, version: "5", events: make(chan *event)}
}

// client returns a client of the server.
func (s *server) client() rest.Interface {
	client, err := coreclient.NewForConfigAndClient(&rest.Config{Host: "http://api", QPS: -1}, &http.Client{Transport: s})
	if err != nil {
		panic(err)
	}
	return client.RESTClient()
}

func (s *server) hang() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hangs = true
}

func (s *server) fail(failure *metav1.Status) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failure = failure
}

// asked returns the requests since it was called last.
func (s *server) asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := s.requests
	s.requests = nil
	return asked
}

// RoundTrip answers a request.
func (s *server) RoundTrip(request *http.Request) (*http.Response, error) {
	failure := s.note(request)
	query := request.URL.Query()
	isStreamingList := query.Get("sendInitialEvents") == "true"
	switch {
	case s.hangs && !(isStreamingList && s.noStreams):
		<-request.Context().Done()
		return nil, request.Context().Err()
	case failure != nil:
		return answer(int(failure.Code), failure), nil
	case s.noWatches && query.Get("watch") == "true":
		return answer(http.StatusForbidden, refusal(http.StatusForbidden, metav1.StatusReasonForbidden)), nil
	case isStreamingList && s.noStreams:
		return answer(http.StatusUnprocessableEntity, refusal(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid)), nil
	case query.Get("watch") == "true":
		return s.stream(request.Context(), isStreamingList), nil
	}
	page, _ := strconv.Atoi(query.Get("continue"))
	return answer(http.StatusOK, s.page(page)), nil
}

// note notes a request, without what the reflector chooses, and returns with what
// failure it is to be answered.
func (s *server) note(request *http.Request) *metav1.Status {
	query := request.URL.Query()
	line := request.URL.Path
	for _, name := range []string{"watch", "sendInitialEvents", "resourceVersion", "fieldSelector", "limit", "continue"} {
		if query.Has(name) {
			line += " " + name + "=" + query.Get(name)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, line)
	return s.failure
}

func (s *server) page(n int) *corev1.ConfigMapList {
	list := &corev1.ConfigMapList{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMapList"},
		ListMeta: metav1.ListMeta{ResourceVersion: s.version},
	}
	for _, config := range s.pages[n] {
		list.Items = append(list.Items, *config)
	}
	if n+1 < len(s.pages) {
		list.Continue = strconv.Itoa(n + 1)
	}
	return list
}

func (s *server) stream(ctx context.Context, withList bool) *http.Response {
	var first []*event
	if withList {
		for _, config := range slices.Concat(s.pages...) {
			first = append(first, &event{"ADDED", config})
		}
		end := configMap("", s.version)
		end.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
		first = append(first, &event{"BOOKMARK", end})
		if s.cuts {
			first = first[:1]
		}
	}
	reader, writer := io.Pipe()
	go func() {
		encoder := json.NewEncoder(writer)
		for _, e := range first {
			if encoder.Encode(e) != nil {
				return // nobody reads any more
			}
		}
		if withList && s.cuts {
			_ = writer.Close()
			return
		}
		for {
			select {
			case e := <-s.events:
				if e == nil || encoder.Encode(e) != nil {
					_ = writer.Close()
					return
				}
			case <-ctx.Done():
				_ = writer.CloseWithError(ctx.Err())
				return
			}
		}
	}()
	return response(http.StatusOK, reader)
}

func answer(code int, object any) *http.Response {
	body, err := json.Marshal(object)
	if err != nil {
		panic(err)
	}
	return response(code, io.NopCloser(strings.NewReader(string(body))))
}

func response(code int, body io.ReadCloser) *http.Response {
	return &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Body: body}
}

func refusal(code int32, reason metav1.StatusReason) *metav1.Status {
	return &metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure, Code: code, Reason: reason, Message: fmt.Sprintf("it is %s", reason),
	}
}
