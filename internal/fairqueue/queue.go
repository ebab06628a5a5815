package fairqueue

import (
	"context"
	"sync"
	"time"
)

const (
	// slowAfter is how long an item may be under way before it is slow.
	slowAfter = time.Second
	// maxOfSlowNamespace is how many items of a slow namespace may be under way at once. An
	// item that hangs must not stop its whole namespace, and a namespace whose requests all
	// hang must not take up much of the shared capacity.
	maxOfSlowNamespace = 3
	// slowMemory is how long a slow namespace must have no slow items before an item that ends
	// in time makes it an ordinary namespace again. It is longer than any request to the API
	// server takes: otherwise a namespace whose requests begin, hang and end together would
	// get all workers again each time.
	slowMemory = 2 * time.Minute
	// maxSlow is how many slow items may be under way beside the workers. Beyond that, they
	// keep their workers. An API server carries out 245 requests at once for all service
	// accounts. Two queues at their limit leave most of these to others, such as the leader
	// election.
	maxSlow = 50
)

// Options configure a queue.
type Options[T comparable] struct {
	// Namespace returns the namespace of an item.
	Namespace func(T) string
	// Workers is how many items may be under way at once, not counting slow ones.
	Workers int
	// Backoff spaces out the attempts at an item that fails.
	Backoff Backoff
	// Waited, if set, is called for each item that is handed out, with how long it waited for
	// its turn.
	Waited func(time.Duration)
}

// Queue hands out items of type T, which belong to flows of type F. The zero F is a flow like
// any other. Its methods may be called by several goroutines at once.
type Queue[T, F comparable] struct {
	options Options[T]
	wake    chan struct{} // has an element when there may be something to do for Run

	mu         sync.Mutex
	entries    map[T]*entry[T, F]
	namespaces map[string]*namespace[T, F]
	turns      turns[T, F]
	delayed    Heap[*entry[T, F]] // those that will be added later

	running       int // how many items are under way and not slow
	runningOfSlow int // how many of these belong to slow namespaces
	slow          int // how many are slow
	unanswered    int // how many attempts in a row got no answer
}

// entry is an item that the queue knows: it waits, is under way or will be added later.
type entry[T, F comparable] struct {
	item      T
	namespace *namespace[T, F]
	flow      F

	waiting waiting

	watch  *stopwatch    // while it is under way
	paid   time.Duration // what its namespace paid when it started
	isSlow bool
	ofSlow bool // its namespace was slow when it started
	again  bool // it was added while under way

	Slot           // in the heap of delayed entries
	due  time.Time // when it will be added, if it is there

	failures failures
	counted  bool // how long the present attempt takes says nothing about later ones
}

// New returns an empty queue.
func New[T, F comparable](options Options[T]) *Queue[T, F] {
	return &Queue[T, F]{
		options:    options,
		wake:       make(chan struct{}, 1),
		entries:    make(map[T]*entry[T, F]),
		namespaces: make(map[string]*namespace[T, F]),
	}
}

// Add adds an item to a flow. An item that already waits moves there if fewer items wait in
// that flow than in its own.
func (q *Queue[T, F]) Add(item T, flow F) {
	q.mu.Lock()
	defer q.mu.Unlock()
	e, now := q.know(item), time.Now()
	switch {
	case e.isWaiting():
		// An item that is alone in its flow gains nothing. If it moved, it would be the last
		// one each time.
		if e.namespace.lengthOf(flow) < e.namespace.lengthOf(e.flow)-1 {
			q.turns.remove(e)
			e.flow = flow
			q.turns.push(e)
		}
	case e.isUnderWay():
		if !e.again || e.namespace.lengthOf(flow) < e.namespace.lengthOf(e.flow) {
			e.again, e.flow = true, flow
		}
	default:
		e.flow = flow
		q.push(e, now)
	}
}

// AddAfter adds an item after a pause, to the flow that it was last in. If another pause is
// already running for it, the earlier end counts; if the item is handed out before that,
// neither counts.
func (q *Queue[T, F]) AddAfter(item T, pause time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.delay(q.know(item), pause)
}

// Retry adds an item again after a failed attempt, after a pause that grows with each failure
// in a row; see [Backoff]. It returns when the pause ends.
func (q *Queue[T, F]) Retry(item T, failure Failure) time.Time {
	q.mu.Lock()
	defer q.mu.Unlock()
	e := q.know(item)
	if failure == Unanswered {
		q.unanswered++
		e.counted = true // the time until a dead connection is noticed says nothing about the item
	} else {
		q.unanswered = 0
		if e.isUnderWay() {
			e.failures.longest = max(e.failures.longest, e.watch.elapsed())
		}
	}
	e.failures.add(failure)
	pause := q.options.Backoff.pause(e.failures, failure, q.unanswered > awayAfter)
	q.delay(e, pause)
	return time.Now().Add(pause)
}

