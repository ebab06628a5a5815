package fairqueue

import (
	"cmp"
	"time"
)

// leastCost is what an item costs its namespace at least. Items that take less count alike,
// so that namespaces of such items take turns one by one.
const leastCost = 10 * time.Millisecond

// turnOrder is a heap, see [container/heap.Interface]: the namespace that has used the least
// worker time comes first, and of those that have used as much, the one that waits longest.
//
// An item is paid for when it starts, at the price of the namespace's last one, and settled
// when it ends. A namespace that had nothing to do starts with what the others have used by
// then, see [turns.enter]: it does not catch up, and nothing has to be kept of it meanwhile.
type turnOrder[T, L comparable] []*namespace[T, L]

func (o turnOrder[T, L]) Len() int { return len(o) }

func (o turnOrder[T, L]) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(o[i].used, o[j].used), cmp.Compare(o[i].number, o[j].number)) < 0
}

func (o turnOrder[T, L]) Swap(i, j int) {
	o[i], o[j] = o[j], o[i]
	o[i].place, o[j].place = i, j
}

func (o *turnOrder[T, L]) Push(added any) {
	ns := added.(*namespace[T, L])
	ns.place = len(*o)
	*o = append(*o, ns)
}

func (o *turnOrder[T, L]) Pop() any {
	last := len(*o) - 1
	ns := (*o)[last]
	(*o)[last] = nil
	*o = (*o)[:last]
	ns.place = -1
	return ns
}
