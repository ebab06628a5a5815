package controller

import (
	"cmp"
	"context"
	"slices"
	"time"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/delivery"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/internal/quarantine"
)

// Restarts that another process made are followed by the next leader.

// datingTime is how much time a leader spends on finding out of which fan-outs the restarts of former leaders in a namespace
// are part. Nobody can restart meanwhile, or no watch goes on, and filters of very many keys take long. A restart beyond it is
// followed without its fan-outs, so its failure halts nothing. Each config counts for at most longestDating, so that a few
// moments in which the process did not run do not use it up.
const (
	datingTime    = 200 * time.Millisecond
	longestDating = 20 * time.Millisecond
)

// resume follows the restart of a workload that another process made a short while ago, if it may
// not be complete.
func (d *deliveries) resume(ref names.WorkloadRef, now time.Time) {
	w, followed := d.catalog.Workload(ref), d.of(ref)
	if w == nil || followed != nil && followed.IsOf(w) {
		return
	}
	began, isRolling := delivery.Resumes(w, d.policy, now)
	if isRolling {
		decision := recordedFor(w)
		for i := range decision.Causes {
			if begin := time.Now(); d.spend(ref.Namespace, 0) < datingTime {
				d.date(w, &decision.Causes[i])
				if took := min(time.Since(begin), longestDating); d.spend(ref.Namespace, took) >= datingTime {
					d.log.Warn("not all restarts of a former leader are part of their fan-outs, because their filters take long", "namespace", ref.Namespace)
				}
			}
		}
		d.adopt(w, decision, began, began, now)
	}
	if !began.IsZero() {
		d.gate.noteFormer(w, began)
	}
}

// spend adds to the time that is spent on dating restarts in a namespace, and returns it.
func (d *deliveries) spend(namespace string, took time.Duration) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dating[namespace] += took
	return d.dating[namespace]
}

// restartedAt returns when the last restart of a workload began, zero if it has none.
func restartedAt(w *workload.Workload) time.Time {
	if evicted, isByEviction := w.EvictedAt(); isByEviction {
		return evicted
	}
	at, err := time.Parse(time.RFC3339Nano, w.Timestamp)
	if err != nil || annotation.IsForged(at) {
		return time.Time{}
	}
	return at
}

// ranBeforeRestart reports whether all pods of a workload ran before its last restart, which another process made.
func ranBeforeRestart(w *workload.Workload) bool {
	return w.Applied.Trusted && w.Applied.WasWhole && !w.OwnRecord && !restartedAt(w).IsZero()
}

// madeRestart names the restart that was the last one of a workload.
type madeRestart struct {
	timestamp string // of the pod template
	evict     uint32 // [workload.Workload.Evict]
}

func lastMade(w *workload.Workload) madeRestart { return madeRestart{w.Timestamp, w.Evict} }

// resumeLate follows a restart that another process made and that shows only now, after the given one: the watch of a new
// leader may be behind. A former leader cannot have made a restart long after this process began to lead, but whoever may
// write to workloads can pretend so at any time.
func (d *deliveries) resumeLate(ref names.WorkloadRef, former madeRestart, now time.Time) {
	d.mu.Lock()
	until := d.since.Add(d.policy.Deadline) // the clock of a former leader may be ahead
	d.mu.Unlock()
	w := d.catalog.Workload(ref)
	if w == nil || w.OwnRecord {
		return
	}
	evicted, _ := w.EvictedAt()
	isLaterEviction := w.Evict > former.evict && !evicted.After(until)
	if isLaterEviction || record.IsLaterRestart(w.Timestamp, former.timestamp) && !record.IsLaterRestart(w.Timestamp, until.Format(time.RFC3339Nano)) {
		d.resume(ref, now)
	}
}

// recordedFor returns what the record of a workload says about its last restart.
func recordedFor(w *workload.Workload) decide.Decision {
	return decide.Decision{Outcome: decide.Restart, Causes: decide.LastCauses(&w.Applied), MoreCauses: w.Applied.MoreRestartedFor()}
}

// restartedFor is recordedFor with the moments of the edits, which make the restart part of their fan-outs.
func (d *deliveries) restartedFor(w *workload.Workload) decide.Decision {
	decision := recordedFor(w)
	for i := range decision.Causes {
		d.date(w, &decision.Causes[i])
	}
	return decision
}

// date completes a cause that a record names. It computes a checksum of the config, unless that is remembered.
func (d *deliveries) date(w *workload.Workload, cause *decide.Cause) {
	if !d.catalog.MissedEdit(w, cause.Config) { // otherwise the restart is not part of the fan-out of that edit
		cause.Moments = decide.MomentsUntil(d.catalog, cause.Config, cause.Keys, w.Applied.Written)
	}
}

// followFailed follows a workload that failed under another leader after a restart for a config, to
// notice if it runs after all. A restart from after that time is another one. The time may be that of another workload's failure.
func (d *deliveries) followFailed(ref names.WorkloadRef, config names.ConfigRef, failed time.Time, isDated bool) {
	w := d.catalog.Workload(ref)
	if known := d.of(ref); w == nil || known != nil && known.hasFailed {
		return
	}
	began := cmp.Or(deliveredAt(w), w.Applied.Written) // which is later if only a record was written since
	if !w.Applied.Trusted || w.Applied.Reverted != nil || began.After(failed) || w.Idle || w.Hold != workload.NoHold || w.Deleting {
		return
	}
	if !slices.ContainsFunc(w.Applied.RestartedFor, func(r record.Restarted) bool {
		return r.Config == config || gate.GroupOf(r.Config.Kind, r.Config.Name) == config
	}) {
		return
	}
	decision := d.restartedFor(w)
	restart := &rollingRestart{
		Restart: delivery.Begin(w, w.Applied.WasWhole, began), id: restartID(w), began: began, decision: decision, hasFailed: true, failed: failed,
		isUnexplained: true, isUndated: !isDated,
	}
	d.gate.ended(ref, restart.id, false)
	d.history.begin(ref, restart.id, causeNote(decision), restart.began)
	d.history.fail(ref, restart.id, "an earlier leader saw it fail", "", restart.shownFailed())
	d.follow(w, restart)
	d.noteFailed(ref)
}

// explain finds out once what the pods show of a restart that failed under another leader. They may show nothing any more.
func (d *deliveries) explain(ctx context.Context, restart *rollingRestart, w *workload.Workload) error {
	if !restart.isUnexplained {
		return nil
	}
	seen, err := d.pods.sight(ctx, w, configsOf(&restart.decision))
	if err != nil && (ctx.Err() != nil || d.queue.Failures(w.Ref) < passingFailures) {
		return err
	}
	restart.isUnexplained = false
	if err == nil && seen.Condition >= delivery.Hanging {
		evidence := evidenceOf(&seen)
		d.history.fail(w.Ref, restart.id, seen.String(), evidence.Command(w.Ref.Namespace), restart.shownFailed())
	}
	return nil
}

// resumeAll follows the restarts that another process has left.
func (d *deliveries) resumeAll(now time.Time) {
	d.mu.Lock()
	d.since, d.dating = now, make(map[string]time.Duration)
	d.mu.Unlock()
	for _, ref := range d.catalog.Workloads() {
		if !d.quarantine.Try(quarantine.Delivery, nameOfWorkload(ref), func() { d.resume(ref, now) }) {
			d.forget(ref)
			d.gate.forget(ref) // so that nobody waits for it
		}
	}
}
