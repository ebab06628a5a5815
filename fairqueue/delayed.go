package fairqueue

import (
	"cmp"
	"container/heap"
	"time"
)

// delayed holds the entries that will be added later.
type delayed[T, F comparable] struct {
	order  dueOrder[T, F]
	number int // ever delayed
}

// add delays an entry until a time. If it is already delayed, the earlier time counts.
func (d *delayed[T, F]) add(e *entry[T, F], due time.Time) {
	switch {
	case !e.isDelayed():
		d.number++
		e.due, e.number = due, d.number
		heap.Push(&d.order, e)
	case due.Before(e.due):
		e.due = due
		heap.Fix(&d.order, e.place)
	}
}

func (d *delayed[T, F]) remove(e *entry[T, F]) {
	if e.isDelayed() {
		heap.Remove(&d.order, e.place)
	}
}

// next returns the entry that is due first, or nil if no entry is delayed.
func (d *delayed[T, F]) next() *entry[T, F] {
	if len(d.order) == 0 {
		return nil
	}
	return d.order[0]
}

// dueOrder is a heap; see [heap.Interface]. The entry that is due first comes first, and
// among entries that are due at the same time, the one that was delayed first.
type dueOrder[T, F comparable] []*entry[T, F]

func (o dueOrder[T, F]) Len() int { return len(o) }

func (o dueOrder[T, F]) Less(i, j int) bool {
	return cmp.Or(o[i].due.Compare(o[j].due), cmp.Compare(o[i].number, o[j].number)) < 0
}

func (o dueOrder[T, F]) Swap(i, j int) {
	o[i], o[j] = o[j], o[i]
	o[i].place, o[j].place = i, j
}

func (o *dueOrder[T, F]) Push(added any) {
	e := added.(*entry[T, F])
	e.place = len(*o)
	*o = append(*o, e)
}

func (o *dueOrder[T, F]) Pop() any {
	last := len(*o) - 1
	e := (*o)[last]
	(*o)[last] = nil
	*o = (*o)[:last]
	e.place = -1
	return e
}
