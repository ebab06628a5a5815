package pending

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/controller/rows"
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
	// Count is how often the change was observed. While it waits, only the queue may read that.
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

	changes  rows.Column[Changes] // with whose lock the rest is used
	subjects map[fmt.Stringer]int // how many workloads wait for a change of each subject
	numbers  counts.By[string]    // how many changes of configs the workloads of each namespace wait for
	Order    fairqueue.Heap[*Change]
	runs     bool // whether what is due is taken out: not on a standby
}

// Changes are those that a workload waits for, each of another subject. Except for their counts, they are replaced, never changed.
type Changes []*Change

// of returns the change of a subject, nil if there is none.
func (c *Changes) of(subject fmt.Stringer) *Change {
	if c == nil {
		return nil
	}
	if i := slices.IndexFunc(*c, func(change *Change) bool { return change.Subject == subject }); i >= 0 {
		return (*c)[i]
	}
	return nil
}

// All returns them as a list.
func (c *Changes) All() []*Change {
	if c == nil {
		return nil
	}
	return *c
}

// Change is a change that waits for its grace period to end.
type Change struct {
	ObservedChange
	fairqueue.Slot
}

// Compare orders changes as they are due.
func (c *Change) Compare(other *Change) int { return c.Due.Compare(other.Due) }

// NewChangeQueue returns an empty queue, which keeps its changes in a column.
func NewChangeQueue(changes rows.Column[Changes]) *ChangeQueue {
	q := &ChangeQueue{wake: make(chan struct{}, 1), changes: changes}
	q.clear()
	return q
}

// clear releases the memory that many changes took. There are none any more.
func (q *ChangeQueue) clear() {
	q.subjects, q.numbers, q.Order = make(map[fmt.Stringer]int), make(counts.By[string]), fairqueue.Heap[*Change]{}
}

// Observe notes that the subject changed at the given time and that this may concern the
// workload. The change is due after the grace period, or immediately if that is 0. Observe
// never blocks.
func (q *ChangeQueue) Observe(workload names.WorkloadRef, subject fmt.Stringer, at time.Time, grace time.Duration) {
	q.changes.Lock()
	defer q.changes.Unlock()
	waiting := q.changes.Of(workload)
	change := waiting.of(subject)
	if change == nil && (len(waiting.All()) >= maxChanges || q.numbers[workload.Namespace] >= maxChangesIn) {
		subject, change = workload, waiting.of(workload)
	}
	if change != nil {
		if change.Count++; !q.runs && change.Due.Before(at) { // the leader has acted on the earlier ones
			q.date(workload, func(c *Change) (since, due time.Time) {
				if c == change {
					return at, at.Add(grace)
				}
				return c.Since, c.Due
			})
		}
		return
	}
	q.push(ObservedChange{Workload: workload, Subject: subject, Since: at, Due: at.Add(grace), Count: 1})
}

func (q *ChangeQueue) push(change ObservedChange) {
	pending := &Change{ObservedChange: change}
	waiting := Changes(append(slices.Clone(q.changes.Of(change.Workload).All()), pending))
	q.changes.Set(change.Workload, &waiting)
	q.subjects[change.Subject]++
	q.count(change, 1)
	q.Order.Put(pending)
	q.signalIfFirst(pending)
}

// date changes when changes of a workload were observed first, and are due. They are replaced by that.
func (q *ChangeQueue) date(workload names.WorkloadRef, times func(*Change) (since, due time.Time)) {
	dated := slices.Clone(q.changes.Of(workload).All())
	for i, change := range dated {
		since, due := times(change)
		if since.Equal(change.Since) && due.Equal(change.Due) {
			continue
		}
		dated[i] = &Change{ObservedChange: change.ObservedChange}
		dated[i].Since, dated[i].Due = since, due
		q.Order.Remove(change)
		q.Order.Put(dated[i])
		q.signalIfFirst(dated[i])
	}
	q.changes.Set(workload, (*Changes)(&dated))
}

