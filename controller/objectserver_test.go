package controller

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"kubernetes-deployment-restart-controller/internal/apiclient"
)

// objectServer answers as the API server does for one object, after as many failures as a
// test wants. The real one cannot be made to fail in these ways.
type objectServer[T any, P interface {
	*T
	metav1.Object
}] struct {
	mu       sync.Mutex
	object   T
	failures []int // answers to the next requests
	requests []string
	// manager is the field manager of the last write.
	manager string
	// missing is whether there is no object, and canCreate whether one may be created.
	missing, canCreate bool
	hangs              time.Duration
	// readOnly is whether nothing may be written.
	readOnly bool
	// beforeWrite is what somebody else does just before each write.
	beforeWrite func(*objectServer[T, P])
}

// core returns a client of the server.
func (s *objectServer[T, P]) core(t *testing.T) apiclient.Core {
	t.Helper()
	config := &rest.Config{Host: "http://api", Transport: s, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
	core, err := apiclient.ConnectGroup(config, corev1.SchemeGroupVersion)
	if err != nil {
		t.Fatal(err)
	}
	return apiclient.NewCore(core)
}

func (s *objectServer[T, P]) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r.Method)
	if len(s.failures) > 0 {
		code := s.failures[0]
		s.failures = s.failures[1:]
		s.refuse(w, code, "")
		return
	}
	if r.Method != http.MethodGet && s.beforeWrite != nil {
		s.beforeWrite(s)
	}
	switch {
	case r.Method == http.MethodPost && !s.canCreate, r.Method == http.MethodPut && s.readOnly:
		s.refuse(w, http.StatusForbidden, metav1.StatusReasonForbidden)
	case r.Method == http.MethodPost && !s.missing:
		s.refuse(w, http.StatusConflict, metav1.StatusReasonAlreadyExists)
	case r.Method != http.MethodPost && s.missing:
		s.refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound)
	case r.Method == http.MethodGet:
		s.answer(w, http.StatusOK, &s.object)
	default:
		s.write(w, r)
	}
}

func (s *objectServer[T, P]) write(w http.ResponseWriter, r *http.Request) {
	var written T
	err := json.NewDecoder(r.Body).Decode(&written)
	if err != nil || r.Method == http.MethodPut && P(&written).GetResourceVersion() != P(&s.object).GetResourceVersion() {
		s.refuse(w, http.StatusConflict, metav1.StatusReasonConflict)
		return
	}
	s.object, s.missing, s.manager = written, false, r.URL.Query().Get("fieldManager")
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
	case <-time.After(s.hangs):
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	recorder := httptest.NewRecorder()
	s.ServeHTTP(recorder, r)
	return recorder.Result(), nil
}
