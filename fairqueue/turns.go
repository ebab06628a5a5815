package fairqueue

import (
	"container/list"
	"time"
)

// turns is the order in which waiting entries are handed out: namespaces take turns, within
// each its lanes do.
type turns[T, L comparable] struct {
	waiting int       // how many entries wait
	order   list.List // of *namespace: those whose turn comes, the next first
	parked  list.List // of *namespace: those that were passed over, the first one first
}

// namespace is one of which the queue knows an item.
type namespace[T, L comparable] struct {
	name    string
	entries int // how many the queue knows
	lanes   map[L]*lane
	order   list.List     // of *lane: those that are not empty, the next first
	turn    *list.Element // in the order of namespaces or among the parked ones, or nil

	isParked bool

	underWay, slow int
	isSlow         bool
	lastSlow       time.Time // when a slow item ended last
}

// lane is one that is not empty.
type lane struct {
	entries list.List // of *entry, in the order of arrival
	turn    *list.Element
}

// waiting is the place of an entry that waits.
type waiting struct {
	element *list.Element // in its lane, nil if it does not wait
	since   time.Time
}

func newNamespace[T, L comparable](name string) *namespace[T, L] {
	return &namespace[T, L]{name: name, lanes: make(map[L]*lane)}
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

// next returns the namespace whose turn it is, nil if there is none.
func (t *turns[T, L]) next() *namespace[T, L] {
	if front := t.order.Front(); front != nil {
		return front.Value.(*namespace[T, L])
	}
	return nil
}

// pop takes an entry out of a namespace whose turn it is. The namespace goes to the end of
// the order, and so does the lane there.
func (t *turns[T, L]) pop(ns *namespace[T, L]) *entry[T, L] {
	t.order.MoveToBack(ns.turn)
	l := ns.order.Front().Value.(*lane)
	ns.order.MoveToBack(l.turn)
	e := l.entries.Front().Value.(*entry[T, L])
	t.remove(e)
	return e
}

// place lets a namespace take its turns or not.
func (t *turns[T, L]) place(ns *namespace[T, L], takesTurns bool) {
	switch {
	case takesTurns && ns.turn == nil:
		ns.turn = t.order.PushBack(ns)
	case !takesTurns && ns.turn != nil:
		t.drop(ns)
	}
}

func (t *turns[T, L]) drop(ns *namespace[T, L]) {
	if ns.isParked {
		t.parked.Remove(ns.turn)
	} else {
		t.order.Remove(ns.turn)
	}
	ns.turn, ns.isParked = nil, false
}

// park takes a namespace whose turn it is out of the order until it is let back in.
func (t *turns[T, L]) park(ns *namespace[T, L]) {
	t.drop(ns)
	ns.turn, ns.isParked = t.parked.PushBack(ns), true
}

// unpark lets parked namespaces back in, as many as the limit.
func (t *turns[T, L]) unpark(limit int) {
	for ; limit > 0 && t.parked.Len() > 0; limit-- {
		ns := t.parked.Front().Value.(*namespace[T, L])
		t.drop(ns)
		ns.turn = t.order.PushBack(ns)
	}
}
