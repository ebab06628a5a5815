package controller

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"kubernetes-deployment-restart-controller/apiclient"
	"kubernetes-deployment-restart-controller/catalog"
)

// secretServer answers as the API server does for the one Secret, after as many
// failures as a test wants. The real one cannot be made to fail in these ways.
type secretServer struct {
	mu       sync.Mutex
	secret   corev1.Secret
	failures []int // answers to the next requests
	requests []string
	// missing is whether there is no Secret, and canCreate whether one may be created.
	missing, canCreate bool
	// beforeWrite is what somebody else does just before a write.
	beforeWrite func(*secretServer)
}

func (s *secretServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
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
		s.beforeWrite = nil
	}
	switch {
	case r.Method == http.MethodPost && !s.canCreate:
		s.refuse(w, http.StatusForbidden, metav1.StatusReasonForbidden)
	case r.Method == http.MethodPost && !s.missing:
		s.refuse(w, http.StatusConflict, metav1.StatusReasonAlreadyExists)
	case r.Method != http.MethodPost && s.missing:
		s.refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound)
	case r.Method == http.MethodGet:
		s.answer(w, http.StatusOK, s.secret)
	default:
		s.write(w, r)
	}
}

func (s *secretServer) write(w http.ResponseWriter, r *http.Request) {
	var written corev1.Secret
	err := json.NewDecoder(r.Body).Decode(&written)
	if err != nil || r.Method == http.MethodPut && written.ResourceVersion != s.secret.ResourceVersion {
		s.refuse(w, http.StatusConflict, metav1.StatusReasonConflict)
		return
	}
	s.secret, s.missing = written, false
	s.answer(w, http.StatusOK, written)
}

func (s *secretServer) refuse(w http.ResponseWriter, code int, reason metav1.StatusReason) {
	s.answer(w, code, metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Reason: reason, Code: int32(code),
	})
}

func (s *secretServer) answer(w http.ResponseWriter, code int, object any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(object)
}

// RoundTrip makes the server its own network, which a bubble of synctest can wait for.
func (s *secretServer) RoundTrip(r *http.Request) (*http.Response, error) {
	recorder := httptest.NewRecorder()
	s.ServeHTTP(recorder, r)
	return recorder.Result(), nil
}

const testKeySecret = "checksum-key"

