package fairqueue

import (
	"cmp"
	"time"
)

// leastCost is the minimum cost of an item to its namespace. Items that take less time all
// cost the same, so that namespaces with such items take turns one by one.
const leastCost = 10 * time.Millisecond

// turnOrder is a heap; see [container/heap.Interface]. The namespace that has used the least
// worker time comes first, and among namespaces that have used the same time, the one that
// has waited longest.
//
// A namespace pays for an item when the item starts, at the price of the namespace's last
// item, and the difference is settled when it ends. A namespace that had nothing to do
// starts with what the others have used by then (see [turns.enter]), so it does not catch
// up, and the queue need not remember it in the meantime.
type turnOrder[T, F comparable] []*namespace[T, F]

func (o turnOrder[T, F]) Len() int { return len(o) }

func (o turnOrder[T, F]) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(o[i].used, o[j].used), cmp.Compare(o[i].number, o[j].number)) < 0
}

func (o turnOrder[T, F]) Swap(i, j int) {
	o[i], o[j] = o[j], o[i]
	o[i].place, o[j].place = i, j
}

func (o *turnOrder[T, F]) Push(added any) {
	ns := added.(*namespace[T, F])
	ns.place = len(*o)
	*o = append(*o, ns)
}

func (o *turnOrder[T, F]) Pop() any {
	last := len(*o) - 1
	ns := (*o)[last]
	(*o)[last] = nil
	*o = (*o)[:last]
	ns.place = -1
	return ns
}
