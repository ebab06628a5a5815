package watch

import (
	"errors"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"

	"kubernetes-deployment-restart-controller/internal/apiclient"
	"kubernetes-deployment-restart-controller/internal/quarantine"
)

// reduction is the reduced form of an object on its way through the reflector, or
// why the object could not be read.
type reduction[T any] struct {
	object T
	err    error
}

// GetObjectKind makes a reduction a runtime.Object, as reflectors require.
func (r *reduction[T]) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject makes a reduction a runtime.Object. Reductions are never
// modified, so a reduction can be its own copy.
func (r *reduction[T]) DeepCopyObject() runtime.Object { return r }

func newReduction[T any](object any, reduce func(any) (T, error)) *reduction[T] {
	reduced, err := reduce(object)
	return &reduction[T]{reduced, err}
}

// reductions is a list of reductions, as reflectors require.
type reductions[T any] struct {
	metav1.TypeMeta
	metav1.ListMeta
	Items []*reduction[T]
}

// DeepCopyObject makes reductions a runtime.Object.
func (r *reductions[T]) DeepCopyObject() runtime.Object { return r }

// add adds the reductions of a page.
func (r *reductions[T]) add(page apiclient.Page, reduce func(any) (T, error)) error {
	r.ResourceVersion = page.GetResourceVersion()
	return meta.EachListItem(page, func(object runtime.Object) error {
		r.Items = append(r.Items, newReduction(object, reduce))
		return nil
	})
}

// reducingStore is the store of the reflector. It reduces each object and passes
// it on. Its methods never return an error, because the reflector would log it
// with the object, which may be a Secret. The reflector calls them one at a time.
type reducingStore[T any] struct{ watch *Watch[T] }

// Without this, the reflector would collect whole objects.
var _ cache.TransformingStore = reducingStore[any]{}

// Transformer makes the reflector reduce the objects of a streaming list as they
// arrive, instead of collecting whole objects.
func (s reducingStore[T]) Transformer() cache.TransformFunc {
	return func(object any) (any, error) { return newReduction(object, s.watch.reduce), nil }
}

// Add takes in a new object.
func (s reducingStore[T]) Add(object any) error { return s.Update(object) }

// Update takes in an object that changed.
func (s reducingStore[T]) Update(object any) error {
	s.watch.take(object, s.watch.name(object), s.watch.options.Observer.Observe)
	return nil
}

// Delete takes in that an object is gone.
func (s reducingStore[T]) Delete(object any) error {
	name := s.watch.name(object)
	name.ResourceVersion = "" // the observer receives the deletion even if this version was left alone
	s.watch.take(object, name, s.watch.options.Observer.Forget)
	s.watch.options.Quarantine.Release(name)
	return nil
}

// Replace takes in all objects, which have been reduced.
func (s reducingStore[T]) Replace(list []any, resourceVersion string) error {
	all := make([]T, 0, len(list))
	var leftAlone []quarantine.Object
	for _, item := range list {
		r, isReduced := item.(*reduction[T])
		var e *leftAloneError
		switch {
		case !isReduced:
		case errors.As(r.err, &e):
			leftAlone = append(leftAlone, e.object)
		case r.err == nil:
			all = append(all, r.object)
		}
	}
	leftAlone = append(leftAlone, s.watch.replace(all, resourceVersion)...)
	s.watch.options.Quarantine.ReleaseIntake(s.watch.options.Kind.Kind, s.watch.options.Namespace, leftAlone)
	s.watch.listed()
	return nil
}

// Resync does nothing: the observer does not need to receive objects again.
func (s reducingStore[T]) Resync() error { return nil }
