package quarantine

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
)

// maxHeld is how many objects a ward remembers. It does not remember further objects, so they
// are tried again whenever they come up.
const maxHeld = 1000

// maxNamed is how many objects [Ward.Detail] names.
const maxNamed = 5

// Place is where in the program an object caused a panic.
type Place string

// The places.
const (
	Intake   Place = "intake"   // it was taken in, as a watch showed it
	Queue    Place = "queue"    // a change of it was queued
	Decision Place = "decision" // it was decided about, or the decision carried out
	Metrics  Place = "metrics"  // it was looked at for a metric
)

// Places are all places.
var Places = []Place{Intake, Queue, Decision, Metrics}

// Options configure how a ward reports a panic.
type Options struct {
	Log *slog.Logger
	// Panicked, unless it is nil, is called after each panic, in the goroutine that it
	// happened in.
	Panicked func(Place, Object)
}

// Ward holds the objects that caused a panic, each at the place where it did so. Its methods
// may be called by several goroutines at once.
type Ward struct {
	options Options

	mu   sync.Mutex
	held map[patient]Object
}

type patient struct {
	place                 Place
	kind, namespace, name string
}

func at(place Place, o Object) patient { return patient{place, o.Kind.Kind, o.Namespace, o.Name} }

// New returns a ward that holds nothing.
func New(options Options) *Ward {
	return &Ward{options: options, held: make(map[patient]Object)}
}

// Try does some work on an object, and reports whether the work completed. It does not try an
// object that the ward holds at this place while the object has the same version. It always
// tries an object without a version.
func (w *Ward) Try(place Place, o Object, work func()) (done bool) {
	if w.leavesAlone(place, o) {
		return false
	}
	defer func() {
		if done {
			w.release(at(place, o))
		} else if value := recover(); value != nil { // nil if the goroutine ends in another way
			w.take(place, o, value)
		}
	}()
	work()
	return true
}

func (w *Ward) leavesAlone(place Place, o Object) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	held, found := w.held[at(place, o)]
	return found && o.ResourceVersion != "" && held.ResourceVersion == o.ResourceVersion && held.UID == o.UID
}

func (w *Ward) release(p patient) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.held, p)
}

// take holds an object that has just caused a panic. It must be called while the stack is
// still that of the panic.
func (w *Ward) take(place Place, o Object, value any) {
	attributes := []any{"object", o.String(), "at", string(place), "panic", describe(value)}
	if w.hold(place, o) {
		attributes = append(attributes, "stack", stack())
	}
	w.options.Log.Error("internal error, leaving the object alone until it changes", attributes...)
	if w.options.Panicked != nil {
		defer func() {
			if value := recover(); value != nil {
				w.options.Log.Error("internal error while reporting another one", "object", o.String(), "panic", describe(value), "stack", stack())
			}
		}()
		w.options.Panicked(place, o)
	}
}

// hold reports whether the object was not held before.
func (w *Ward) hold(place Place, o Object) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, known := w.held[at(place, o)]
	if known || len(w.held) < maxHeld {
		w.held[at(place, o)] = o
	}
	return !known
}

// Release forgets an object that is gone, at all places.
func (w *Ward) Release(o Object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, place := range Places {
		delete(w.held, at(place, o))
	}
}

// ReleaseIntake forgets the objects of a kind and namespace (empty: of all namespaces) that
// are held at their intake, unless they are among the given ones: a list has shown that only
// the given objects still exist.
func (w *Ward) ReleaseIntake(kind, namespace string, except []Object) {
	there := make(sets.Set[patient], len(except))
	for _, o := range except {
		there.Insert(at(Intake, o))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.DeleteFunc(w.held, func(p patient, _ Object) bool {
		return p.place == Intake && p.kind == kind && (namespace == "" || p.namespace == namespace) && !there.Has(p)
	})
}

// NotTakenIn returns the UIDs of the objects of a namespace that the ward holds at their
// intake, and of their controllers: what the program knows about them is outdated.
func (w *Ward) NotTakenIn(namespace string) sets.Set[types.UID] {
	uids := sets.New[types.UID]()
	w.mu.Lock()
	defer w.mu.Unlock()
	for p, o := range w.held {
		if p.place == Intake && o.Namespace == namespace {
			uids.Insert(o.UID, o.Controller)
		}
	}
	return uids
}

// Detail describes in one line for /readyz what the ward holds. It is empty if the ward holds
// nothing.
func (w *Ward) Detail() string {
	sorted := slices.Sorted(maps.Keys(w.names()))
	if len(sorted) == 0 {
		return ""
	}
	noun := "objects"
	if len(sorted) == 1 {
		noun = "object"
	}
	line := fmt.Sprintf("[!] %d %s left alone after an internal error: %s", len(sorted), noun, strings.Join(sorted[:min(len(sorted), maxNamed)], ", "))
	if more := len(sorted) - maxNamed; more > 0 {
		line += fmt.Sprintf(" and %d more", more)
	}
	return line
}

// Len returns how many objects the ward holds.
func (w *Ward) Len() int { return len(w.names()) }

// names returns the names of the objects that the ward holds. An object that is held at
// several places counts once.
func (w *Ward) names() sets.Set[string] {
	w.mu.Lock()
	defer w.mu.Unlock()
	names := sets.New[string]()
	for _, o := range w.held {
		names.Insert(o.String())
	}
	return names
}
