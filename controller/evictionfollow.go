package controller

import (
	"cmp"
	"context"
	"slices"
	"time"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/policy"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/delivery"
	"kubernetes-deployment-restart-controller/controller/gate"
)

// restartID returns by which name the gate knows the restart of a workload that another process made.
func restartID(w *workload.Workload) string {
	if at, isByEviction := w.EvictedAt(); isByEviction {
		return "evict " + at.Format(time.RFC3339)
	}
	return w.Timestamp
}

// known returns a workload whose status says how far its restart has come, nil if the catalog does not know it, and
// why no pod may be evicted, empty if one may.
func (d *deliveries) known(ref names.WorkloadRef) (w *workload.Workload, held string) {
	if w = d.catalog.Workload(ref); w == nil {
		return nil, ""
	}
	return d.evictions.statusOf(w)
}

// counted returns a workload of which pods may be left to evict, or as it is once none is: the last restart by eviction may have
// ended long ago, which a new process learns only by counting the pods.
func (d *deliveries) counted(ctx context.Context, w *workload.Workload) (*workload.Workload, error) {
	if w.Evict == 0 || w.Method() != policy.ByEviction {
		return w, nil
	}
	if row, isUnderWay := d.evictions.of(w.Ref); isUnderWay && row.of == w.Evict && !row.counted.IsZero() {
		return w, nil
	}
	left, err := d.pods.left(ctx, w)
	switch {
	case err != nil && isPermanent(err):
		return w, nil // it waits for who restores the permission
	case err != nil:
		return w, err
	case left.Earlier > 0:
		d.evictions.update(w.Ref, w.Evict, func(row *eviction) { row.earlier, row.counted = left.Earlier, time.Now() })
		return w, nil
	}
	d.endEviction(w)
	ended := *w
	ended.Evict = 0
	return &ended, nil
}

// endEviction notes that no pod of a workload is left to evict.
func (d *deliveries) endEviction(w *workload.Workload) {
	d.catalog.ObserveReplaced(w)
	d.evictions.forgetReplaced(w)
	d.observe(w.Ref)
	d.log.Info("no pod is left to evict", "workload", w.Ref)
}

// includeLeft adds to a restart what the last one was for, if that was one by eviction and pods may be left: these get its
// content with this restart. Otherwise the record would no longer show that a halt or a hold concerns them.
func (d *deliveries) includeLeft(w *workload.Workload, decision *decide.Decision) {
	if w.Evict > 0 && w.Method() == policy.ByEviction {
		last := d.restartedFor(w)
		decision.Include(&last)
	}
}

// addAppeared adds to the next restart of a workload what has appeared since the last one, by eviction, began: each pod that
// replaces another reads that, but no restart is due for it.
func addAppeared(next, last *decide.Decision, view *catalog.View) {
	if len(last.Causes) == 0 {
		return // it may be for any config already
	}
	w := view.Workload
	began, _ := w.EvictedAt()
	named := slices.Concat(next.Causes, last.Causes) // few, unlike what may have appeared
	for _, ref := range w.Configs() {
		config := view.Configs[ref]
		if config == nil || config.Deleted || int64(config.Created) < began.Unix() || w.Ignores(config) {
			continue
		}
		if !slices.ContainsFunc(named, func(c decide.Cause) bool { return c.Config == ref }) {
			next.Causes = append(next.Causes, decide.Cause{Config: ref, Unnamed: true, Moments: []names.Sequence{config.Appeared}})
		}
	}
}

// nextWaitsFor begins what is said of pods that may not be evicted because of what a later restart brings.
const nextWaitsFor = "its next restart waits for: "

// nextWaits returns why the next restart of a workload waits, or may have to, empty if it does not: a pod that was evicted
// meanwhile would read what that restart is to bring. Its budget is no such reason, because the pods that are left restart
// once in any case.
func (r *restarter) nextWaits(ref names.WorkloadRef) string {
	next, isKnown := r.backlogs.of(ref)
	switch {
	case isKnown && next.isDeliberate():
		return nextWaitsFor + cmp.Or(next.putOffBy.text, string(next.putOff))
	case isKnown && next.putOff == "" && next.changed:
		return "it is being decided whether it restarts again"
	case !isKnown && r.changes.HoldsAny(ref): // also a change of the workload itself: a new process sees edits by that
		return "a config has changed, for which it may have to restart again"
	}
	return ""
}

// knowsWhatHolds returns nil if all is known that may hold a restart, as it is some time after a process begins to lead.
func (r *restarter) knowsWhatHolds(request *gate.Request) error {
	if !r.knowsConfigsOf(request.Workload) {
		return errConfigsUnknown // nor are their holds
	}
	return r.gate.knowsEnough(request)
}

// followEviction follows a restart by eviction that goes on and is not followed: another process may have begun it long
// ago, or no pod could be evicted for so long that it was given up.
func (d *deliveries) followEviction(w *workload.Workload, now time.Time) {
	if restart := d.of(w.Ref); restart != nil && restart.IsOf(w) {
		return
	}
	d.adopt(w, d.restartedFor(w), now, now, now)
}

// followLeft follows a restart by eviction of which pods are left and that this process does not follow, however old it is:
// it may last for hours, and the last pod of a former leader may crash only now. A person who has resumed the restarts
// since it began has forgiven its failure.
func (d *deliveries) followLeft(w *workload.Workload, now time.Time) {
	if restart := d.of(w.Ref); restart != nil && restart.IsOf(w) {
		return
	}
	began, _ := w.EvictedAt()
	if began.After(now) {
		began = now
	}
	d.adopt(w, d.restartedFor(w), began, now, now)
}

// adopt follows a restart that was made earlier for what a decision says and has made progress since, and makes the gate count it.
func (d *deliveries) adopt(w *workload.Workload, decision decide.Decision, began, progressed, now time.Time) {
	restart := &rollingRestart{
		Restart: delivery.Begin(w, w.Applied.WasWhole, progressed), id: restartID(w), began: began, decision: decision, recorded: w.RecordSeen,
		isFormer: true, mayMend: !w.OwnRecord,
	}
	standing := gate.Unwell
	if w.Applied.WasWhole {
		standing = gate.Well
	}
	request := d.gate.request(w, &restart.decision, 0, standing, now)
	request.ID = restart.id
	d.gate.resumed(request, now)
	d.history.begin(w.Ref, restart.id, causeNote(restart.decision), began)
	d.follow(w, restart)
}