// findKey lets a keeper find the key at the server. It returns the key, the log and how
// long it took.
func findKey(t *testing.T, server *secretServer, readOnly bool) (key catalog.ChecksumKey, log string, took time.Duration) {
	t.Helper()
	server.secret.TypeMeta = metav1.TypeMeta{Kind: "Secret", APIVersion: "v1"}
	server.secret.Name, server.secret.Namespace, server.secret.ResourceVersion = testKeySecret, "own", "1"
	config := &rest.Config{Host: "http://api", Transport: server, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
	core, err := apiclient.ConnectGroup(config, corev1.SchemeGroupVersion)
	if err != nil {
		t.Fatal(err)
	}
	var lines strings.Builder
	keeper := keyKeeper{core: apiclient.NewCore(core), namespace: "own", secret: testKeySecret, readOnly: readOnly, log: slog.New(slog.NewTextHandler(&lines, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var found bool
		if key, found = keeper.find(t.Context()); !found || key.IsZero() {
			t.Fatalf("no key; the log:\n%s", &lines)
		}
		took = time.Since(start)
	})
	return key, lines.String(), took
}

func someKey(first byte) (content [catalog.ChecksumKeySize]byte) {
	content[0] = first
	return content
}

func (s *secretServer) key() catalog.ChecksumKey {
	return catalog.NewChecksumKey([catalog.ChecksumKeySize]byte(s.secret.Data[keyEntry]))
}

func TestAnEmptySecretIsFilledWithANewKey(t *testing.T) {
	server := &secretServer{secret: corev1.Secret{Data: map[string][]byte{"note": []byte("kept")}}}
	key, log, _ := findKey(t, server, false)
	if !key.Equal(server.key()) {
		t.Error("the key is not the one that was written")
	}
	if string(server.secret.Data["note"]) != "kept" {
		t.Errorf("somebody else's entry is %q", server.secret.Data["note"])
	}
	content := server.secret.Data[keyEntry]
	for _, form := range []string{string(content), base64.StdEncoding.EncodeToString(content), fmt.Sprintf("%x", content)} {
		if strings.Contains(log, form) {
			t.Errorf("the log shows the key:\n%s", log)
		}
	}
	again, _, _ := findKey(t, server, false)
	if !again.Equal(key) {
		t.Error("the next start makes another key")
	}
	other := &secretServer{}
	if another, _, _ := findKey(t, other, false); another.Equal(key) {
		t.Error("two installations have the same key")
	}
}

func TestAKeyThatAnotherProcessJustCreatedIsUsed(t *testing.T) {
	theirs := someKey(1)
	fill := func(s *secretServer) {
		s.secret.Data, s.secret.ResourceVersion, s.missing = map[string][]byte{keyEntry: theirs[:]}, "2", false
	}
	for name, server := range map[string]*secretServer{
		"in an empty Secret": {beforeWrite: fill},
		"with the Secret":    {beforeWrite: fill, missing: true, canCreate: true},
	} {
		t.Run(name, func(t *testing.T) {
			if key, _, _ := findKey(t, server, false); !key.Equal(catalog.NewChecksumKey(theirs)) {
				t.Error("it is another key")
			}
		})
	}
}

func TestATransientFailureIsWaitedFor(t *testing.T) {
	content := someKey(1)
	server := &secretServer{
		failures: []int{http.StatusInternalServerError, http.StatusServiceUnavailable, http.StatusUnauthorized},
		secret:   corev1.Secret{Data: map[string][]byte{keyEntry: content[:]}},
	}
	key, log, _ := findKey(t, server, false)
	if !key.Equal(catalog.NewChecksumKey(content)) {
		t.Error("it is another key")
	}
	if got := strings.Count(log, "trying again"); got != 3 {
		t.Errorf("%d of 3 failures are logged:\n%s", got, log)
	}
}

func TestAMissingSecretIsCreatedIfPermitted(t *testing.T) {
	server := &secretServer{missing: true, canCreate: true}
	key, log, took := findKey(t, server, false)
	if server.missing || !key.Equal(server.key()) || took > 0 {
		t.Errorf("after %s the Secret is missing: %t; the key is not the one that was written: %t", took, server.missing, !key.Equal(server.key()))
	}
	if !strings.Contains(log, "created the key") || strings.Contains(log, "WARN") {
		t.Errorf("the log:\n%s", log)
	}
}

// An API server that has just started refuses what it will allow a moment later, and
// manifests are applied one after the other.
func TestARefusalThatPassesIsWaitedFor(t *testing.T) {
	content := someKey(1)
	for name, server := range map[string]*secretServer{
		"the Roles are not known yet":    {failures: slices.Repeat([]int{http.StatusForbidden}, 10)},
		"the Secret comes later":         {failures: slices.Repeat([]int{http.StatusNotFound, http.StatusForbidden}, 10)},
		"the namespace is not there yet": {failures: slices.Repeat([]int{http.StatusNotFound}, 10)},
	} {
		t.Run(name, func(t *testing.T) {
			server.secret.Data = map[string][]byte{keyEntry: content[:]}
			key, log, took := findKey(t, server, false)
			if !key.Equal(catalog.NewChecksumKey(content)) || took > keyPatience {
				t.Errorf("after %s it is another key: %t", took, !key.Equal(catalog.NewChecksumKey(content)))
			}
			if strings.Count(log, "level=WARN") != 1 || strings.Contains(log, "level=ERROR") {
				t.Errorf("the log does not warn once:\n%s", log)
			}
		})
	}
}

func TestWithoutTheSecretAKeyServesForTheProcess(t *testing.T) {
	for name, test := range map[string]struct {
		server  *secretServer
		refused bool // by the API server, which might change its mind
	}{
		"not found": {&secretServer{missing: true}, true},
		"forbidden": {&secretServer{failures: slices.Repeat([]int{http.StatusForbidden}, 1000)}, true},
		"malformed": {&secretServer{secret: corev1.Secret{Data: map[string][]byte{keyEntry: []byte("too short")}}}, false},
		"empty":     {&secretServer{secret: corev1.Secret{Data: map[string][]byte{keyEntry: {}}}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			before := test.server.secret.Data[keyEntry]
			_, log, took := findKey(t, test.server, false)
			if !strings.Contains(log, "level=ERROR") || !strings.Contains(log, "remedy=") {
				t.Errorf("the log does not say what to do:\n%s", log)
			}
			if waited := took >= keyPatience; waited != test.refused || took > keyPatience+maxKeyBackoff {
				t.Errorf("took %s", took)
			}
			if len(test.server.requests) > 40 || string(test.server.secret.Data[keyEntry]) != string(before) {
				t.Errorf("requests %q; the entry is %q", test.server.requests, test.server.secret.Data[keyEntry])
			}
		})
	}
}

func TestALogShowsAKeyByItsID(t *testing.T) {
	content := [catalog.ChecksumKeySize]byte([]byte("the secret of a key, 32 bytes..."))
	key := catalog.NewChecksumKey(content)
	var log strings.Builder
	for _, handler := range []slog.Handler{slog.NewTextHandler(&log, nil), slog.NewJSONHandler(&log, nil)} {
		for _, value := range []any{key, &key, catalog.Basis{Key: key}} {
			slog.New(handler).Info("", "key", value)
		}
	}
	if got := strings.Count(log.String(), key.ID()); got != 6 {
		t.Errorf("the id is shown %d times, want 6", got)
	}
	for _, form := range []string{"the secret", base64.StdEncoding.EncodeToString(content[:6]), fmt.Sprintf("%x", content[:4]), "116 104 101 32", "116,104,101,32"} {
		if strings.Contains(log.String(), form) {
			t.Errorf("the log shows the secret as %q:\n%s", form, &log)
		}
	}
}

func TestADryRunUsesTheKeyButDoesNotCreateOne(t *testing.T) {
	content := someKey(1)
	server := &secretServer{secret: corev1.Secret{Data: map[string][]byte{keyEntry: content[:]}}}
	if key, _, _ := findKey(t, server, true); !key.Equal(catalog.NewChecksumKey(content)) {
		t.Error("it is another key")
	}
	empty := &secretServer{}
	if _, log, _ := findKey(t, empty, true); len(empty.requests) != 1 || len(empty.secret.Data) != 0 || strings.Contains(log, "ERROR") {
		t.Errorf("requests %q, Secret %v, log:\n%s", empty.requests, empty.secret.Data, log)
	}
}

func TestAWorkloadThatReadsASecretWaitsForTheKey(t *testing.T) {
	c := catalog.New()
	w := catalog.Workload{Ref: web, ResourceVersion: "1", References: []catalog.Reference{{Config: catalog.ConfigRef{Kind: catalog.Secret, Namespace: "ns", Name: "tls"}}}}
	c.ObserveWorkload(w)
	r := &restarter{catalog: c, backlogs: newBacklogs(), journal: newJournal(), knowsConfigs: func(string) bool { return true }}
	if err := r.handle(t.Context(), web); !errors.Is(err, errKeyUnknown) {
		t.Errorf("handled: %v", err)
	}
}
