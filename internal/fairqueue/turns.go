package fairqueue

import (
	"cmp"
	"container/list"
	"time"
)

// turns is the order in which waiting entries are handed out: namespaces take turns, and
// within each namespace its flows do.
type turns[T, F comparable] struct {
	waiting int                    // how many entries wait
	now     time.Duration          // what the namespace of the last turn had used before it
	order   Heap[*namespace[T, F]] // the namespaces whose turn will come
	parked  list.List              // of *namespace: those that were passed over, in that order
}

// leastCost is the minimum cost of an item to its namespace. Items that take less time all
// cost the same, so that namespaces with such items take turns one by one.
const leastCost = 10 * time.Millisecond

// namespace is a namespace of which the queue knows at least one item.
type namespace[T, F comparable] struct {
	name    string
	entries int // how many the queue knows
	flows   map[F]*flow
	order   list.List // of *flow: the flows that are not empty, the next one first

	Slot                 // in the order of namespaces
	used   time.Duration // of the workers, see [namespace.Compare]
	cost   time.Duration // of the item that ended last
	parked *list.Element // among the parked ones, nil if it is not there

	underWay, slow int
	isSlow         bool
	lastSlow       time.Time // when a slow item ended last
}

// flow is a flow that is not empty.
type flow struct {
	entries list.List // of *entry, in the order of arrival
	turn    *list.Element
}

// waiting is the place of a waiting entry.
type waiting struct {
	element *list.Element // in its flow, nil if it does not wait
	since   time.Time
}

func newNamespace[T, F comparable](name string) *namespace[T, F] {
	return &namespace[T, F]{name: name, flows: make(map[F]*flow), cost: leastCost}
}

// Compare implements the order of namespaces: the one that has used the least worker time
// comes first, and among those that have used the same time, the one that has waited
// longest.
//
// A namespace pays for an item when the item starts, at the price of the namespace's last
// item, and the difference is settled when it ends. A namespace that had nothing to do
// starts with what the others have used by then (see [turns.enter]), so it does not catch
// up, and the queue need not remember it in the meantime.
func (n *namespace[T, F]) Compare(other *namespace[T, F]) int { return cmp.Compare(n.used, other.used) }

func (n *namespace[T, F]) lengthOf(name F) int {
	if f, found := n.flows[name]; found {
		return f.entries.Len()
	}
	return 0
}

// push puts an entry at the end of its flow.
func (t *turns[T, F]) push(e *entry[T, F]) {
	ns := e.namespace
	f, found := ns.flows[e.flow]
	if !found {
		f = &flow{}
		f.turn = ns.order.PushBack(f)
		ns.flows[e.flow] = f
	}
	e.waiting.element = f.entries.PushBack(e)
	t.waiting++
}

// remove takes an entry out of its flow.
func (t *turns[T, F]) remove(e *entry[T, F]) {
	ns := e.namespace
	f := ns.flows[e.flow]
	f.entries.Remove(e.waiting.element)
	e.waiting.element = nil
	t.waiting--
	if f.entries.Len() == 0 {
		ns.order.Remove(f.turn)
		delete(ns.flows, e.flow)
	}
}

// pop takes an entry out of the namespace whose turn it is. The namespace pays what its last
// entry cost, and the flow moves to the end of the namespace's order.
func (t *turns[T, F]) pop(ns *namespace[T, F]) *entry[T, F] {
	f := ns.order.Front().Value.(*flow)
	ns.order.MoveToBack(f.turn)
	e := f.entries.Front().Value.(*entry[T, F])
	t.remove(e)
	t.now = ns.used
	e.paid = ns.cost
	ns.used += e.paid
	t.queue(ns)
	return e
}

// settle makes the namespace of an entry pay for the time that the entry took.
func (t *turns[T, F]) settle(e *entry[T, F], took time.Duration) {
	ns := e.namespace
	ns.cost = max(took, leastCost)
	// A refund must not give it a turn before namespaces that already wait.
	floor := min(ns.used, t.now+leastCost)
	ns.used = max(ns.used+ns.cost-e.paid, floor)
	if ns.IsPlaced() {
		t.order.Put(ns)
	}
}

// place lets a namespace take its turns, or stops it from doing so.
func (t *turns[T, F]) place(ns *namespace[T, F], takesTurns bool) {
	isPlaced := ns.IsPlaced() || ns.parked != nil
	switch {
	case takesTurns && !isPlaced:
		t.enter(ns)
	case !takesTurns && isPlaced:
		t.drop(ns)
	}
}

// enter lets a namespace take its turns from now on, without any saved-up time.
func (t *turns[T, F]) enter(ns *namespace[T, F]) {
	ns.used = max(ns.used, t.now+leastCost)
	t.queue(ns)
}

// queue puts a namespace behind those that have used the same time.
func (t *turns[T, F]) queue(ns *namespace[T, F]) {
	t.order.Remove(ns)
	t.order.Put(ns)
}

func (t *turns[T, F]) drop(ns *namespace[T, F]) {
	if ns.parked != nil {
		t.parked.Remove(ns.parked)
		ns.parked = nil
	} else {
		t.order.Remove(ns)
	}
}

// park takes a namespace whose turn it is out of the order until it is let back in.
func (t *turns[T, F]) park(ns *namespace[T, F]) {
	t.drop(ns)
	ns.parked = t.parked.PushBack(ns)
}

// unpark lets parked namespaces back in, up to the limit.
func (t *turns[T, F]) unpark(limit int) {
	for ; limit > 0 && t.parked.Len() > 0; limit-- {
		ns := t.parked.Front().Value.(*namespace[T, F])
		t.drop(ns)
		t.enter(ns)
	}
}
