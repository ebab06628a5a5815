// Package notes keeps notes for people about objects, few of each namespace.
package notes

import (
	"iter"
	"maps"
	"sync"
)

// MaxOf is of how many objects of a namespace a note is kept, and maxInAll of how many in all, beyond fewOf of each
// namespace. Whoever may write to a namespace can make any number of objects that call for one.
const MaxOf, maxInAll, fewOf = 50, 5000, 5

// Notes are notes for people about objects: of the first ones of each namespace what is noted, of the others at most that
// something is. When there is room again, another one is kept as soon as it is noted again. The zero value is ready to use.
// Its methods may be called by several goroutines at once.
type Notes[K, V comparable] struct {
	// CountsAll means that the others are known, too.
	CountsAll bool

	mu   sync.Mutex
	in   map[string]notesIn[K, V] // by namespace
	kept int                      // in all namespaces
}

type notesIn[K, V comparable] struct {
	first  map[K]V
	others map[K]struct{}
}

// Put notes something about an object, and reports whether that is kept and news.
func (n *Notes[K, V]) Put(namespace string, object K, note V) (isNews bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	inside, found := n.in[namespace]
	if !found {
		if n.in == nil {
			n.in = make(map[string]notesIn[K, V])
		}
		inside = notesIn[K, V]{make(map[K]V), make(map[K]struct{})}
		n.in[namespace] = inside
	}
	known, isKept := inside.first[object]
	switch {
	case isKept && known == note:
		return false
	case !isKept && (len(inside.first) >= MaxOf || len(inside.first) >= fewOf && n.kept >= maxInAll):
		if n.CountsAll {
			inside.others[object] = struct{}{}
		}
		return false
	case !isKept:
		delete(inside.others, object)
		n.kept++
	}
	inside.first[object] = note
	return true
}

// Drop forgets what is noted about an object.
func (n *Notes[K, V]) Drop(namespace string, object K) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.dropFrom(namespace, func(inside notesIn[K, V]) {
		delete(inside.first, object)
		delete(inside.others, object)
	})
}

// DropAll forgets what is noted about the objects of a namespace, or of all if it is empty, for which a function returns true.
func (n *Notes[K, V]) DropAll(namespace string, is func(K) bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for in := range Inside(n.in, namespace) {
		n.dropFrom(in, func(inside notesIn[K, V]) {
			maps.DeleteFunc(inside.first, func(object K, _ V) bool { return is(object) })
			maps.DeleteFunc(inside.others, func(object K, _ struct{}) bool { return is(object) })
		})
	}
}

func (n *Notes[K, V]) dropFrom(namespace string, drop func(notesIn[K, V])) {
	inside, found := n.in[namespace]
	if !found {
		return
	}
	before := len(inside.first)
	drop(inside)
	n.kept -= before - len(inside.first)
	if len(inside.first)+len(inside.others) == 0 {
		delete(n.in, namespace)
	}
}

// Find returns what is noted about an object, the zero value if that is not kept. It reports whether anything is.
func (n *Notes[K, V]) Find(namespace string, object K) (note V, isNoted bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	inside := n.in[namespace]
	note, isKept := inside.first[object]
	_, isOther := inside.others[object]
	return note, isKept || isOther
}

// Each calls a function with each object of a namespace, or of all if it is empty, about which something is noted: with the
// zero value if that is not kept.
func (n *Notes[K, V]) Each(namespace string, do func(K, V)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, notes := range Inside(n.in, namespace) {
		for object, note := range notes.first {
			do(object, note)
		}
		for object := range notes.others {
			var none V
			do(object, none)
		}
	}
}

// Those returns the objects of a namespace, or of all if it is empty, about which something is noted.
func (n *Notes[K, V]) Those(namespace string) (objects []K) {
	n.Each(namespace, func(object K, _ V) { objects = append(objects, object) })
	return objects
}

// Inside yields what there is of a namespace, or of all if it is empty, without a look at the others.
func Inside[V any](all map[string]V, namespace string) iter.Seq2[string, V] {
	if namespace == "" {
		return maps.All(all)
	}
	return func(yield func(string, V) bool) {
		if of, found := all[namespace]; found {
			yield(namespace, of)
		}
	}
}

// All returns copies of the notes that are kept, in no particular order.
func (n *Notes[K, V]) All() map[K]V {
	n.mu.Lock()
	defer n.mu.Unlock()
	all := make(map[K]V, n.kept)
	for _, inside := range n.in {
		maps.Copy(all, inside.first)
	}
	return all
}

// Size returns about how many objects something is noted.
func (n *Notes[K, V]) Size() int {
	size := 0
	n.Each("", func(K, V) { size++ })
	return size
}

// IsInside reports whether a namespace is the one that an overview is about, or one of all if that is empty.
func IsInside(asked, namespace string) bool { return asked == "" || namespace == asked }
