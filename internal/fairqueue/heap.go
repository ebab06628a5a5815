package fairqueue

import (
	"cmp"
	"container/heap"
)

// Heap orders elements as they compare. Among equal ones, the one that was put there first comes first. The zero value is
// empty.
type Heap[E element[E]] struct {
	slots slots[E]
	put   int // how many elements ever were
}

// element is a pointer to a struct that embeds a [Slot].
type element[E any] interface {
	Compare(E) int
	slot() *Slot
}

// Slot is the place of an element in a [Heap]. The zero value is in none.
type Slot struct {
	index  int // counts from 1, 0 if it is in no heap
	number int // in the order in which elements were put there
}

func (s *Slot) slot() *Slot { return s }

// IsPlaced reports whether the element is in a heap.
func (s *Slot) IsPlaced() bool { return s.index > 0 }

// Len returns how many elements there are.
func (h *Heap[E]) Len() int { return len(h.slots) }

// First returns the first element, the zero value if there is none.
func (h *Heap[E]) First() (first E) {
	if len(h.slots) > 0 {
		first = h.slots[0]
	}
	return first
}

// Put adds an element. One that is there moves to where it belongs now; callers do that whenever it compares differently.
func (h *Heap[E]) Put(e E) {
	slot := e.slot()
	if slot.IsPlaced() {
		heap.Fix(&h.slots, slot.index-1)
		return
	}
	h.put++
	slot.number = h.put
	heap.Push(&h.slots, e)
}

// Remove removes an element, if it is there.
func (h *Heap[E]) Remove(e E) {
	if slot := e.slot(); slot.IsPlaced() {
		heap.Remove(&h.slots, slot.index-1)
	}
}

// slots implement [heap.Interface].
type slots[E element[E]] []E

func (s slots[E]) Len() int { return len(s) }

func (s slots[E]) Less(i, j int) bool {
	return cmp.Or(s[i].Compare(s[j]), cmp.Compare(s[i].slot().number, s[j].slot().number)) < 0
}

func (s slots[E]) Swap(i, j int) {
	s[i], s[j] = s[j], s[i]
	s[i].slot().index, s[j].slot().index = i+1, j+1
}

func (s *slots[E]) Push(added any) {
	e := added.(E)
	*s = append(*s, e)
	e.slot().index = len(*s)
}

func (s *slots[E]) Pop() any {
	last := len(*s) - 1
	e := (*s)[last]
	clear((*s)[last:])
	*s = (*s)[:last]
	e.slot().index = 0
	return e
}
