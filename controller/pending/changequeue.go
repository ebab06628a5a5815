package pending

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/internal/counts"
	"kubernetes-deployment-restart-controller/internal/fairqueue"
)

// ObservedChange records that a config, or the workload itself, changed, as it concerns one
// workload.
type ObservedChange struct {
	Workload names.WorkloadRef
	// Subject is the [names.ConfigRef] or [names.WorkloadRef] that changed; the change goes
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

// ChangeQueue holds changes back for a grace period, so that several edits lead to one
// restart. Each pair of change and workload has a deadline, because workloads may have grace
// periods of their own. It is safe for use by several goroutines.
type ChangeQueue struct {
	wake chan struct{} // has an element when another change may be due next

	mu       sync.Mutex
	Pending  map[names.WorkloadRef]map[fmt.Stringer]*Change
	subjects map[fmt.Stringer]int // how many workloads wait for a change of each subject
	numbers  counts.By[string]    // how many changes of configs the workloads of each namespace wait for
	Order    fairqueue.Heap[*Change]
	runs     bool // whether what is due is taken out: not on a standby
}

// Change is a change that waits for its grace period to end.
type Change struct {
	ObservedChange
	fairqueue.Slot
}

// Compare orders changes as they are due.
func (c *Change) Compare(other *Change) int { return c.Due.Compare(other.Due) }

// NewChangeQueue returns an empty queue.
func NewChangeQueue() *ChangeQueue {
	q := &ChangeQueue{wake: make(chan struct{}, 1)}
	q.clear()
	return q
}

// clear drops all changes, and the memory that many of them took.
func (q *ChangeQueue) clear() {
	q.Pending, q.subjects, q.Order = make(map[names.WorkloadRef]map[fmt.Stringer]*Change), make(map[fmt.Stringer]int), fairqueue.Heap[*Change]{}
	q.numbers = make(counts.By[string])
}

// Observe notes that the subject changed at the given time and that this may concern the
// workload. The change is due after the grace period, or immediately if that is 0. Observe
// never blocks.
func (q *ChangeQueue) Observe(workload names.WorkloadRef, subject fmt.Stringer, at time.Time, grace time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	waiting := q.Pending[workload]
	if waiting[subject] == nil && (len(waiting) >= maxChanges || q.numbers[workload.Namespace] >= maxChangesIn) {
		subject = workload
	}
	if change, found := waiting[subject]; found {
		change.Count++
		if !q.runs && change.Due.Before(at) { // the leader has acted on the earlier ones
			change.Since, change.Due = at, at.Add(grace)
			q.Order.Put(change)
		}
		return
	}
	q.push(ObservedChange{Workload: workload, Subject: subject, Since: at, Due: at.Add(grace), Count: 1})
}

func (q *ChangeQueue) push(change ObservedChange) {
	pending := &Change{ObservedChange: change}
	if q.Pending[change.Workload] == nil {
		q.Pending[change.Workload] = make(map[fmt.Stringer]*Change)
	}
	q.Pending[change.Workload][change.Subject] = pending
	q.subjects[change.Subject]++
	q.count(change, 1)
	q.Order.Put(pending)
	q.signalIfFirst(pending)
}

// Abandon drops the change of a config that is gone or that the workload no longer
// references, since that change does not concern the workload any more. But a change of the
// workload itself may have waited for this one (see [restart.Restarter.Enqueue]), so a change of the
// workload itself takes its place.
func (q *ChangeQueue) Abandon(workload names.WorkloadRef, config names.ConfigRef) {
	q.mu.Lock()
	defer q.mu.Unlock()
	pending, found := q.Pending[workload][config]
	if !found {
		return
	}
	change := q.remove(pending)
	if own, found := q.Pending[workload][workload]; found {
		own.Count += change.Count
		return
	}
	change.Subject, change.Last = workload, false
	q.push(change)
}

// AbandonOthers drops the changes of configs that a workload does not reference.
func (q *ChangeQueue) AbandonOthers(workload names.WorkloadRef, referenced []names.ConfigRef) {
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
func (q *ChangeQueue) Configs(workload names.WorkloadRef) []names.ConfigRef {
	q.mu.Lock()
	defer q.mu.Unlock()
	var configs []names.ConfigRef
	for subject := range q.Pending[workload] {
		if config, isConfig := subject.(names.ConfigRef); isConfig {
			configs = append(configs, config)
		}
	}
	return configs
}

// Shorten makes the changes of a workload due after another grace period if that is earlier.
// A longer grace period applies from the next change on.
func (q *ChangeQueue) Shorten(workload names.WorkloadRef, grace time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, change := range q.Pending[workload] {
		if due := change.Since.Add(grace); due.Before(change.Due) {
			change.Due = due
			q.Order.Put(change)
			q.signalIfFirst(change)
		}
	}
}

// Forget drops the changes of a workload, which is gone.
func (q *ChangeQueue) Forget(workload names.WorkloadRef) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, change := range q.Pending[workload] {
		q.remove(change)
	}
}

// Holds reports whether there is a change of the subject that is not yet due for the
// workload.
func (q *ChangeQueue) Holds(workload names.WorkloadRef, subject fmt.Stringer) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	_, found := q.Pending[workload][subject]
	return found
}

