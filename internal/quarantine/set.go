package quarantine

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
)

// maxObjectsOf is how many objects of a namespace a set remembers, and maxObjects how many in all, beyond fewObjects of each
// namespace. It does not remember further objects, so they are tried again whenever they come up.
const maxObjectsOf, maxObjects, fewObjects = 200, 1000, 5

// maxNamed is how many objects [Set.Detail] names.
const maxNamed = 5

// Place is where in the program an object caused a panic.
type Place string

// The places.
const (
	Intake   Place = "intake"   // it was taken in, as a watch showed it
	Queue    Place = "queue"    // a change of it was queued
	Decision Place = "decision" // it was decided about, or the decision carried out
	Metrics  Place = "metrics"  // it was looked at for a metric
	Delivery Place = "delivery" // what became of its restart was judged
)

// Places are all places.
var Places = []Place{Intake, Queue, Decision, Metrics, Delivery}

// Options configure how a set reports a panic.
type Options struct {
	Log *slog.Logger
	// Panicked, unless it is nil, is called after each panic, in the goroutine that it
	// happened in.
	Panicked func(Place, Object)
}

// Set is the set of objects that are left alone because they caused a panic, each at the place
// where it did so. Its methods may be called by several goroutines at once.
type Set struct {
	options Options

	mu      sync.Mutex
	objects map[entry]left
	of      map[string]int // how many of a namespace
}

// left is an object that is left alone, since when.
type left struct {
	Object
	since time.Time
}

type entry struct {
	place                 Place
	kind, namespace, name string
}

func at(place Place, o Object) entry { return entry{place, o.Kind.Kind, o.Namespace, o.Name} }

// New returns an empty set.
func New(options Options) *Set {
	return &Set{options: options, objects: make(map[entry]left), of: make(map[string]int)}
}

// Try does some work on an object, and reports whether the work completed. It does not try an
// object that is left alone at this place while the object has the same version. It always
// tries an object without a version.
func (s *Set) Try(place Place, o Object, work func()) (done bool) {
	if s.leavesAlone(place, o) {
		return false
	}
	defer func() {
		if done {
			s.release(at(place, o))
		} else if value := recover(); value != nil { // nil if the goroutine ends in another way
			s.panicked(place, o, value)
		}
	}()
	work()
	return true
}

func (s *Set) leavesAlone(place Place, o Object) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	known, found := s.objects[at(place, o)]
	return found && o.ResourceVersion != "" && known.ResourceVersion == o.ResourceVersion && known.UID == o.UID
}

func (s *Set) release(e entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget(e)
}

// forget forgets an object at a place. The set must be locked.
func (s *Set) forget(e entry) {
	if _, found := s.objects[e]; !found {
		return
	}
	delete(s.objects, e)
	if s.of[e.namespace]--; s.of[e.namespace] == 0 {
		delete(s.of, e.namespace)
	}
}

// panicked adds and reports an object that has just caused a panic. It must be called while the stack is
// still that of the panic.
func (s *Set) panicked(place Place, o Object, value any) {
	attributes := []any{"object", o.String(), "at", string(place), "panic", describe(value)}
	if s.add(place, o) {
		attributes = append(attributes, "stack", stack())
	}
	s.options.Log.Error("internal error, leaving the object alone until it changes", attributes...)
	if s.options.Panicked != nil {
		defer func() {
			if value := recover(); value != nil {
				s.options.Log.Error("internal error while reporting another one", "object", o.String(), "panic", describe(value), "stack", stack())
			}
		}()
		s.options.Panicked(place, o)
	}
}

// add reports whether the object is new in the set.
func (s *Set) add(place Place, o Object) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := at(place, o)
	_, known := s.objects[e]
	of := s.of[e.namespace]
	if !known && (of >= maxObjectsOf || of >= fewObjects && len(s.objects) >= maxObjects) {
		return true
	}
	began := time.Now()
	if known {
		began = s.objects[e].since
	}
	if s.objects[e] = (left{o, began}); !known {
		s.of[e.namespace]++
	}
	return !known
}

// Release forgets an object that is gone, at all places.
func (s *Set) Release(o Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, place := range Places {
		s.forget(at(place, o))
	}
}

// ReleaseIntake forgets the objects of a kind and namespace (empty: of all namespaces) that
// are left alone at their intake, unless they are among the given ones: a list has shown that only
// the given objects still exist.
func (s *Set) ReleaseIntake(kind, namespace string, except []Object) {
	there := make(sets.Set[entry], len(except))
	for _, o := range except {
		there.Insert(at(Intake, o))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for e := range s.objects {
		if e.place == Intake && e.kind == kind && (namespace == "" || e.namespace == namespace) && !there.Has(e) {
			s.forget(e)
		}
	}
}

// NotTakenIn returns the UIDs of the objects of a namespace that are left alone at their
// intake, and of their controllers: what the program knows about them is outdated.
func (s *Set) NotTakenIn(namespace string) sets.Set[types.UID] {
	uids := sets.New[types.UID]()
	s.mu.Lock()
	defer s.mu.Unlock()
	for e, o := range s.objects {
		if e.place == Intake && o.Namespace == namespace {
			uids.Insert(o.UID, o.Controller)
		}
	}
	return uids
}

// Since returns since when an object is left alone at any of the places, and false if it is at none.
func (s *Set) Since(o Object, places ...Place) (since time.Time, isLeft bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, place := range places {
		if known, found := s.objects[at(place, o)]; found && (!isLeft || known.since.Before(since)) {
			since, isLeft = known.since, true
		}
	}
	return since, isLeft
}

// Objects returns the objects that are left alone. One that is left alone at several places is there once.
func (s *Set) Objects() []Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	objects := make(map[string]Object, len(s.objects))
	for _, o := range s.objects {
		objects[o.String()] = o.Object
	}
	return slices.Collect(maps.Values(objects))
}

// Detail names in one line for /readyz the objects that are left alone. It is empty if there are
// none.
func (s *Set) Detail() string {
	if text, _ := s.Describe(""); text != "" {
		return "[!] " + text
	}
	return ""
}

// Describe names the objects of a namespace, or of all if it is empty, that are left alone, and says since when the first
// of them is. The text is empty if there are none. What is in no namespace counts as in each.
func (s *Set) Describe(namespace string) (text string, since time.Time) {
	names, since := s.names(namespace)
	sorted := slices.Sorted(maps.Keys(names))
	if len(sorted) == 0 {
		return "", time.Time{}
	}
	noun := "objects"
	if len(sorted) == 1 {
		noun = "object"
	}
	text = fmt.Sprintf("%d %s left alone after an internal error: %s", len(sorted), noun, strings.Join(sorted[:min(len(sorted), maxNamed)], ", "))
	if more := len(sorted) - maxNamed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text, since
}

// Len returns how many objects are left alone.
func (s *Set) Len() int {
	names, _ := s.names("")
	return len(names)
}

// names returns the names of the objects of a namespace, or of all, that are left alone, and since when the first of them
// is. An object that is left alone at several places counts once.
func (s *Set) names(namespace string) (names sets.Set[string], since time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	names = sets.New[string]()
	for _, o := range s.objects {
		if namespace != "" && o.Namespace != "" && o.Namespace != namespace {
			continue
		}
		if names.Insert(o.String()); since.IsZero() || o.since.Before(since) {
			since = o.since
		}
	}
	return names, since
}