// Forget ends a row of failures: the next failure is the first again. Workers call it after a
// success, or before [Queue.Retry] if the attempt made progress before it failed.
func (q *Queue[T, F]) Forget(item T) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if e, found := q.entries[item]; found {
		e.failures, e.counted = failures{}, true
	}
	q.unanswered = 0
}

// Failures returns how many attempts at an item have failed in a row.
func (q *Queue[T, F]) Failures(item T) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	if e, found := q.entries[item]; found {
		return e.failures.all
	}
	return 0
}

// Len returns how many items wait for a worker. Those that will be added after a pause do
// not count.
func (q *Queue[T, F]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.turns.waiting
}

// Slow returns how many items have been under way for more than a second.
func (q *Queue[T, F]) Slow() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.slow
}

// Get returns an item that may be worked on now, and false if there is no such item. It is
// for callers that do not use [Queue.Run], and they must call [Queue.Done] afterwards.
func (q *Queue[T, F]) Get() (item T, found bool) {
	e := q.take(context.Background())
	if e == nil {
		return item, false
	}
	return e.item, true
}

// Done ends the work on an item.
func (q *Queue[T, F]) Done(item T) {
	q.mu.Lock()
	defer q.mu.Unlock()
	e, now := q.entries[item], time.Now()
	e.watch.stop()
	took := e.watch.elapsed()
	if !e.counted {
		e.failures.longest = max(e.failures.longest, took)
	}
	if !e.isSlow {
		q.turns.settle(e, took)
	}
	e.watch = nil
	q.release(e, now)
	switch {
	case e.again:
		q.push(e, now)
	case !e.IsPlaced():
		q.forget(e)
	}
	q.place(e.namespace)
	q.signal()
}

// NextDue returns when the next pause of an item ends, zero if no item pauses.
func (q *Queue[T, F]) NextDue() time.Time {
	q.mu.Lock()
	defer q.mu.Unlock()
	if e := q.delayed.First(); e != nil {
		return e.due
	}
	return time.Time{}
}

// know returns the entry of an item. It creates one if the queue does not know the item.
func (q *Queue[T, F]) know(item T) *entry[T, F] {
	if e, found := q.entries[item]; found {
		return e
	}
	name := q.options.Namespace(item)
	ns, found := q.namespaces[name]
	if !found {
		ns = newNamespace[T, F](name)
		q.namespaces[name] = ns
	}
	ns.entries++
	e := &entry[T, F]{item: item, namespace: ns}
	q.entries[item] = e
	return e
}

// forget drops an entry if it neither waits nor is under way nor will be added later.
func (q *Queue[T, F]) forget(e *entry[T, F]) {
	if delete(q.entries, e.item); len(q.entries) == 0 {
		q.entries = make(map[T]*entry[T, F]) // releases the memory that many entries took
	}
	if e.namespace.entries--; e.namespace.entries == 0 {
		delete(q.namespaces, e.namespace.name)
	}
}

// push puts an entry at the end of its flow.
func (q *Queue[T, F]) push(e *entry[T, F], now time.Time) {
	e.waiting.since = now
	q.turns.push(e)
	q.place(e.namespace)
	q.signal()
}

func (q *Queue[T, F]) delay(e *entry[T, F], pause time.Duration) {
	now := time.Now()
	if pause <= 0 && !e.isUnderWay() && !e.isWaiting() {
		q.push(e, now)
		return
	}
	if due := now.Add(pause); !e.IsPlaced() || due.Before(e.due) {
		e.due = due
		q.delayed.Put(e)
	}
	q.signal()
}

// promote puts the entries whose pause is over into their flows.
func (q *Queue[T, F]) promote(now time.Time) {
	for e := q.delayed.First(); e != nil && !e.due.After(now); e = q.delayed.First() {
		q.delayed.Remove(e)
		switch {
		case e.isUnderWay():
			e.again = true
		case !e.isWaiting():
			q.push(e, now)
		}
	}
}

// signal wakes Run.
func (q *Queue[T, F]) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

func (e *entry[T, F]) isWaiting() bool  { return e.waiting.element != nil }
func (e *entry[T, F]) isUnderWay() bool { return e.watch != nil }

// Compare implements the order of delayed entries: the one that is due first comes first.
func (e *entry[T, F]) Compare(other *entry[T, F]) int { return e.due.Compare(other.due) }