// HoldsAny reports whether there is a change that is not yet due for the workload.
func (q *ChangeQueue) HoldsAny(workload names.WorkloadRef) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.Pending[workload]) > 0
}

// Len returns how many subjects have waiting changes.
func (q *ChangeQueue) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.subjects)
}

// Run passes each change to due when it is due, until the context ends. It wakes up when the
// next change is due, and at least once in every check period, so that a jump of the clock
// cannot delay a change for longer.
func (q *ChangeQueue) Run(ctx context.Context, checkPeriod time.Duration, due func(ObservedChange)) {
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
		changes, next := q.TakeDue(time.Now(), checkPeriod)
		for _, change := range changes {
			due(change)
		}
		timer.Reset(next)
	}
}

func (q *ChangeQueue) setRuns(runs bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.runs = runs
}

// TakeDue removes and returns the changes that are due, and returns the time until the next
// change is due, at most the check period.
func (q *ChangeQueue) TakeDue(now time.Time, checkPeriod time.Duration) ([]ObservedChange, time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	var due []ObservedChange
	for next := q.Order.First(); next != nil; next = q.Order.First() {
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

func (q *ChangeQueue) remove(pending *Change) ObservedChange {
	change := pending.ObservedChange
	q.Order.Remove(pending)
	delete(q.Pending[change.Workload], change.Subject)
	if len(q.Pending[change.Workload]) == 0 {
		delete(q.Pending, change.Workload)
	}
	q.count(change, -1)
	q.subjects[change.Subject]--
	if change.Last = q.subjects[change.Subject] == 0; change.Last {
		delete(q.subjects, change.Subject)
	}
	return change
}

// count counts a change of a config.
func (q *ChangeQueue) count(change ObservedChange, more int) {
	if change.Subject != change.Workload {
		q.numbers.Add(change.Workload.Namespace, more)
	}
}

// signalIfFirst wakes [ChangeQueue.Run] if the change is the next one that is due.
func (q *ChangeQueue) signalIfFirst(change *Change) {
	if change != q.Order.First() {
		return
	}
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// Of calls a function with the changes of a workload that are not due, if there are any. The function must not keep
// the map.
func (q *ChangeQueue) Of(ref names.WorkloadRef, do func(map[fmt.Stringer]*Change)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if changes := q.Pending[ref]; len(changes) > 0 {
		do(changes)
	}
}

// Each calls a function with the changes of each workload that are not due. The function must not keep the map.
func (q *ChangeQueue) Each(do func(names.WorkloadRef, map[fmt.Stringer]*Change)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for ref, changes := range q.Pending {
		do(ref, changes)
	}
}

// CompareConfigs orders configs by namespace, name and kind.
func CompareConfigs(a, b names.ConfigRef) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Kind, b.Kind))
}
