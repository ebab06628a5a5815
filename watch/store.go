package watch

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
)

// reduction is what is left of an object on its way through the reflector, or why
// the object could not be read.
type reduction[T any] struct {
	object T
	err    error
}

// GetObjectKind makes a reduction a runtime.Object, as reflectors want it.
func (r *reduction[T]) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject makes a reduction a runtime.Object. Nobody modifies one, so it
// can be its own copy.
func (r *reduction[T]) DeepCopyObject() runtime.Object { return r }

func newReduction[T any](object any, reduce func(any) (T, error)) *reduction[T] {
	reduced, err := reduce(object)
	return &reduction[T]{reduced, err}
}

// reductions is a list of them, as reflectors want it.
type reductions[T any] struct {
	metav1.TypeMeta
	metav1.ListMeta
	Items []*reduction[T]
}

// DeepCopyObject makes reductions a runtime.Object.
func (r *reductions[T]) DeepCopyObject() runtime.Object { return r }

// add adds the reductions of a page.
func (r *reductions[T]) add(page runtime.Object, reduce func(any) (T, error)) error {
	list, err := meta.ListAccessor(page)
	if err != nil {
		return err
	}
	r.ResourceVersion, r.Continue = list.GetResourceVersion(), list.GetContinue()
	return meta.EachListItem(page, func(object runtime.Object) error {
		r.Items = append(r.Items, newReduction(object, reduce))
		return nil
	})
}

// reducingStore is what the reflector stores into. It reduces each object and
// passes it on. Its methods never return an error, because the reflector would
// log it with the object, which may be a Secret. The reflector calls them one at
// a time.
type reducingStore[T any] struct{ watch *Watch[T] }

// Without this the reflector would collect whole objects.
var _ cache.TransformingStore = reducingStore[any]{}

// Transformer makes the reflector reduce what a streaming list brings as it
// arrives, instead of collecting whole objects.
func (s reducingStore[T]) Transformer() cache.TransformFunc {
	return func(object any) (any, error) { return newReduction(object, s.watch.options.Reduce), nil }
}

// Add takes in a new object.
func (s reducingStore[T]) Add(object any) error { return s.Update(object) }

// Update takes in an object that changed.
func (s reducingStore[T]) Update(object any) error {
	if reduced, err := s.watch.options.Reduce(object); s.isReadable(err) {
		s.watch.options.Observer.Observe(reduced)
	}
	return nil
}

// Delete takes in that an object is gone.
func (s reducingStore[T]) Delete(object any) error {
	if reduced, err := s.watch.options.Reduce(object); s.isReadable(err) {
		s.watch.options.Observer.Forget(reduced)
	}
	return nil
}

// Replace takes in all objects, which have been reduced.
func (s reducingStore[T]) Replace(list []any, resourceVersion string) error {
	all := make([]T, 0, len(list))
	for _, item := range list {
		if r, isReduced := item.(*reduction[T]); isReduced && s.isReadable(r.err) {
			all = append(all, r.object)
		}
	}
	s.watch.options.Observer.Replace(all, resourceVersion)
	s.watch.listed()
	return nil
}

// Resync does nothing: what the observer was told does not need to be told again.
func (s reducingStore[T]) Resync() error { return nil }

// isReadable returns false for an object that could not be read. The API server
// validates what can be wrong with one, and without it the others still work.
func (s reducingStore[T]) isReadable(err error) bool {
	if err != nil {
		s.watch.options.Log.Error("ignoring an object that cannot be read", "resource", s.watch.options.Resource, "error", err)
	}
	return err == nil
}
