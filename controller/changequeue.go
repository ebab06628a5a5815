package controller

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Change is what began with a config or a workload that was seen to change.
type Change struct {
	// Subject is the catalog.ConfigRef or catalog.WorkloadRef that it began with,
	// and whose name it is known by.
	Subject fmt.Stringer
	// Since is when it was observed first. The grace period counts from here.
	Since time.Time
	// Count is how often it was observed.
	Count int
}

// ChangeQueue holds changes back for a grace period, so that several edits
// become one. It is safe for use by several goroutines.
type ChangeQueue struct {
	grace time.Duration
	wake  chan struct{} // has an element when the next change to ripen may be another

	mu      sync.Mutex
	pending map[fmt.Stringer]*Change
	order   []*Change // as observed first, which is as they ripen
}

// NewChangeQueue returns an empty queue. A grace period of 0 lets changes ripen
// at once.
func NewChangeQueue(grace time.Duration) *ChangeQueue {
	return &ChangeQueue{grace: grace, wake: make(chan struct{}, 1), pending: make(map[fmt.Stringer]*Change)}
}

// Observe notes that the subject changed at the given time. It never blocks.
func (q *ChangeQueue) Observe(subject fmt.Stringer, at time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if change, found := q.pending[subject]; found {
		change.Count++
		return
	}
	change := &Change{Subject: subject, Since: at, Count: 1}
	q.pending[subject] = change
	q.order = append(q.order, change)
	if len(q.order) == 1 {
		q.signal()
	}
}

// Holds tells whether a change of the subject waits to ripen.
func (q *ChangeQueue) Holds(subject fmt.Stringer) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	_, found := q.pending[subject]
	return found
}

// Len returns how many changes wait.
func (q *ChangeQueue) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.order)
}

// Run hands each change over when it is ripe, until the context ends. It looks
// when the next one ripens, and at least once in every check period, so that a
// clock that jumps cannot hide a change for longer.
func (q *ChangeQueue) Run(ctx context.Context, checkPeriod time.Duration, ripe func(Change)) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-q.wake:
		case <-timer.C:
		}
		changes, next := q.takeRipe(time.Now())
		for _, change := range changes {
			ripe(change)
		}
		timer.Reset(min(next, checkPeriod))
	}
}

// takeRipe removes the changes that are ripe, and tells after what time the next
// one will be.
func (q *ChangeQueue) takeRipe(now time.Time) ([]Change, time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	var ripe []Change
	for len(q.order) > 0 {
		first := q.order[0]
		if wait := first.Since.Add(q.grace).Sub(now); wait > 0 {
			return ripe, wait
		}
		ripe = append(ripe, *first)
		delete(q.pending, first.Subject)
		q.order[0], q.order = nil, q.order[1:]
	}
	return ripe, q.grace + time.Hour
}

func (q *ChangeQueue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}
