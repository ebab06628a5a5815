package controller

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"kubernetes-deployment-restart-controller/catalog"
)

// secretServer answers as the API server does for the one Secret, after as many
// failures as a test wants. The real one cannot be made to fail in these ways.
type secretServer struct {
	mu       sync.Mutex
	secret   corev1.Secret
	failures []int // answers to the next requests
	requests []string
	// beforeUpdate is done to the Secret by somebody else just before an update.
	beforeUpdate func(*corev1.Secret)
}

func (s *secretServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r.Method)
	if len(s.failures) > 0 {
		code := s.failures[0]
		s.failures = s.failures[1:]
		s.answer(w, code, metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Code: int32(code)})
		return
	}
	if r.Method == http.MethodPut {
		s.update(w, r)
		return
	}
	s.answer(w, http.StatusOK, s.secret)
}

func (s *secretServer) update(w http.ResponseWriter, r *http.Request) {
	if s.beforeUpdate != nil {
		s.beforeUpdate(&s.secret)
		s.beforeUpdate = nil
	}
	var updated corev1.Secret
	if err := json.NewDecoder(r.Body).Decode(&updated); err != nil || updated.ResourceVersion != s.secret.ResourceVersion {
		s.answer(w, http.StatusConflict, metav1.Status{
			TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Reason: metav1.StatusReasonConflict, Code: http.StatusConflict,
		})
		return
	}
	s.secret = updated
	s.answer(w, http.StatusOK, updated)
}

func (s *secretServer) answer(w http.ResponseWriter, code int, object any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(object)
}

// findKey lets a keeper find the key at the server. It returns the key and the log.
func findKey(t *testing.T, server *secretServer, readOnly bool) (catalog.ChecksumKey, string) {
	t.Helper()
	server.secret.TypeMeta = metav1.TypeMeta{Kind: "Secret", APIVersion: "v1"}
	server.secret.Name, server.secret.Namespace, server.secret.ResourceVersion = keySecretName, "own", "1"
	http := httptest.NewServer(server)
	defer http.Close()
	core, err := coreclient.NewForConfig(&rest.Config{Host: http.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}})
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	keeper := keyKeeper{core: core, namespace: "own", readOnly: readOnly, log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	key, found := keeper.find(t.Context())
	if !found || key.IsZero() {
		t.Fatalf("no key; the log:\n%s", &log)
	}
	return key, log.String()
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
	key, log := findKey(t, server, false)
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
	again, _ := findKey(t, server, false)
	if !again.Equal(key) {
		t.Error("the next start makes another key")
	}
	other := &secretServer{}
	if another, _ := findKey(t, other, false); another.Equal(key) {
		t.Error("two installations have the same key")
	}
}

func TestAKeyThatSomebodyElseMadeMeanwhileIsUsed(t *testing.T) {
	theirs := someKey(1)
	server := &secretServer{beforeUpdate: func(secret *corev1.Secret) {
		secret.Data, secret.ResourceVersion = map[string][]byte{keyEntry: theirs[:]}, "2"
	}}
	if key, _ := findKey(t, server, false); !key.Equal(catalog.NewChecksumKey(theirs)) {
		t.Error("it is another key")
	}
}

func TestAFailureThatCanPassIsWaitedFor(t *testing.T) {
	content := someKey(1)
	server := &secretServer{
		failures: []int{http.StatusInternalServerError, http.StatusServiceUnavailable, http.StatusUnauthorized},
		secret:   corev1.Secret{Data: map[string][]byte{keyEntry: content[:]}},
	}
	key, log := findKey(t, server, false)
	if !key.Equal(catalog.NewChecksumKey(content)) {
		t.Error("it is another key")
	}
	if got := strings.Count(log, "trying again"); got != 3 {
		t.Errorf("%d of 3 failures are told:\n%s", got, log)
	}
}

func TestWithoutTheSecretAKeyServesForTheProcess(t *testing.T) {
	for name, server := range map[string]*secretServer{
		"not found": {failures: []int{http.StatusNotFound}},
		"forbidden": {failures: []int{http.StatusForbidden}},
		"malformed": {secret: corev1.Secret{Data: map[string][]byte{keyEntry: []byte("too short")}}},
		"empty":     {secret: corev1.Secret{Data: map[string][]byte{keyEntry: {}}}},
	} {
		t.Run(name, func(t *testing.T) {
			before := server.secret.Data[keyEntry]
			_, log := findKey(t, server, false)
			if !strings.Contains(log, "level=ERROR") || !strings.Contains(log, "remedy=") {
				t.Errorf("the log does not tell what to do:\n%s", log)
			}
			if len(server.requests) != 1 || string(server.secret.Data[keyEntry]) != string(before) {
				t.Errorf("requests %q; the entry is %q", server.requests, server.secret.Data[keyEntry])
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

func TestADryRunUsesTheKeyAndMakesNone(t *testing.T) {
	content := someKey(1)
	server := &secretServer{secret: corev1.Secret{Data: map[string][]byte{keyEntry: content[:]}}}
	if key, _ := findKey(t, server, true); !key.Equal(catalog.NewChecksumKey(content)) {
		t.Error("it is another key")
	}
	empty := &secretServer{}
	if _, log := findKey(t, empty, true); len(empty.requests) != 1 || len(empty.secret.Data) != 0 || strings.Contains(log, "ERROR") {
		t.Errorf("requests %q, Secret %v, log:\n%s", empty.requests, empty.secret.Data, log)
	}
}

func TestAWorkloadThatReadsASecretWaitsForTheKey(t *testing.T) {
	c := catalog.New()
	w := catalog.Workload{Ref: web, ResourceVersion: "1", References: []catalog.Reference{{Config: catalog.ConfigRef{Kind: catalog.Secret, Namespace: "ns", Name: "tls"}}}}
	c.ObserveWorkload(w)
	r := &restarter{catalog: c, backlogs: newBacklogs(), knowsConfigs: func(string) bool { return true }}
	if err := r.handle(t.Context(), web); !errors.Is(err, errKeyUnknown) {
		t.Errorf("handled: %v", err)
	}
}
