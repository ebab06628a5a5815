package controller

import (
	"context"
	"fmt"
	"sync"
	"time"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/internal/fairqueue"
)

// observedChange records that a config, or the workload itself, changed, as it concerns one
// workload.
type observedChange struct {
	Workload names.WorkloadRef
	// Subject is the catalog.ConfigRef or catalog.WorkloadRef that changed; the change goes
	// by its name.
	Subject fmt.Stringer
	// Since is when the change was first observed, without those whose grace period was over when the next one came. The
	// grace period starts then.
	Since time.Time
	// Due is when the grace period ends.
	Due time.Time
	// Count is how often the change was observed.
	Count int
	// Last means that no other workload waits for a change of this subject.
	Last bool
}

const (
	// maxChanges is for how many changes of configs a workload waits one by one, and maxChangesIn for how many pairs of
	// a change and a workload all workloads of a namespace do. Further changes count as changes of the workload itself:
	// whatever changed, a decision looks at everything.
	maxChanges   = 100
	maxChangesIn = 10_000
)

// changeQueue holds changes back for a grace period, so that several edits lead to one
// restart. Each pair of change and workload has a deadline, because workloads may have grace
// periods of their own. It is safe for use by several goroutines.
type changeQueue struct {
	wake chan struct{} // has an element when another change may be due next

	mu       sync.Mutex
	pending  map[names.WorkloadRef]map[fmt.Stringer]*pendingChange
	subjects map[fmt.Stringer]int   // how many workloads wait for a change of each subject
	numbers  catalog.Counts[string] // how many changes of configs the workloads of each namespace wait for
	order    fairqueue.Heap[*pendingChange]
	runs     bool // whether what is due is taken out: not on a standby
}

type pendingChange struct {
	observedChange
	fairqueue.Slot
}

// Compare orders changes as they are due.
func (c *pendingChange) Compare(other *pendingChange) int { return c.Due.Compare(other.Due) }

// newChangeQueue returns an empty queue.
func newChangeQueue() *changeQueue {
	q := &changeQueue{wake: make(chan struct{}, 1)}
	q.clear()
	return q
}

// clear drops all changes, and the memory that many of them took.
func (q *changeQueue) clear() {
	q.pending, q.subjects, q.order = make(map[names.WorkloadRef]map[fmt.Stringer]*pendingChange), make(map[fmt.Stringer]int), fairqueue.Heap[*pendingChange]{}
	q.numbers = make(catalog.Counts[string])
}

// Observe notes that the subject changed at the given time and that this may concern the
// workload. The change is due after the grace period, or immediately if that is 0. Observe
// never blocks.
func (q *changeQueue) Observe(workload names.WorkloadRef, subject fmt.Stringer, at time.Time, grace time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	waiting := q.pending[workload]
	if waiting[subject] == nil && (len(waiting) >= maxChanges || q.numbers[workload.Namespace] >= maxChangesIn) {
		subject = workload
	}
	if change, found := waiting[subject]; found {
		change.Count++
		if !q.runs && change.Due.Before(at) { // the leader has acted on the earlier ones
			change.Since, change.Due = at, at.Add(grace)
			q.order.Put(change)
		}
		return
	}
	q.push(observedChange{Workload: workload, Subject: subject, Since: at, Due: at.Add(grace), Count: 1})
}

func (q *changeQueue) push(change observedChange) {
	pending := &pendingChange{observedChange: change}
	if q.pending[change.Workload] == nil {
		q.pending[change.Workload] = make(map[fmt.Stringer]*pendingChange)
	}
	q.pending[change.Workload][change.Subject] = pending
	q.subjects[change.Subject]++
	q.count(change, 1)
	q.order.Put(pending)
	q.signalIfFirst(pending)
}

// Abandon drops the change of a config that is gone or that the workload no longer
// references, since that change does not concern the workload any more. But a change of the
// workload itself may have waited for this one (see [restarter.Enqueue]), so a change of the
// workload itself takes its place.
func (q *changeQueue) Abandon(workload names.WorkloadRef, config names.ConfigRef) {
	q.mu.Lock()
	defer q.mu.Unlock()
	pending, found := q.pending[workload][config]
	if !found {
		return
	}
	change := q.remove(pending)
	if own, found := q.pending[workload][workload]; found {
		own.Count += change.Count
		return
	}
	change.Subject, change.Last = workload, false
	q.push(change)
}

