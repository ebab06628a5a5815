package follow

import (
	"time"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/policy"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/delivery"
	"kubernetes-deployment-restart-controller/controller/run"
	"kubernetes-deployment-restart-controller/controller/tracker"
	"kubernetes-deployment-restart-controller/internal/fairqueue"
	"kubernetes-deployment-restart-controller/internal/status"
)

// Evictions are the restarts by eviction in a table, and the queue of those that the evictor has to look at. Only the
// process that leads knows of any. Its methods may be called by several goroutines at once.
type Evictions struct {
	catalog *catalog.Catalog
	Table   *tracker.Table
	Queue   *fairqueue.Queue[names.WorkloadRef, struct{}]
}

// NewEvictions has nothing to look at yet.
func NewEvictions(known *catalog.Catalog, table *tracker.Table) *Evictions {
	return &Evictions{known, table, run.NewQueue[struct{}](evictionWorkers, time.Second)}
}

// Observe takes in a workload that has changed, or its status. Only the process that leads calls it.
func (e *Evictions) Observe(ref names.WorkloadRef) {
	w := e.catalog.Workload(ref)
	if w == nil || w.Record.Evict == 0 || w.Method() == policy.ByTemplate {
		e.Forget(ref)
		return
	}
	now := time.Now()
	e.Table.Update(ref, func(row *tracker.Row) {
		if !row.Eviction.IsOf(w) {
			row.Eviction = &tracker.Eviction{Of: w.Record.Evict, UID: w.UID, Seen: now}
		}
	})
	e.Queue.Add(ref, struct{}{})
}

// ObserveAll takes in all workloads, as at the start of a leader.
func (e *Evictions) ObserveAll() {
	for _, ref := range e.catalog.WorkloadsIn("") {
		e.Observe(ref)
	}
}

// Forget forgets the restart by eviction of a workload that is gone, or needs none any more.
func (e *Evictions) Forget(ref names.WorkloadRef) {
	e.Table.UpdateKnown(ref, func(row *tracker.Row) { row.Eviction = nil })
}

// forgetReplaced forgets the restart by eviction of the given workload, unless another one has begun.
func (e *Evictions) forgetReplaced(w *workload.Workload) {
	e.Table.UpdateKnown(w.Ref, func(row *tracker.Row) {
		if row.Eviction.IsOf(w) {
			row.Eviction = nil
		}
	})
}

// TryRefused looks again at once at the workloads for which the controller lacked a permission, in some namespaces. The empty
// name stands for all.
func (e *Evictions) TryRefused(namespaces map[string]bool) {
	for ref, row := range e.Table.All() {
		if row.Eviction != nil && row.Eviction.Wait.Remedy == status.GrantPermission && (namespaces[""] || namespaces[ref.Namespace]) {
			e.Update(ref, row.Eviction.Of, func(eviction *tracker.Eviction) { eviction.NotBefore = time.Time{} })
			e.Queue.Add(ref, struct{}{})
		}
	}
}

// Update changes what is known of a restart by eviction, unless another one has begun, and reports whether it did. The function
// must do nothing else; see [tracker.Table.Update].
func (e *Evictions) Update(ref names.WorkloadRef, of uint32, change func(*tracker.Eviction)) (isPresent bool) {
	e.Table.Update(ref, func(row *tracker.Row) {
		if isPresent = row.Eviction != nil && row.Eviction.Of == of; isPresent {
			next := *row.Eviction
			change(&next)
			row.Eviction = &next
		}
	})
	return isPresent
}

// StatusOf returns a workload whose status says how far a restart by eviction has come, and why no pod may be evicted
// although the workload is ready for it; empty if one may.
func (e *Evictions) StatusOf(w *workload.Workload) (*workload.Workload, string) {
	if w.Record.Evict == 0 || w.Method() == policy.ByTemplate {
		return w, ""
	}
	eviction := e.Table.Of(w.Ref).Eviction
	isKnown, earlier := eviction.IsOf(w), max(1, w.Rollout.Wanted)
	if isKnown && !eviction.Counted.IsZero() {
		earlier = eviction.Earlier
	}
	shown := *w
	shown.Rollout = delivery.Evicting(w, earlier)
	switch {
	case !isKnown: // it has just begun, or was left alone after an internal error
		return &shown, "its pods have not been counted"
	case eviction.Wait.IsOutside():
		return &shown, eviction.Wait.Text
	}
	return &shown, ""
}

// Clear forgets all, as at the end of a leader.
func (e *Evictions) Clear() { e.Table.UpdateAll(func(row *tracker.Row) { row.Eviction = nil }) }

// evictionWorkers is for how many workloads the evictor works at once. Each step takes two requests.
const evictionWorkers = 2
