package watch

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/internal/quarantine"
)

// recorder is an Observer that notes what it receives.
type recorder struct{ received []string }

func (r *recorder) Observe(name string) { r.received = append(r.received, "observe "+name) }
func (r *recorder) Forget(name string)  { r.received = append(r.received, "forget "+name) }
func (r *recorder) Replace(all []string, resourceVersion string) {
	slices.Sort(all)
	r.received = append(r.received, "replace "+strings.Join(all, ",")+" at "+resourceVersion)
}

// reduceToName keeps the name and version of a ConfigMap, and cannot read one
// that says so.
func reduceToName(object any) (string, error) {
	config := object.(*corev1.ConfigMap)
	if config.Data["unreadable"] != "" {
		return "", errors.New("read configmap " + config.Name + ": unreadable")
	}
	return config.Name + "@" + config.ResourceVersion, nil
}

var configMapKind = corev1.SchemeGroupVersion.WithKind("ConfigMap")

// nameOf names what reduceToName has returned.
func nameOf(reduced string) quarantine.Object {
	name, version, _ := strings.Cut(reduced, "@")
	return quarantine.Object{Kind: configMapKind, Namespace: "ns", Name: name, ResourceVersion: version}
}

func configMap(name, resourceVersion string) *corev1.ConfigMap {
	return &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, ResourceVersion: resourceVersion}}
}

func unreadable(name string) *corev1.ConfigMap {
	config := configMap(name, "1")
	config.Data = map[string]string{"unreadable": "canary"}
	return config
}

func newStore(observer Observer[string], log *slog.Logger) reducingStore[string] {
	return reducingStore[string]{New(Options[string]{
		Resource: "configmaps", Kind: configMapKind, Reduce: reduceToName, Name: nameOf, Observer: observer,
		Quarantine: quarantine.New(quarantine.Options{Log: log}), Log: log,
	})}
}

func TestAPageIsReducedAndItsVersionKept(t *testing.T) {
	page := &corev1.ConfigMapList{
		ListMeta: metav1.ListMeta{ResourceVersion: "9", Continue: "more"},
		Items:    []corev1.ConfigMap{*configMap("a", "1"), *unreadable("b"), *configMap("c", "3")},
	}
	all := &reductions[string]{}
	if err := all.add(page, reduceToName); err != nil {
		t.Fatal(err)
	}
	want := &reductions[string]{
		ListMeta: metav1.ListMeta{ResourceVersion: "9"},
		Items:    []*reduction[string]{{object: "a@1"}, {err: errors.New("read configmap b: unreadable")}, {object: "c@3"}},
	}
	sameError := cmp.Comparer(func(a, b error) bool { return fmt.Sprint(a) == fmt.Sprint(b) })
	if diff := cmp.Diff(want, all, cmp.AllowUnexported(reduction[string]{}), sameError); diff != "" {
		t.Error(diff)
	}
}

// The reflector would log the object with the error.
func TestAnObjectThatCannotBeReadIsSkippedWithoutAnErrorAndLoggedWithoutItsContent(t *testing.T) {
	observer, log := &recorder{}, &bytes.Buffer{}
	store := newStore(observer, slog.New(slog.NewTextHandler(log, nil)))
	var listed []any
	for _, object := range []any{configMap("a", "1"), unreadable("in-a-list")} {
		reduced, err := store.Transformer()(object)
		if err != nil {
			t.Fatal(err)
		}
		listed = append(listed, reduced)
	}
	if err := errors.Join(
		store.Add(unreadable("added")),
		store.Add(configMap("b", "2")),
		store.Update(unreadable("modified")),
		store.Update(configMap("b", "3")),
		store.Delete(unreadable("deleted")),
		store.Delete(configMap("b", "4")),
		store.Replace(listed, "5"),
		store.Resync(),
	); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"observe b@2", "observe b@3", "forget b@4", "replace a@1 at 5"}, observer.received); diff != "" {
		t.Error(diff)
	}
	for _, name := range []string{"added", "modified", "deleted", "in-a-list"} { // with the object, by whose namespace the log leaves out lines
		line := `level=ERROR msg="ignoring an unreadable object" resource=configmaps object=configmap/ns/` + name + ` error="read configmap ` + name + `: unreadable"`
		if strings.Count(log.String(), line) != 1 {
			t.Errorf("%s is not logged once in\n%s", line, log)
		}
	}
	if strings.Contains(log.String(), "canary") {
		t.Errorf("content was logged:\n%s", log)
	}
}

func TestAWatchIsSyncedOnceItsObserverHasTakenInTheFirstList(t *testing.T) {
	observer := &syncedAtReplace{}
	store := newStore(observer, slog.Default())
	observer.watch = store.watch
	for range 2 {
		if err := store.Replace(nil, "1"); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case <-store.watch.Synced():
	default:
		t.Error("the channel is not closed")
	}
	select {
	case <-store.watch.tried:
	default:
		t.Error("not settled")
	}
	if diff := cmp.Diff([]bool{false, true}, observer.synced); diff != "" || !store.watch.Status().Synced {
		t.Errorf("status %+v, within the calls: %s", store.watch.Status(), diff)
	}
}

// syncedAtReplace notes whether its watch is synced when it receives a list.
type syncedAtReplace struct {
	recorder
	watch  *Watch[string]
	synced []bool
}

func (s *syncedAtReplace) Replace([]string, string) {
	s.synced = append(s.synced, s.watch.Status().Synced)
}