// AbandonOthers drops the changes of configs that a workload does not reference.
func (q *changeQueue) AbandonOthers(workload names.WorkloadRef, referenced []names.ConfigRef) {
	waiting := q.Configs(workload)
	if len(waiting) == 0 {
		return
	}
	known := make(map[names.ConfigRef]struct{})
	for _, config := range referenced {
		known[config] = struct{}{}
	}
	for _, config := range waiting {
		if _, found := known[config]; !found {
			q.Abandon(workload, config)
		}
	}
}

// Configs returns the configs with a change that is not yet due for the workload.
func (q *changeQueue) Configs(workload names.WorkloadRef) []names.ConfigRef {
	q.mu.Lock()
	defer q.mu.Unlock()
	var configs []names.ConfigRef
	for subject := range q.pending[workload] {
		if config, isConfig := subject.(names.ConfigRef); isConfig {
			configs = append(configs, config)
		}
	}
	return configs
}

// Shorten makes the changes of a workload due after another grace period if that is earlier.
// A longer grace period applies from the next change on.
func (q *changeQueue) Shorten(workload names.WorkloadRef, grace time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, change := range q.pending[workload] {
		if due := change.Since.Add(grace); due.Before(change.Due) {
			change.Due = due
			q.order.Put(change)
			q.signalIfFirst(change)
		}
	}
}

// Forget drops the changes of a workload, which is gone.
func (q *changeQueue) Forget(workload names.WorkloadRef) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, change := range q.pending[workload] {
		q.remove(change)
	}
}

// Holds reports whether there is a change of the subject that is not yet due for the
// workload.
func (q *changeQueue) Holds(workload names.WorkloadRef, subject fmt.Stringer) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	_, found := q.pending[workload][subject]
	return found
}

// HoldsAny reports whether there is a change that is not yet due for the workload.
func (q *changeQueue) HoldsAny(workload names.WorkloadRef) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.pending[workload]) > 0
}

// Len returns how many subjects have waiting changes.
func (q *changeQueue) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.subjects)
}

// Run passes each change to due when it is due, until the context ends. It wakes up when the
// next change is due, and at least once in every check period, so that a jump of the clock
// cannot delay a change for longer.
func (q *changeQueue) Run(ctx context.Context, checkPeriod time.Duration, due func(observedChange)) {
	q.setRuns(true)
	defer q.setRuns(false)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-q.wake:
		case <-timer.C:
		}
		changes, next := q.takeDue(time.Now(), checkPeriod)
		for _, change := range changes {
			due(change)
		}
		timer.Reset(next)
	}
}

func (q *changeQueue) setRuns(runs bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.runs = runs
}

// takeDue removes and returns the changes that are due, and returns the time until the next
// change is due, at most the check period.
func (q *changeQueue) takeDue(now time.Time, checkPeriod time.Duration) ([]observedChange, time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	var due []observedChange
	for next := q.order.First(); next != nil; next = q.order.First() {
		if wait := next.Due.Sub(now); wait > 0 {
			return due, min(wait, checkPeriod)
		}
		due = append(due, q.remove(next))
	}
	if len(due) > 0 {
		q.clear()
	}
	return due, checkPeriod
}

func (q *changeQueue) remove(pending *pendingChange) observedChange {
	change := pending.observedChange
	q.order.Remove(pending)
	delete(q.pending[change.Workload], change.Subject)
	if len(q.pending[change.Workload]) == 0 {
		delete(q.pending, change.Workload)
	}
	q.count(change, -1)
	q.subjects[change.Subject]--
	if change.Last = q.subjects[change.Subject] == 0; change.Last {
		delete(q.subjects, change.Subject)
	}
	return change
}

// count counts a change of a config.
func (q *changeQueue) count(change observedChange, more int) {
	if change.Subject != change.Workload {
		q.numbers.Add(change.Workload.Namespace, more)
	}
}

// signalIfFirst wakes [changeQueue.Run] if the change is the next one that is due.
func (q *changeQueue) signalIfFirst(change *pendingChange) {
	if change != q.order.First() {
		return
	}
	select {
	case q.wake <- struct{}{}:
	default:
	}
}
