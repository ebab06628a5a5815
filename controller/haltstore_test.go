package controller

import (
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
)

// haltServer answers for the ConfigMap of halts.
type haltServer = objectServer[corev1.ConfigMap, *corev1.ConfigMap]

// storeOf returns a store of what the server keeps: an entry for each key.
func storeOf(t *testing.T, server *haltServer, keys ...string) *haltStore {
	t.Helper()
	server.object.TypeMeta = metav1.TypeMeta{Kind: "ConfigMap", APIVersion: "v1"}
	server.object.Name, server.object.Namespace, server.object.ResourceVersion = "halts", "own", "1"
	server.object.Annotations = map[string]string{"note": "kept"}
	for _, key := range keys {
		if server.object.Data == nil {
			server.object.Data = make(map[string]string)
		}
		server.object.Data[key] = "theirs"
	}
	return &haltStore{core: server.core(t), namespace: "own", name: "halts"}
}

// add returns a change that adds an entry.
func add(key string) func(*corev1.ConfigMap) bool {
	return func(object *corev1.ConfigMap) bool {
		object.Data[key] = "ours"
		return true
	}
}

// EntriesOf returns the entries of a store.
func entriesOf(t *testing.T, store *haltStore) (entries map[string]string, err error) {
	t.Helper()
	err = store.update(t.Context(), func(object *corev1.ConfigMap) bool {
		entries = object.Data
		return false
	})
	return entries, err
}

func requireHalts(t *testing.T, store *haltStore, want map[string]string) {
	t.Helper()
	got, err := entriesOf(t, store)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the entries (-want +got):\n%s", diff)
	}
}

func TestAnUpdateOfHaltsKeepsTheRestOfTheConfigMap(t *testing.T) {
	server := &haltServer{}
	store := storeOf(t, server, "a", "b")
	err := store.update(t.Context(), func(object *corev1.ConfigMap) bool {
		delete(object.Data, "a")
		object.Data["c"] = "ours"
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	requireHalts(t, store, map[string]string{"b": "theirs", "c": "ours"})
	if server.object.Annotations["note"] != "kept" || server.manager != annotation.FieldManager {
		t.Errorf("the annotations are %v; %q wrote", server.object.Annotations, server.manager)
	}
}

func TestHaltsAreAddedToTheConfigMapThatTheManifestsCreateEmpty(t *testing.T) {
	store := storeOf(t, &haltServer{})
	requireHalts(t, store, map[string]string{})
	if err := store.update(t.Context(), add("a")); err != nil {
		t.Fatal(err)
	}
	requireHalts(t, store, map[string]string{"a": "ours"})
}

func TestHaltsThatNeedNoChangeAreNotWritten(t *testing.T) {
	server := &haltServer{}
	store := storeOf(t, server, "a")
	err := store.update(t.Context(), func(object *corev1.ConfigMap) bool {
		delete(object.Data, "a")
		return false
	})
	if err != nil || !slices.Equal(server.requests, []string{http.MethodGet}) {
		t.Errorf("error %v, requests %q", err, server.requests)
	}
	requireHalts(t, store, map[string]string{"a": "theirs"})
}

func TestAnUpdateOfHaltsKeepsWhatAnotherWriterAddsInBetween(t *testing.T) {
	server := &haltServer{beforeWrite: func(s *haltServer) {
		s.object.Data, s.object.ResourceVersion, s.beforeWrite = map[string]string{"b": "theirs"}, "2", nil
	}}
	store := storeOf(t, server, "a")
	var shown [][]string
	err := store.update(t.Context(), func(object *corev1.ConfigMap) bool {
		shown = append(shown, slices.Sorted(maps.Keys(object.Data)))
		return add("c")(object)
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]string{{"a"}, {"b"}}, shown); diff != "" {
		t.Errorf("the entries before each change (-want +got):\n%s", diff)
	}
	requireHalts(t, store, map[string]string{"b": "theirs", "c": "ours"})
}

func TestAnUpdateOfHaltsEndsAfterFiveConflicts(t *testing.T) {
	server := &haltServer{beforeWrite: func(s *haltServer) { s.object.ResourceVersion += "1" }}
	store := storeOf(t, server, "a")
	err := store.update(t.Context(), add("b"))
	if !apierrors.IsConflict(err) || len(server.requests) != 2*5 {
		t.Errorf("error %v, requests %q", err, server.requests)
	}
	requireHalts(t, store, map[string]string{"a": "theirs"})
}

func TestTheMissingConfigMapOfHaltsIsCreatedIfPermitted(t *testing.T) {
	byOther := func(s *haltServer) {
		s.missing, s.object.Data, s.beforeWrite = false, map[string]string{"a": "theirs"}, nil
	}
	for name, test := range map[string]struct {
		beforeWrite func(*haltServer)
		want        map[string]string
	}{
		"by this process":        {nil, map[string]string{"b": "ours"}},
		"just by another client": {byOther, map[string]string{"a": "theirs", "b": "ours"}},
	} {
		t.Run(name, func(t *testing.T) {
			server := &haltServer{missing: true, canCreate: true, beforeWrite: test.beforeWrite}
			store := storeOf(t, server)
			if err := store.update(t.Context(), add("b")); err != nil {
				t.Fatal(err)
			}
			requireHalts(t, store, test.want)
		})
	}
}

func TestAnErrorOfTheHaltsNamesTheConfigMapAndWhatFailed(t *testing.T) {
	isTransient := func(err error) bool { return !isPermanent(err) }
	for name, test := range map[string]struct {
		server *haltServer
		is     func(error) bool
		want   []string
	}{
		"missing, may not create":  {&haltServer{missing: true}, apierrors.IsNotFound, []string{"get configmap own/halts", "create it"}},
		"missing, create fails":    {&haltServer{failures: []int{http.StatusNotFound, http.StatusServiceUnavailable}}, isTransient, []string{"create configmap own/halts"}},
		"may not read":             {&haltServer{failures: []int{http.StatusForbidden}}, isPermanent, []string{"get configmap own/halts"}},
		"the API server is broken": {&haltServer{failures: []int{http.StatusServiceUnavailable}}, isTransient, []string{"get configmap own/halts"}},
	} {
		t.Run(name, func(t *testing.T) {
			store := storeOf(t, test.server)
			_, err := entriesOf(t, store)
			if err == nil || !test.is(err) {
				t.Fatalf("error %v", err)
			}
			for _, part := range test.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q is not in the error: %v", part, err)
				}
			}
		})
	}
}

func TestWithoutANamespaceHaltsAreNeitherReadNorWritten(t *testing.T) {
	server := &haltServer{}
	store := storeOf(t, server)
	store.namespace = ""
	if err := store.update(t.Context(), add("a")); !errors.Is(err, errNoHaltsNamespace) || len(server.requests) > 0 {
		t.Errorf("update: %v, requests %q", err, server.requests)
	}
}
