package fairqueue

// RoundRobin hands out what waits in turns by namespace, and within a namespace in the order of arrival, so that a namespace
// with thousands of items does not delay the others. Adding and handing out take constant time. The zero value is empty.
type RoundRobin[T any] struct {
	namespaces []string // those with items that wait, in the order of their turns
	waiting    map[string][]T
	count      int
}

// Len returns how many items wait.
func (r *RoundRobin[T]) Len() int { return r.count }

// LenOf returns how many items of a namespace wait.
func (r *RoundRobin[T]) LenOf(namespace string) int { return len(r.waiting[namespace]) }

// Turn returns the namespace whose turn it is. There must be one.
func (r *RoundRobin[T]) Turn() string { return r.namespaces[0] }

// Add adds an item of a namespace.
func (r *RoundRobin[T]) Add(namespace string, item T) {
	if r.waiting == nil {
		r.waiting = make(map[string][]T)
	}
	if len(r.waiting[namespace]) == 0 {
		r.namespaces = append(r.namespaces, namespace)
	}
	r.waiting[namespace] = append(r.waiting[namespace], item)
	r.count++
}

// Next removes and returns the item whose turn it is. There must be one.
func (r *RoundRobin[T]) Next() T {
	namespace := r.namespaces[0]
	r.namespaces = r.namespaces[1:]
	waiting := r.waiting[namespace]
	item := waiting[0]
	clear(waiting[:1]) // what is handed out does not stay in memory with the others
	if rest := waiting[1:]; len(rest) > 0 {
		r.waiting[namespace] = rest
		r.namespaces = append(r.namespaces, namespace)
	} else {
		delete(r.waiting, namespace)
	}
	if r.count--; r.count == 0 {
		*r = RoundRobin[T]{} // releases the memory that many items took
	}
	return item
}
