package watch

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/internal/quarantine"
)

// poisoned is a ConfigMap of which a reduction panics.
func poisoned(name, resourceVersion string) *corev1.ConfigMap {
	config := configMap(name, resourceVersion)
	config.Data = map[string]string{"poisoned": "canary"}
	return config
}

// mark is what an observer panics of.
const mark = "bad"

// fragile is a recorder that panics when it receives an object with the mark.
type fragile struct {
	recorder
	// clumsy makes it panic whenever it receives all objects.
	clumsy bool
}

func (f *fragile) check(name string) {
	if strings.HasPrefix(name, mark) {
		panic("observer: canary")
	}
}

func (f *fragile) Observe(name string) {
	f.check(name)
	f.recorder.Observe(name)
}

func (f *fragile) Forget(name string) {
	f.check(name)
	f.recorder.Forget(name)
}

func (f *fragile) Replace(all []string, resourceVersion string) {
	for _, name := range all {
		f.check(name)
	}
	if f.clumsy {
		panic("observer: canary")
	}
	f.recorder.Replace(all, resourceVersion)
}

// fragileStore is a store that a story is played on, with what comes of it.
type fragileStore struct {
	reducingStore[string]
	observer *fragile
	log      *bytes.Buffer
	panics   []string
}

func newFragileStore() *fragileStore {
	s := &fragileStore{observer: &fragile{}, log: &bytes.Buffer{}}
	log := slog.New(slog.NewTextHandler(s.log, nil))
	s.reducingStore = newStore(s.observer, log)
	s.watch.options.Quarantine = quarantine.New(quarantine.Options{
		Log: log, Panicked: func(_ quarantine.Place, o quarantine.Object) {
			s.panics = append(s.panics, o.Name+"@"+o.ResourceVersion)
		},
	})
	s.watch.options.Reduce = func(object any) (string, error) {
		if object.(*corev1.ConfigMap).Data["poisoned"] != "" {
			panic("reduction: canary")
		}
		return reduceToName(object)
	}
	return s
}

// list plays a streaming list.
func (s *fragileStore) list(resourceVersion string, objects ...*corev1.ConfigMap) {
	var reduced []any
	for _, object := range objects {
		r, _ := s.Transformer()(object) // the API server sends nothing that it has an error for
		reduced = append(reduced, r)
	}
	_ = s.Replace(reduced, resourceVersion)
}

// require compares what came of a story, and that nothing of the objects is in the log.
func (s *fragileStore) require(t *testing.T, received, panics []string, detail string) {
	t.Helper()
	if diff := cmp.Diff(received, s.observer.received); diff != "" {
		t.Errorf("received (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(panics, s.panics); diff != "" {
		t.Errorf("panics (-want +got):\n%s", diff)
	}
	if got := s.watch.options.Quarantine.Detail(); got != detail {
		t.Errorf("got %q, want %q", got, detail)
	}
	if strings.Contains(s.log.String(), "canary") {
		t.Errorf("the log has content of an object:\n%s", s.log)
	}
}

const oneLeftAlone = "[!] 1 object left alone after an internal error: configmap/ns/"

func TestAnObjectThatMakesAReductionPanicIsLeftAloneUntilItChanges(t *testing.T) {
	s := newFragileStore()
	for _, object := range []*corev1.ConfigMap{configMap("a", "1"), poisoned("b", "2"), poisoned("b", "2"), configMap("c", "3")} {
		_ = s.Update(object)
	}
	s.require(t, []string{"observe a@1", "observe c@3"}, []string{"b@2"}, oneLeftAlone+"b")
	if !strings.Contains(s.log.String(), "guarded_test.go") {
		t.Errorf("the log does not show where it happened:\n%s", s.log)
	}
	_ = s.Update(poisoned("b", "4"))
	s.require(t, []string{"observe a@1", "observe c@3"}, []string{"b@2", "b@4"}, oneLeftAlone+"b")
	_ = s.Update(configMap("b", "5"))
	s.require(t, []string{"observe a@1", "observe c@3", "observe b@5"}, []string{"b@2", "b@4"}, "")
}

func TestAPoisonedObjectInAListIsLeftOutOfIt(t *testing.T) {
	s := newFragileStore()
	s.list("3", configMap("a", "1"), poisoned("b", "2"), configMap("c", "3"))
	s.require(t, []string{"replace a@1,c@3 at 3"}, []string{"b@2"}, oneLeftAlone+"b")
	s.list("4", configMap("a", "1"), poisoned("b", "2"), configMap("c", "4")) // the same again
	s.require(t, []string{"replace a@1,c@3 at 3", "replace a@1,c@4 at 4"}, []string{"b@2"}, oneLeftAlone+"b")
	select {
	case <-s.watch.Synced():
	default:
		t.Error("the watch is not synced")
	}
	s.list("5", configMap("a", "1")) // it is gone
	s.require(t, []string{"replace a@1,c@3 at 3", "replace a@1,c@4 at 4", "replace a@1 at 5"}, []string{"b@2"}, "")
}

func TestAPageWithAPoisonedObjectIsTakenIn(t *testing.T) {
	s := newFragileStore()
	all := &reductions[string]{}
	page := &corev1.ConfigMapList{Items: []corev1.ConfigMap{*configMap("a", "1"), *poisoned("b", "2")}}
	if err := all.add(page, s.watch.reduce); err != nil {
		t.Fatal(err)
	}
	_ = s.Replace([]any{all.Items[0], all.Items[1]}, "2")
	s.require(t, []string{"replace a@1 at 2"}, []string{"b@2"}, oneLeftAlone+"b")
}

func TestAnObjectThatMakesTheObserverPanicIsLeftAlone(t *testing.T) {
	s := newFragileStore()
	_ = s.Update(configMap(mark, "1"))
	_ = s.Update(configMap("a", "2"))
	s.require(t, []string{"observe a@2"}, []string{mark + "@1"}, oneLeftAlone+mark)
}

func TestTheObserverGetsAllObjectsOfAListButThePoisonedOne(t *testing.T) {
	s := newFragileStore()
	s.list("3", configMap("a", "1"), configMap(mark, "2"), configMap("c", "3"))
	s.require(t, []string{"observe a@1", "observe c@3", "replace a@1,c@3 at 3"}, []string{"@", mark + "@2"}, oneLeftAlone+mark)
}

func TestAWatchGoesOnIfItsObserverCannotTakeInAnyList(t *testing.T) {
	s := newFragileStore()
	s.observer.clumsy = true
	s.list("3", configMap("a", "1"), configMap("c", "3"))
	s.require(t, []string{"observe a@1", "observe c@3"}, []string{"@", "@"},
		"[!] 1 object left alone after an internal error: configmaplist//")
	select {
	case <-s.watch.Synced():
	default:
		t.Error("the watch is not synced")
	}
}

func TestAnObjectThatIsGoneIsNoLongerLeftAlone(t *testing.T) {
	s := newFragileStore()
	_ = s.Update(configMap(mark, "1"))
	_ = s.Delete(configMap(mark, "1"))
	_ = s.Update(poisoned("b", "2"))
	_ = s.Delete(poisoned("b", "2"))
	s.require(t, nil, []string{mark + "@1", mark + "@", "b@2", "b@"}, "")
}
