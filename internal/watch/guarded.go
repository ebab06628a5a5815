package watch

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"

	"kubernetes-deployment-restart-controller/internal/quarantine"
)

// leftAloneError is why an object that is left alone was not reduced.
type leftAloneError struct{ object quarantine.Object }

func (e *leftAloneError) Error() string { return e.object.String() + " is left alone" }

// name names an object as it arrived.
func (w *Watch[T]) name(object any) quarantine.Object {
	accessor, err := meta.Accessor(object)
	if err != nil { // no API server sends such an object
		return w.nameOfList()
	}
	return quarantine.NewObject(w.options.Kind, accessor)
}

// nameOfList names the list of all objects.
func (w *Watch[T]) nameOfList() quarantine.Object {
	kind := w.options.Kind
	kind.Kind += "List"
	return quarantine.Object{Kind: kind, Namespace: w.options.Namespace}
}

// reduce reduces an object of a list. If that panics, the object is left alone.
func (w *Watch[T]) reduce(object any) (reduced T, err error) {
	name := w.name(object)
	if !w.options.Quarantine.Try(quarantine.Intake, name, func() { reduced, err = w.options.Reduce(object) }) {
		return reduced, &leftAloneError{name}
	}
	w.isReadable(name, err)
	return reduced, err
}

// take reduces an object and passes it to the observer. If either panics, the object is
// left alone.
func (w *Watch[T]) take(object any, name quarantine.Object, pass func(T)) {
	w.options.Quarantine.Try(quarantine.Intake, name, func() {
		if reduced, err := w.options.Reduce(object); w.isReadable(name, err) {
			pass(reduced)
		}
	})
}

// replace passes all objects to the observer. If that panics, it passes the objects one by
// one, to find out which ones to leave alone, and then all others together, so that the observer
// knows what is gone. It returns the objects that are left alone.
func (w *Watch[T]) replace(all []T, resourceVersion string) (leftAlone []quarantine.Object) {
	observer, set := w.options.Observer, w.options.Quarantine
	if set.Try(quarantine.Intake, w.nameOfList(), func() { observer.Replace(slices.Clone(all), resourceVersion) }) {
		return nil
	}
	others := make([]T, 0, len(all))
	for _, object := range all {
		if name := w.options.Name(object); set.Try(quarantine.Intake, name, func() { observer.Observe(object) }) {
			others = append(others, object)
		} else {
			leftAlone = append(leftAlone, name)
		}
	}
	set.Try(quarantine.Intake, w.nameOfList(), func() { observer.Replace(others, resourceVersion) })
	return leftAlone
}

// isReadable returns false for an object that could not be read. That is rare, because the
// API server validates objects, and the other objects still work without it.
func (w *Watch[T]) isReadable(name quarantine.Object, err error) bool {
	if err != nil {
		w.options.Log.Error("ignoring an unreadable object", "resource", w.options.Title, "object", name.String(), "error", err)
	}
	return err == nil
}
