package follow

import (
	"context"
	"time"

	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/policy"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/failures"
	"kubernetes-deployment-restart-controller/controller/tracker"
)

// known returns a workload whose status says how far its restart has come, nil if the catalog does not know it, and
// why no pod may be evicted, empty if one may.
func (d *Deliveries) known(ref names.WorkloadRef) (w *workload.Workload, held string) {
	if w = d.Catalog.Workload(ref); w == nil {
		return nil, ""
	}
	return d.Evictions.StatusOf(w)
}

// Counted returns a workload of which pods may be left to evict, or as it is once none is: the last restart by eviction may have
// ended long ago, which a new process learns only by counting the pods.
func (d *Deliveries) Counted(ctx context.Context, w *workload.Workload) (*workload.Workload, error) {
	if w.Record.Evict == 0 || w.Method() != policy.ByEviction {
		return w, nil
	}
	if eviction := d.Table.Of(w.Ref).Eviction; eviction != nil && eviction.Of == w.Record.Evict && !eviction.Counted.IsZero() {
		return w, nil
	}
	left, err := d.Pods.Left(ctx, w)
	switch {
	case err != nil && failures.IsPermanent(err):
		return w, nil // it waits for who restores the permission
	case err != nil:
		return w, err
	case left.Earlier > 0:
		d.Evictions.Update(w.Ref, w.Record.Evict, func(e *tracker.Eviction) { e.Earlier, e.Counted = left.Earlier, time.Now() })
		return w, nil
	}
	d.EndEviction(w)
	ended := *w
	ended.Record.Evict = 0
	return &ended, nil
}

// EndEviction notes that no pod of a workload is left to evict.
func (d *Deliveries) EndEviction(w *workload.Workload) {
	d.Catalog.ObserveReplaced(w)
	d.Evictions.forgetReplaced(w)
	d.Observe(w.Ref)
	d.Log.Info("no pod is left to evict", "workload", w.Ref)
}

// IncludeLeft adds to a restart what the last one was for, if that was one by eviction and pods may be left: these get its
// content with this restart. Otherwise the record would no longer show that a halt or a hold concerns them.
func (d *Deliveries) IncludeLeft(w *workload.Workload, decision *decide.Decision) {
	if w.Record.Evict > 0 && w.Method() == policy.ByEviction {
		last := d.RestartedFor(w)
		decision.Include(&last)
	}
}

// FollowEviction follows a restart by eviction that began at a time, goes on and is not followed, however old it is: another process
// may have begun it long ago, it may last for hours, its last pod may crash only now, or no pod could be evicted for so long that it
// was given up. A person who has resumed the restarts since it began has forgiven its failure. Whoever may write to workloads can
// pretend such restarts at any time, so they keep no other namespace of a group waiting once former leaders cannot have made them.
func (d *Deliveries) FollowEviction(w *workload.Workload, began, now time.Time) {
	if d.Follows(w) {
		return
	}
	if began.After(now) {
		began = now
	}
	d.adopt(w, d.RestartedFor(w), began, now, now)
	if now.After(d.formerUntil()) {
		d.Gate.Stalled(w.Ref, restartID(w))
	}
}

// Follows reports whether the last restart of a workload is followed.
func (d *Deliveries) Follows(w *workload.Workload) bool {
	restart := d.Of(w.Ref)
	return restart != nil && restart.IsOf(w)
}
