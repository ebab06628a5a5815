package fairqueue

import (
	"container/heap"
	"container/list"
	"time"
)

// turns is the order in which waiting entries are handed out: namespaces take turns, and
// within each namespace its lanes do.
type turns[T, L comparable] struct {
	waiting int             // how many entries wait
	now     time.Duration   // what the namespace of the last turn had used before it
	order   turnOrder[T, L] // the namespaces whose turn will come
	number  int             // how many turns were ever given out
	parked  list.List       // of *namespace: those that were passed over, in that order
}

// namespace is a namespace of which the queue knows at least one item.
type namespace[T, L comparable] struct {
	name    string
	entries int // how many the queue knows
	lanes   map[L]*lane
	order   list.List // of *lane: the lanes that are not empty, the next one first

	used   time.Duration // of the workers, see turnOrder
	cost   time.Duration // of the item that ended last
	number int           // of its turn
	place  int           // in the order of namespaces, negative if it is not there
	parked *list.Element // among the parked ones, nil if it is not there

	underWay, slow int
	isSlow         bool
	lastSlow       time.Time // when a slow item ended last
}

// lane is a lane that is not empty.
type lane struct {
	entries list.List // of *entry, in the order of arrival
	turn    *list.Element
}

// waiting is the place of a waiting entry.
type waiting struct {
	element *list.Element // in its lane, nil if it does not wait
	since   time.Time
}

func newNamespace[T, L comparable](name string) *namespace[T, L] {
	return &namespace[T, L]{name: name, lanes: make(map[L]*lane), cost: leastCost, place: -1}
}

func (n *namespace[T, L]) lengthOf(name L) int {
	if l, found := n.lanes[name]; found {
		return l.entries.Len()
	}
	return 0
}

// push puts an entry at the end of its lane.
func (t *turns[T, L]) push(e *entry[T, L]) {
	ns := e.namespace
	l, found := ns.lanes[e.lane]
	if !found {
		l = &lane{}
		l.turn = ns.order.PushBack(l)
		ns.lanes[e.lane] = l
	}
	e.waiting.element = l.entries.PushBack(e)
	t.waiting++
}

// remove takes an entry out of its lane.
func (t *turns[T, L]) remove(e *entry[T, L]) {
	ns := e.namespace
	l := ns.lanes[e.lane]
	l.entries.Remove(e.waiting.element)
	e.waiting.element = nil
	t.waiting--
	if l.entries.Len() == 0 {
		ns.order.Remove(l.turn)
		delete(ns.lanes, e.lane)
	}
}

// next returns the namespace whose turn it is, or nil if no namespace has a turn.
func (t *turns[T, L]) next() *namespace[T, L] {
	if len(t.order) == 0 {
		return nil
	}
	return t.order[0]
}

// pop takes an entry out of the namespace whose turn it is. The namespace pays what its last
// entry cost, and the lane moves to the end of the namespace's order.
func (t *turns[T, L]) pop(ns *namespace[T, L]) *entry[T, L] {
	l := ns.order.Front().Value.(*lane)
	ns.order.MoveToBack(l.turn)
	e := l.entries.Front().Value.(*entry[T, L])
	t.remove(e)
	t.now = ns.used
	e.paid = ns.cost
	ns.used += e.paid
	t.queue(ns)
	return e
}

// settle makes the namespace of an entry pay for the time that the entry took.
func (t *turns[T, L]) settle(e *entry[T, L], took time.Duration) {
	ns := e.namespace
	ns.cost = max(took, leastCost)
	// A refund must not give it a turn before namespaces that already wait.
	floor := min(ns.used, t.now+leastCost)
	ns.used = max(ns.used+ns.cost-e.paid, floor)
	if ns.place >= 0 {
		heap.Fix(&t.order, ns.place)
	}
}

// place lets a namespace take its turns, or stops it from doing so.
func (t *turns[T, L]) place(ns *namespace[T, L], takesTurns bool) {
	isPlaced := ns.place >= 0 || ns.parked != nil
	switch {
	case takesTurns && !isPlaced:
		t.enter(ns)
	case !takesTurns && isPlaced:
		t.drop(ns)
	}
}

// enter lets a namespace take its turns from now on, without any saved-up time.
func (t *turns[T, L]) enter(ns *namespace[T, L]) {
	ns.used = max(ns.used, t.now+leastCost)
	t.queue(ns)
}

// queue puts a namespace behind those that have used the same time.
func (t *turns[T, L]) queue(ns *namespace[T, L]) {
	t.number++
	ns.number = t.number
	if ns.place < 0 {
		heap.Push(&t.order, ns)
	} else {
		heap.Fix(&t.order, ns.place)
	}
}

func (t *turns[T, L]) drop(ns *namespace[T, L]) {
	if ns.parked != nil {
		t.parked.Remove(ns.parked)
		ns.parked = nil
	} else {
		heap.Remove(&t.order, ns.place)
	}
}

// park takes a namespace whose turn it is out of the order until it is let back in.
func (t *turns[T, L]) park(ns *namespace[T, L]) {
	t.drop(ns)
	ns.parked = t.parked.PushBack(ns)
}

// unpark lets parked namespaces back in, up to the limit.
func (t *turns[T, L]) unpark(limit int) {
	for ; limit > 0 && t.parked.Len() > 0; limit-- {
		ns := t.parked.Front().Value.(*namespace[T, L])
		t.drop(ns)
		t.enter(ns)
	}
}
