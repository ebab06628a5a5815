package objecttest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/rest"

	"kubernetes-deployment-restart-controller/internal/apiclient"
)

// objectServer answers as the API server does for one object, after as many failures as a
// test wants. The real one cannot be made to fail in these ways.
type objectServer[T any, P interface {
	*T
	metav1.Object
}] struct {
	Mu       sync.Mutex
	Object   T
	Failures []int // answers to the next requests
	Requests []string
	// Manager is the field manager of the last write.
	Manager string
	// Missing is whether there is no object, and CanCreate whether one may be created.
	Missing, CanCreate bool
	Hangs              time.Duration
	// ReadOnly is whether nothing may be written.
	ReadOnly bool
	// BeforeWrite is what somebody else does just before each write.
	BeforeWrite func(*objectServer[T, P])
}

// Core returns a client of the server.
func (s *objectServer[T, P]) Core(t *testing.T) apiclient.Core {
	t.Helper()
	config := &rest.Config{Host: "http://api", Transport: s, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
	core, err := apiclient.ConnectGroup(config, corev1.SchemeGroupVersion)
	if err != nil {
		t.Fatal(err)
	}
	return apiclient.NewCore(core)
}

func (s *objectServer[T, P]) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	s.Requests = append(s.Requests, r.Method)
	if len(s.Failures) > 0 {
		code := s.Failures[0]
		s.Failures = s.Failures[1:]
		s.refuse(w, code, "")
		return
	}
	if r.Method != http.MethodGet && s.BeforeWrite != nil {
		s.BeforeWrite(s)
	}
	switch {
	case r.Method == http.MethodPost && !s.CanCreate, r.Method == http.MethodPut && s.ReadOnly:
		s.refuse(w, http.StatusForbidden, metav1.StatusReasonForbidden)
	case r.Method == http.MethodPost && !s.Missing:
		s.refuse(w, http.StatusConflict, metav1.StatusReasonAlreadyExists)
	case r.Method != http.MethodPost && s.Missing:
		s.refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound)
	case r.Method == http.MethodGet:
		s.answer(w, http.StatusOK, &s.Object)
	default:
		s.write(w, r)
	}
}

func (s *objectServer[T, P]) write(w http.ResponseWriter, r *http.Request) {
	var written T
	err := json.NewDecoder(r.Body).Decode(&written)
	if err != nil || r.Method == http.MethodPut && P(&written).GetResourceVersion() != P(&s.Object).GetResourceVersion() {
		s.refuse(w, http.StatusConflict, metav1.StatusReasonConflict)
		return
	}
	s.Object, s.Missing, s.Manager = written, false, r.URL.Query().Get("fieldManager")
	s.answer(w, http.StatusOK, &written)
}

func (s *objectServer[T, P]) refuse(w http.ResponseWriter, code int, reason metav1.StatusReason) {
	s.answer(w, code, metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Reason: reason, Code: int32(code),
	})
}

func (s *objectServer[T, P]) answer(w http.ResponseWriter, code int, object any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(object)
}

// RoundTrip makes the server its own network, which a bubble of synctest can wait for.
func (s *objectServer[T, P]) RoundTrip(r *http.Request) (*http.Response, error) {
	select {
	case <-time.After(s.Hangs):
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	recorder := httptest.NewRecorder()
	s.ServeHTTP(recorder, r)
	return recorder.Result(), nil
}

// MadeList is how many objects there are, and how to make a list of some of them.
type MadeList struct {
	Total int
	Make  func(from, to int) apiclient.Page
}

// Answer is what the server made of a request, and how many bytes of it were read.
type Answer struct{ Limit, Objects, Read int }

// Respond answers a request with an object.
func Respond(code int, object apiruntime.Object) (*http.Response, error) {
	var body bytes.Buffer
	if err := protobuf.NewSerializer(apiclient.Scheme, apiclient.Scheme).Encode(object, &body); err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: code, Body: io.NopCloser(bytes.NewReader(body.Bytes())), ContentLength: int64(body.Len()),
		Header: http.Header{"Content-Type": {"application/vnd.kubernetes.protobuf"}},
	}, nil
}

// HeapInUse returns how many bytes of the heap are in use.
func HeapInUse() int {
	runtime.GC()
	runtime.GC() // what the first one has left to finalizers
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int(stats.HeapAlloc)
}

// ManyContainers is a pod template of 1.44 MB.
var ManyContainers = `{"spec":{"containers":[` + strings.Repeat("{},", 480_000) + `{}]}}`

// HaltServer answers for the ConfigMap of halts.
type HaltServer = objectServer[corev1.ConfigMap, *corev1.ConfigMap]

// Answers is an API server.
type Answers func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f Answers) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
