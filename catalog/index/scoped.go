package index

import (
	"iter"
	"slices"
)

// Scoped holds values by kind, namespace and name. Those of one kind and namespace can be found without searching the
// others.
type Scoped[K comparable, V any] struct {
	values map[scope[K]]map[string]V
	size   int
}

type scope[K comparable] struct {
	kind      K
	namespace string
}

// NewScoped returns a table without values.
func NewScoped[K comparable, V any]() Scoped[K, V] {
	return Scoped[K, V]{values: make(map[scope[K]]map[string]V)}
}

// Len returns how many values there are.
func (s *Scoped[K, V]) Len() int { return s.size }

// Get returns a value, the zero value if there is none.
func (s *Scoped[K, V]) Get(kind K, namespace, name string) V {
	return s.values[scope[K]{kind, namespace}][name]
}

// Put adds or replaces a value.
func (s *Scoped[K, V]) Put(kind K, namespace, name string, value V) {
	in := scope[K]{kind, namespace}
	values := s.values[in]
	if values == nil {
		values = make(map[string]V)
		s.values[in] = values
	}
	before := len(values)
	values[name] = value
	s.size += len(values) - before
}

// Remove removes a value, if there is one.
func (s *Scoped[K, V]) Remove(kind K, namespace, name string) {
	in := scope[K]{kind, namespace}
	values := s.values[in]
	before := len(values)
	delete(values, name)
	s.size += len(values) - before
	if len(values) == 0 {
		delete(s.values, in)
	}
}

// Has reports whether there is a value of a kind in a namespace.
func (s *Scoped[K, V]) Has(kind K, namespace string) bool {
	return len(s.values[scope[K]{kind, namespace}]) > 0
}

// Of returns the values of a kind, in a namespace or, if that is empty, in all of them, in no particular order.
func (s *Scoped[K, V]) Of(kind K, namespace string) (all []V) {
	if namespace != "" {
		return AppendValues(all, s.values[scope[K]{kind, namespace}])
	}
	for in, values := range s.values {
		if in.kind == kind {
			all = AppendValues(all, values)
		}
	}
	return all
}

// Sizes iterates over the namespaces, and how many values of a kind each has. A namespace comes once for each kind.
func (s *Scoped[K, V]) Sizes() iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		for in, values := range s.values {
			if !yield(in.namespace, len(values)) {
				return
			}
		}
	}
}

// All iterates over all values, in no particular order.
func (s *Scoped[K, V]) All() iter.Seq[V] {
	return func(yield func(V) bool) {
		for _, values := range s.values {
			for _, value := range values {
				if !yield(value) {
					return
				}
			}
		}
	}
}

// Namesakes returns the values of a kind and a name, in whatever namespaces. It looks at each namespace.
func (s *Scoped[K, V]) Namesakes(kind K, name string) (all []V) {
	for in, values := range s.values {
		if value, found := values[name]; found && in.kind == kind {
			all = append(all, value)
		}
	}
	return all
}

// AppendValues appends the values of a map, in no particular order.
func AppendValues[V any](all []V, values map[string]V) []V {
	all = slices.Grow(all, len(values))
	for _, value := range values {
		all = append(all, value)
	}
	return all
}
