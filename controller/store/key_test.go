package store

import (
	"encoding/base64"
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

	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/controller/objecttest"
)

// findKey lets a keeper find the key at the server. It returns the key, the log and how
// long it took.
func findKey(t *testing.T, server *objecttest.SecretServer, readOnly bool) (key content.ChecksumKey, log string, took time.Duration) {
	t.Helper()
	server.Object.TypeMeta = metav1.TypeMeta{Kind: "Secret", APIVersion: "v1"}
	server.Object.Name, server.Object.Namespace, server.Object.ResourceVersion = objecttest.TestKeySecret, "own", "1"
	var lines strings.Builder
	keeper := Keys{Core: server.Core(t), Namespace: "own", Secret: objecttest.TestKeySecret, ReadOnly: readOnly, Log: slog.New(slog.NewTextHandler(&lines, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var found bool
		if key, found = keeper.Find(t.Context()); !found || key.IsZero() {
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

func keyAt(s *objecttest.SecretServer) content.ChecksumKey {
	return content.NewChecksumKey([content.ChecksumKeySize]byte(s.Object.Data[keyEntry]))
}

func TestAnEmptySecretIsFilledWithANewKey(t *testing.T) {
	server := &objecttest.SecretServer{Object: corev1.Secret{Data: map[string][]byte{"note": []byte("kept")}}}
	key, log, _ := findKey(t, server, false)
	if !key.Equal(keyAt(server)) {
		t.Error("the key is not the one that was written")
	}
	if string(server.Object.Data["note"]) != "kept" {
		t.Errorf("somebody else's entry is %q", server.Object.Data["note"])
	}
	content := server.Object.Data[keyEntry]
	for _, form := range []string{string(content), base64.StdEncoding.EncodeToString(content), fmt.Sprintf("%x", content)} {
		if strings.Contains(log, form) {
			t.Errorf("the log shows the key:\n%s", log)
		}
	}
	again, _, _ := findKey(t, server, false)
	if !again.Equal(key) {
		t.Error("the next start makes another key")
	}
	other := &objecttest.SecretServer{}
	if another, _, _ := findKey(t, other, false); another.Equal(key) {
		t.Error("two installations have the same key")
	}
}

func TestAKeyThatAnotherProcessJustCreatedIsUsed(t *testing.T) {
	theirs := someKey(1)
	fill := func(s *objecttest.SecretServer) {
		s.Object.Data, s.Object.ResourceVersion, s.Missing = map[string][]byte{keyEntry: theirs[:]}, "2", false
	}
	for name, server := range map[string]*objecttest.SecretServer{
		"in an empty Secret": {BeforeWrite: fill},
		"with the Secret":    {BeforeWrite: fill, Missing: true, CanCreate: true},
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
	server := &objecttest.SecretServer{
		Failures: []int{http.StatusInternalServerError, http.StatusServiceUnavailable, http.StatusUnauthorized},
		Object:   corev1.Secret{Data: map[string][]byte{keyEntry: data[:]}},
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
	server := &objecttest.SecretServer{Missing: true, CanCreate: true}
	key, log, took := findKey(t, server, false)
	if server.Missing || !key.Equal(keyAt(server)) || took > 0 {
		t.Errorf("after %s the Secret is missing: %t; the key is not the one that was written: %t", took, server.Missing, !key.Equal(keyAt(server)))
	}
	if !strings.Contains(log, "created the key") || strings.Contains(log, "WARN") {
		t.Errorf("the log:\n%s", log)
	}
}

// An API server that has just started refuses what it will allow a moment later, and
// manifests are applied one after the other.
func TestARefusalThatPassesIsWaitedFor(t *testing.T) {
	data := someKey(1)
	for name, server := range map[string]*objecttest.SecretServer{
		"the Roles are not known yet":    {Failures: slices.Repeat([]int{http.StatusForbidden}, 10)},
		"the Secret comes later":         {Failures: slices.Repeat([]int{http.StatusNotFound, http.StatusForbidden}, 10)},
		"the namespace is not there yet": {Failures: slices.Repeat([]int{http.StatusNotFound}, 10)},
	} {
		t.Run(name, func(t *testing.T) {
			server.Object.Data = map[string][]byte{keyEntry: data[:]}
			key, log, took := findKey(t, server, false)
			if !key.Equal(content.NewChecksumKey(data)) || took > KeyPatience {
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
		server  *objecttest.SecretServer
		refused bool // by the API server, which might change its mind
	}{
		"not found": {&objecttest.SecretServer{Missing: true}, true},
		"forbidden": {&objecttest.SecretServer{Failures: slices.Repeat([]int{http.StatusForbidden}, 1000)}, true},
		"malformed": {&objecttest.SecretServer{Object: corev1.Secret{Data: map[string][]byte{keyEntry: []byte("too short")}}}, false},
		"empty":     {&objecttest.SecretServer{Object: corev1.Secret{Data: map[string][]byte{keyEntry: {}}}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			before := test.server.Object.Data[keyEntry]
			_, log, took := findKey(t, test.server, false)
			if !strings.Contains(log, "level=ERROR") || !strings.Contains(log, "remedy=") {
				t.Errorf("the log does not say what to do:\n%s", log)
			}
			if waited := took >= KeyPatience; waited != test.refused || took > KeyPatience+maxKeyBackoff {
				t.Errorf("took %s", took)
			}
			if len(test.server.Requests) > 40 || string(test.server.Object.Data[keyEntry]) != string(before) {
				t.Errorf("requests %q; the entry is %q", test.server.Requests, test.server.Object.Data[keyEntry])
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
	server := &objecttest.SecretServer{Object: corev1.Secret{Data: map[string][]byte{keyEntry: data[:]}}}
	if key, _, _ := findKey(t, server, true); !key.Equal(content.NewChecksumKey(data)) {
		t.Error("it is another key")
	}
	empty := &objecttest.SecretServer{}
	if _, log, _ := findKey(t, empty, true); len(empty.Requests) != 1 || len(empty.Object.Data) != 0 || strings.Contains(log, "ERROR") {
		t.Errorf("requests %q, Secret %v, log:\n%s", empty.Requests, empty.Object.Data, log)
	}
}
