package store_test

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

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/controller/controllertest"
	"kubernetes-deployment-restart-controller/controller/failures"
	"kubernetes-deployment-restart-controller/controller/objecttest"
	"kubernetes-deployment-restart-controller/controller/store"
)

// add returns a change that adds an entry.
func add(key string) func(*corev1.ConfigMap) bool {
	return func(object *corev1.ConfigMap) bool {
		object.Data[key] = "ours"
		return true
	}
}

// entriesOf returns the entries of a store.
func entriesOf(t *testing.T, store *store.Halts) (entries map[string]string, err error) {
	t.Helper()
	err = store.Update(t.Context(), func(object *corev1.ConfigMap) bool {
		entries = object.Data
		return false
	})
	return entries, err
}

func requireHalts(t *testing.T, store *store.Halts, want map[string]string) {
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
	server := &objecttest.HaltServer{}
	store := controllertest.StoreOf(t, server, "a", "b")
	err := store.Update(t.Context(), func(object *corev1.ConfigMap) bool {
		delete(object.Data, "a")
		object.Data["c"] = "ours"
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	requireHalts(t, store, map[string]string{"b": "theirs", "c": "ours"})
	if server.Object.Annotations["note"] != "kept" || server.Manager != annotation.FieldManager {
		t.Errorf("the annotations are %v; %q wrote", server.Object.Annotations, server.Manager)
	}
}

func TestHaltsAreAddedToTheConfigMapThatTheManifestsCreateEmpty(t *testing.T) {
	store := controllertest.StoreOf(t, &objecttest.HaltServer{})
	requireHalts(t, store, map[string]string{})
	if err := store.Update(t.Context(), add("a")); err != nil {
		t.Fatal(err)
	}
	requireHalts(t, store, map[string]string{"a": "ours"})
}

func TestHaltsThatNeedNoChangeAreNotWritten(t *testing.T) {
	server := &objecttest.HaltServer{}
	store := controllertest.StoreOf(t, server, "a")
	err := store.Update(t.Context(), func(object *corev1.ConfigMap) bool {
		delete(object.Data, "a")
		return false
	})
	if err != nil || !slices.Equal(server.Requests, []string{http.MethodGet}) {
		t.Errorf("error %v, requests %q", err, server.Requests)
	}
	requireHalts(t, store, map[string]string{"a": "theirs"})
}

func TestAnUpdateOfHaltsKeepsWhatAnotherWriterAddsInBetween(t *testing.T) {
	server := &objecttest.HaltServer{BeforeWrite: func(s *objecttest.HaltServer) {
		s.Object.Data, s.Object.ResourceVersion, s.BeforeWrite = map[string]string{"b": "theirs"}, "2", nil
	}}
	store := controllertest.StoreOf(t, server, "a")
	var shown [][]string
	err := store.Update(t.Context(), func(object *corev1.ConfigMap) bool {
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
	server := &objecttest.HaltServer{BeforeWrite: func(s *objecttest.HaltServer) { s.Object.ResourceVersion += "1" }}
	store := controllertest.StoreOf(t, server, "a")
	err := store.Update(t.Context(), add("b"))
	if !apierrors.IsConflict(err) || len(server.Requests) != 2*5 {
		t.Errorf("error %v, requests %q", err, server.Requests)
	}
	requireHalts(t, store, map[string]string{"a": "theirs"})
}

func TestTheMissingConfigMapOfHaltsIsCreatedIfPermitted(t *testing.T) {
	byOther := func(s *objecttest.HaltServer) {
		s.Missing, s.Object.Data, s.BeforeWrite = false, map[string]string{"a": "theirs"}, nil
	}
	for name, test := range map[string]struct {
		beforeWrite func(*objecttest.HaltServer)
		want        map[string]string
	}{
		"by this process":        {nil, map[string]string{"b": "ours"}},
		"just by another client": {byOther, map[string]string{"a": "theirs", "b": "ours"}},
	} {
		t.Run(name, func(t *testing.T) {
			server := &objecttest.HaltServer{Missing: true, CanCreate: true, BeforeWrite: test.beforeWrite}
			store := controllertest.StoreOf(t, server)
			if err := store.Update(t.Context(), add("b")); err != nil {
				t.Fatal(err)
			}
			requireHalts(t, store, test.want)
		})
	}
}

func TestAnErrorOfTheHaltsNamesTheConfigMapAndWhatFailed(t *testing.T) {
	isTransient := func(err error) bool { return !failures.IsPermanent(err) }
	for name, test := range map[string]struct {
		server *objecttest.HaltServer
		is     func(error) bool
		want   []string
	}{
		"missing, may not create":  {&objecttest.HaltServer{Missing: true}, apierrors.IsNotFound, []string{"get configmap own/halts", "create it"}},
		"missing, create fails":    {&objecttest.HaltServer{Failures: []int{http.StatusNotFound, http.StatusServiceUnavailable}}, isTransient, []string{"create configmap own/halts"}},
		"may not read":             {&objecttest.HaltServer{Failures: []int{http.StatusForbidden}}, failures.IsPermanent, []string{"get configmap own/halts"}},
		"the API server is broken": {&objecttest.HaltServer{Failures: []int{http.StatusServiceUnavailable}}, isTransient, []string{"get configmap own/halts"}},
	} {
		t.Run(name, func(t *testing.T) {
			store := controllertest.StoreOf(t, test.server)
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
	server := &objecttest.HaltServer{}
	kept := controllertest.StoreOf(t, server)
	kept.Namespace = ""
	if err := kept.Update(t.Context(), add("a")); !errors.Is(err, store.ErrNoHaltsNamespace) || len(server.Requests) > 0 {
		t.Errorf("update: %v, requests %q", err, server.Requests)
	}
}
