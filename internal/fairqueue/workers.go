package fairqueue

import (
	"context"
	"sync"
	"time"
)

// Run hands out items until the context ends, and returns when no item is under way any
// more. Each item has a goroutine of its own, with a context that [Pause] knows.
func (q *Queue[T, F]) Run(ctx context.Context, work func(context.Context, T)) {
	var group sync.WaitGroup
	defer group.Wait()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		for e := q.take(ctx); e != nil; e = q.take(ctx) {
			working := context.WithValue(ctx, watchKey{}, e.watch)
			group.Go(func() {
				defer q.Done(e.item)
				work(working, e.item)
			})
		}
		timer.Reset(q.untilDue())
		select {
		case <-ctx.Done():
			return
		case <-q.wake:
		case <-timer.C:
		}
	}
}

// untilDue returns how long Run may sleep if nothing happens.
func (q *Queue[T, F]) untilDue() time.Duration {
	if due := q.NextDue(); !due.IsZero() {
		return time.Until(due)
	}
	return time.Hour
}

// take returns the entry whose turn it is. It returns nil if there is no such entry, if all
// workers are busy, or if the context has ended.
func (q *Queue[T, F]) take(ctx context.Context) *entry[T, F] {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	q.promote(now)
	if ctx.Err() != nil || q.idle() <= 0 {
		return nil
	}
	ns := q.nextNamespace()
	if ns == nil {
		return nil
	}
	e := q.turns.pop(ns)
	q.delayed.Remove(e)
	if q.options.Waited != nil {
		q.options.Waited(now.Sub(e.waiting.since))
	}
	q.start(e)
	return e
}

// nextNamespace returns the namespace whose turn it is, or nil if there is no such
// namespace.
func (q *Queue[T, F]) nextNamespace() *namespace[T, F] {
	q.turns.unpark(q.idleForSlow())
	for {
		ns := q.turns.order.First()
		if ns == nil || !ns.isSlow || q.idleForSlow() > 0 {
			return ns
		}
		q.turns.park(ns)
	}
}

// idle returns how many workers are free. Slow items beyond their limit keep their workers.
func (q *Queue[T, F]) idle() int {
	return q.options.Workers - q.running - max(0, q.slow-maxSlow)
}

// idleForSlow returns how many workers are free for slow namespaces.
func (q *Queue[T, F]) idleForSlow() int {
	return max(1, q.options.Workers/2) - q.runningOfSlow - max(0, q.slow-maxSlow)
}

// place lets a namespace take its turns if it has waiting items and one more of them may be
// under way.
func (q *Queue[T, F]) place(ns *namespace[T, F]) {
	limit := q.options.Workers
	if ns.isSlow {
		limit = maxOfSlowNamespace
	}
	q.turns.place(ns, ns.order.Len() > 0 && ns.underWay < limit)
}

func (q *Queue[T, F]) start(e *entry[T, F]) {
	e.again, e.counted = false, false
	e.ofSlow = e.namespace.isSlow
	watch := &stopwatch{}
	e.watch = watch
	watch.start(func() { q.overdue(e, watch) })
	q.countRunning(e, 1)
	e.namespace.underWay++
	q.place(e.namespace)
}

func (q *Queue[T, F]) countRunning(e *entry[T, F], n int) {
	q.running += n
	if e.ofSlow {
		q.runningOfSlow += n
	}
}

// overdue makes an entry slow, unless it has ended in the meantime.
func (q *Queue[T, F]) overdue(e *entry[T, F], watch *stopwatch) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if e.watch != watch {
		return
	}
	q.countRunning(e, -1)
	q.slow++
	e.isSlow, e.namespace.isSlow = true, true
	e.namespace.slow++
	q.turns.settle(e, slowAfter) // it no longer uses a worker
	q.place(e.namespace)
	q.signal()
}

// release gives back the worker of an entry.
func (q *Queue[T, F]) release(e *entry[T, F], now time.Time) {
	ns := e.namespace
	ns.underWay--
	switch {
	case e.isSlow:
		q.slow--
		ns.slow--
		e.isSlow, ns.lastSlow = false, now
	default:
		q.countRunning(e, -1)
		if ns.slow == 0 && now.Sub(ns.lastSlow) >= slowMemory {
			ns.isSlow = false
		}
	}
}
