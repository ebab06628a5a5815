package controller

import (
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/template"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

// secretServer answers for the Secret of the key.
type secretServer = objectServer[corev1.Secret, *corev1.Secret]

const testKeySecret = "checksum-key"

// FindKey lets a keeper find the key at the server. It returns the key, the log and how
// long it took.
func findKey(t *testing.T, server *secretServer, readOnly bool) (key content.ChecksumKey, log string, took time.Duration) {
	t.Helper()
	server.object.TypeMeta = metav1.TypeMeta{Kind: "Secret", APIVersion: "v1"}
	server.object.Name, server.object.Namespace, server.object.ResourceVersion = testKeySecret, "own", "1"
	var lines strings.Builder
	keeper := keyKeeper{core: server.core(t), namespace: "own", secret: testKeySecret, readOnly: readOnly, log: slog.New(slog.NewTextHandler(&lines, &slog.HandlerOptions{Level: slog.LevelDebug}))}
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

func someKey(first byte) (content [content.ChecksumKeySize]byte) {
	content[0] = first
	return content
}

func keyAt(s *secretServer) content.ChecksumKey {
	return content.NewChecksumKey([content.ChecksumKeySize]byte(s.object.Data[keyEntry]))
}

func TestAnEmptySecretIsFilledWithANewKey(t *testing.T) {
	server := &secretServer{object: corev1.Secret{Data: map[string][]byte{"note": []byte("kept")}}}
	key, log, _ := findKey(t, server, false)
	if !key.Equal(keyAt(server)) {
		t.Error("the key is not the one that was written")
	}
	if string(server.object.Data["note"]) != "kept" {
		t.Errorf("somebody else's entry is %q", server.object.Data["note"])
	}
	content := server.object.Data[keyEntry]
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
		s.object.Data, s.object.ResourceVersion, s.missing = map[string][]byte{keyEntry: theirs[:]}, "2", false
	}
	for name, server := range map[string]*secretServer{
		"in an empty Secret": {beforeWrite: fill},
		"with the Secret":    {beforeWrite: fill, missing: true, canCreate: true},
	} {
		t.Run(name, func(t *testing.T) {
			if key, _, _ := findKey(t, server, false); !key.Equal(content.NewChecksumKey(theirs)) {
				t.Error("it is another key")
			}
		})
	}
}

func TestATransientFailureIsWaitedFor(t *testing.T) {
	data := someKey(1)
	server := &secretServer{
		failures: []int{http.StatusInternalServerError, http.StatusServiceUnavailable, http.StatusUnauthorized},
		object:   corev1.Secret{Data: map[string][]byte{keyEntry: data[:]}},
	}
	key, log, _ := findKey(t, server, false)
	if !key.Equal(content.NewChecksumKey(data)) {
		t.Error("it is another key")
	}
	if got := strings.Count(log, "trying again"); got != 3 {
		t.Errorf("%d of 3 failures are logged:\n%s", got, log)
	}
}

func TestAMissingSecretIsCreatedIfPermitted(t *testing.T) {
	server := &secretServer{missing: true, canCreate: true}
	key, log, took := findKey(t, server, false)
	if server.missing || !key.Equal(keyAt(server)) || took > 0 {
		t.Errorf("after %s the Secret is missing: %t; the key is not the one that was written: %t", took, server.missing, !key.Equal(keyAt(server)))
	}
	if !strings.Contains(log, "created the key") || strings.Contains(log, "WARN") {
		t.Errorf("the log:\n%s", log)
	}
}

// An API server that has just started refuses what it will allow a moment later, and
// manifests are applied one after the other.
func TestARefusalThatPassesIsWaitedFor(t *testing.T) {
	data := someKey(1)
	for name, server := range map[string]*secretServer{
		"the Roles are not known yet":    {failures: slices.Repeat([]int{http.StatusForbidden}, 10)},
		"the Secret comes later":         {failures: slices.Repeat([]int{http.StatusNotFound, http.StatusForbidden}, 10)},
		"the namespace is not there yet": {failures: slices.Repeat([]int{http.StatusNotFound}, 10)},
	} {
		t.Run(name, func(t *testing.T) {
			server.object.Data = map[string][]byte{keyEntry: data[:]}
			key, log, took := findKey(t, server, false)
			if !key.Equal(content.NewChecksumKey(data)) || took > keyPatience {
				t.Errorf("after %s it is another key: %t", took, !key.Equal(content.NewChecksumKey(data)))
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
		"malformed": {&secretServer{object: corev1.Secret{Data: map[string][]byte{keyEntry: []byte("too short")}}}, false},
		"empty":     {&secretServer{object: corev1.Secret{Data: map[string][]byte{keyEntry: {}}}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			before := test.server.object.Data[keyEntry]
			_, log, took := findKey(t, test.server, false)
			if !strings.Contains(log, "level=ERROR") || !strings.Contains(log, "remedy=") {
				t.Errorf("the log does not say what to do:\n%s", log)
			}
			if waited := took >= keyPatience; waited != test.refused || took > keyPatience+maxKeyBackoff {
				t.Errorf("took %s", took)
			}
			if len(test.server.requests) > 40 || string(test.server.object.Data[keyEntry]) != string(before) {
				t.Errorf("requests %q; the entry is %q", test.server.requests, test.server.object.Data[keyEntry])
			}
		})
	}
}

func TestALogShowsAKeyByItsID(t *testing.T) {
	data := [content.ChecksumKeySize]byte([]byte("the secret of a key, 32 bytes..."))
	key := content.NewChecksumKey(data)
	var log strings.Builder
	for _, handler := range []slog.Handler{slog.NewTextHandler(&log, nil), slog.NewJSONHandler(&log, nil)} {
		for _, value := range []any{key, &key, record.Basis{Key: key}} {
			slog.New(handler).Info("", "key", value)
		}
	}
	if got := strings.Count(log.String(), key.ID()); got != 6 {
		t.Errorf("the id is shown %d times, want 6", got)
	}
	for _, form := range []string{"the secret", base64.StdEncoding.EncodeToString(data[:6]), fmt.Sprintf("%x", data[:4]), "116 104 101 32", "116,104,101,32"} {
		if strings.Contains(log.String(), form) {
			t.Errorf("the log shows the secret as %q:\n%s", form, &log)
		}
	}
}

func TestADryRunUsesTheKeyButDoesNotCreateOne(t *testing.T) {
	data := someKey(1)
	server := &secretServer{object: corev1.Secret{Data: map[string][]byte{keyEntry: data[:]}}}
	if key, _, _ := findKey(t, server, true); !key.Equal(content.NewChecksumKey(data)) {
		t.Error("it is another key")
	}
	empty := &secretServer{}
	if _, log, _ := findKey(t, empty, true); len(empty.requests) != 1 || len(empty.object.Data) != 0 || strings.Contains(log, "ERROR") {
		t.Errorf("requests %q, Secret %v, log:\n%s", empty.requests, empty.object.Data, log)
	}
}

func TestAWorkloadThatReadsASecretWaitsForTheKey(t *testing.T) {
	c := catalog.New()
	w := workload.Workload{Ref: web, ResourceVersion: "1", References: []template.Reference{{Config: names.ConfigRef{Kind: names.Secret, Namespace: "ns", Name: "tls"}}}}
	c.ObserveWorkload(w)
	r := newRestarter(restarterParts{catalog: c, gate: openGate(c), backlogs: newBacklogs(), journal: newJournal(), knowsConfigs: func(string) bool { return true }}, nil)
	if err := r.handle(t.Context(), web); !errors.Is(err, errKeyUnknown) {
		t.Errorf("handled: %v", err)
	}
}