// Abandon drops the change of a config that is gone or that the workload no longer
// references, since that change does not concern the workload any more. But a change of the
// workload itself may have waited for this one (see [restart.Restarter.Enqueue]), so a change of the
// workload itself takes its place.
func (q *ChangeQueue) Abandon(workload names.WorkloadRef, config names.ConfigRef) {
	q.changes.Lock()
	defer q.changes.Unlock()
	pending := q.changes.Of(workload).of(config)
	if pending == nil {
		return
	}
	change := q.remove(pending)
	if own := q.changes.Of(workload).of(workload); own != nil {
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
	q.changes.Lock()
	defer q.changes.Unlock()
	var configs []names.ConfigRef
	for _, change := range q.changes.Of(workload).All() {
		if config, isConfig := change.Subject.(names.ConfigRef); isConfig {
			configs = append(configs, config)
		}
	}
	return configs
}

// Shorten makes the changes of a workload due after another grace period if that is earlier.
// A longer grace period applies from the next change on.
func (q *ChangeQueue) Shorten(workload names.WorkloadRef, grace time.Duration) {
	q.changes.Lock()
	defer q.changes.Unlock()
	if q.changes.Of(workload) == nil {
		return
	}
	q.date(workload, func(c *Change) (since, due time.Time) {
		if due = c.Since.Add(grace); due.After(c.Due) {
			due = c.Due
		}
		return c.Since, due
	})
}

// Forget drops the changes of a workload, which is gone.
func (q *ChangeQueue) Forget(workload names.WorkloadRef) {
	q.changes.Lock()
	defer q.changes.Unlock()
	for _, change := range q.changes.Of(workload).All() {
		q.leave(change)
	}
	q.changes.Set(workload, nil)
}

// Holds reports whether there is a change of the subject that is not yet due for the
// workload.
func (q *ChangeQueue) Holds(workload names.WorkloadRef, subject fmt.Stringer) bool {
	q.changes.Lock()
	defer q.changes.Unlock()
	return q.changes.Of(workload).of(subject) != nil
}

// HoldsAny reports whether there is a change that is not yet due for the workload.
func (q *ChangeQueue) HoldsAny(workload names.WorkloadRef) bool {
	q.changes.Lock()
	defer q.changes.Unlock()
	return q.changes.Of(workload) != nil
}

// Len returns how many subjects have waiting changes.
func (q *ChangeQueue) Len() int {
	q.changes.Lock()
	defer q.changes.Unlock()
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
	q.changes.Lock()
	defer q.changes.Unlock()
	q.runs = runs
}

// mostTaken is how many changes are taken out at once: everything else waits for the lock meanwhile.
const mostTaken = 1000

// TakeDue removes and returns the first changes that are due, and returns the time until the next
// change is due, at most the check period.
func (q *ChangeQueue) TakeDue(now time.Time, checkPeriod time.Duration) ([]ObservedChange, time.Duration) {
	q.changes.Lock()
	defer q.changes.Unlock()
	var due []ObservedChange
	for next := q.Order.First(); next != nil; next = q.Order.First() {
		if wait := next.Due.Sub(now); wait > 0 || len(due) >= mostTaken {
			return due, min(max(0, wait), checkPeriod)
		}
		due = append(due, q.remove(next))
	}
	if len(due) > 0 {
		q.clear()
	}
	return due, checkPeriod
}

func (q *ChangeQueue) remove(pending *Change) ObservedChange {
	change := q.leave(pending)
	left := slices.DeleteFunc(slices.Clone(*q.changes.Of(change.Workload)), func(c *Change) bool { return c == pending })
	if len(left) > 0 {
		q.changes.Set(change.Workload, &left)
	} else {
		q.changes.Set(change.Workload, nil)
	}
	return change
}

// leave takes a change out of everything but those of its workload.
func (q *ChangeQueue) leave(pending *Change) ObservedChange {
	change := pending.ObservedChange
	q.Order.Remove(pending)
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

// CompareConfigs orders configs by namespace, name and kind.
func CompareConfigs(a, b names.ConfigRef) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Kind, b.Kind))
}
