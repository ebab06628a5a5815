package follow

import (
	"cmp"
	"context"
	"slices"
	"time"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/policy"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/delivery"
	"kubernetes-deployment-restart-controller/controller/failures"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/controller/kinds"
	"kubernetes-deployment-restart-controller/controller/tracker"
	"kubernetes-deployment-restart-controller/controller/wording"
	"kubernetes-deployment-restart-controller/internal/podsight"
	"kubernetes-deployment-restart-controller/internal/quarantine"
)

// Restarts that another process made are followed by the next leader.

// DatingTime is how much time a leader spends on finding out of which fan-outs the restarts of former leaders in a namespace
// are part. Nobody can restart meanwhile, or no watch goes on, and filters of very many keys take long. A restart beyond it is
// followed without its fan-outs, so its failure halts nothing. Each config counts for at most longestDating, so that a few
// moments in which the process did not run do not use it up.
const (
	DatingTime    = 200 * time.Millisecond
	longestDating = 20 * time.Millisecond
)

// Resume follows the restart of a workload that another process made a short while ago, if it may
// not be complete.
func (d *Deliveries) Resume(ref names.WorkloadRef, now time.Time) {
	w, followed := d.Catalog.Workload(ref), d.Of(ref)
	if w == nil || followed != nil && followed.IsOf(w) {
		return
	}
	began, isRolling := delivery.Resumes(w, d.Policy, now)
	if isRolling {
		decision := RecordedFor(w)
		for i := range decision.Causes {
			if begin := time.Now(); d.Spend(ref.Namespace, 0) < DatingTime {
				d.date(w, &decision.Causes[i])
				if took := min(time.Since(begin), longestDating); d.Spend(ref.Namespace, took) >= DatingTime {
					d.Log.Warn("not all restarts of a former leader are part of their fan-outs, because their filters take long", "namespace", ref.Namespace)
				}
			}
		}
		progressed := began
		if delivery.TakesSteps(w) { // one that waits at a step makes no progress for as long as people wish
			progressed = now
		}
		d.adopt(w, decision, began, progressed, now)
	}
	if !began.IsZero() {
		d.Gate.NoteFormer(w, began)
	}
}

// Spend adds to the time that is spent on dating restarts in a namespace, and returns it.
func (d *Deliveries) Spend(namespace string, took time.Duration) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dating[namespace] += took
	return d.dating[namespace]
}

// RestartedAt returns when the last restart of a workload began, zero if it has none.
func RestartedAt(w *workload.Workload) time.Time {
	if evicted, isByEviction := w.Record.EvictedAt(); isByEviction {
		return evicted
	}
	at, err := time.Parse(time.RFC3339Nano, w.Timestamp)
	if err != nil || annotation.IsForged(at) {
		return time.Time{}
	}
	return at
}

// lostPods reports whether more pods of a workload ran before a restart that another process made than before the present one.
func lostPods(former, present *workload.Workload) bool {
	isFormer := former.Record.Trusted && !former.OwnRecord && !RestartedAt(former).IsZero()
	return isFormer && present.Record.Ran < former.Record.Ran
}

// MadeRestart names the restart that was the last one of a workload.
type MadeRestart struct {
	timestamp string // of the pod template
	evict     uint32 // [record.LastRestart.Evict]
}

// LastMade returns the last restart that was made of a workload, as it shows it.
func LastMade(w *workload.Workload) MadeRestart { return MadeRestart{w.Timestamp, w.Record.Evict} }

// ResumeLate follows a restart that another process made and that shows only now, after the given one: the watch of a new
// leader may be behind. A former leader cannot have made a restart long after this process began to lead, but whoever may
// write to workloads can pretend so at any time.
func (d *Deliveries) ResumeLate(ref names.WorkloadRef, former MadeRestart, now time.Time) {
	until := d.formerUntil()
	w := d.Catalog.Workload(ref)
	if w == nil || w.OwnRecord {
		return
	}
	evicted, _ := w.Record.EvictedAt()
	isLaterEviction := w.Record.Evict > former.evict && !evicted.After(until)
	if isLaterEviction || record.IsLaterRestart(w.Timestamp, former.timestamp) && !record.IsLaterRestart(w.Timestamp, until.Format(time.RFC3339Nano)) {
		d.Resume(ref, now)
	}
}

// formerUntil returns until when a restart may be that of a former leader, whose clock may be ahead.
func (d *Deliveries) formerUntil() time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.since.Add(d.Policy.Deadline)
}

// RecordedFor returns what the record of a workload says about its last restart.
func RecordedFor(w *workload.Workload) decide.Decision {
	return decide.Decision{Outcome: decide.Restart, Causes: decide.LastCauses(&w.Record), MoreCauses: w.Record.MoreRestartedFor()}
}

// RestartedFor is RecordedFor with the moments of the edits, which make the restart part of their fan-outs.
func (d *Deliveries) RestartedFor(w *workload.Workload) decide.Decision {
	decision := RecordedFor(w)
	for i := range decision.Causes {
		d.date(w, &decision.Causes[i])
	}
	return decision
}

// date completes a cause that a record names. It computes a checksum of the config, unless that is remembered.
func (d *Deliveries) date(w *workload.Workload, cause *decide.Cause) {
	if !d.Catalog.MissedEdit(w, cause.Config) { // otherwise the restart is not part of the fan-out of that edit
		cause.Moments = decide.MomentsUntil(d.Catalog, cause.Config, cause.Keys, w.Record.Written)
	}
}

// FollowFailed follows a workload that failed under another leader after a restart for a config, to
// notice if it runs after all. A restart from after that time is another one. The time may be that of another workload's failure.
func (d *Deliveries) FollowFailed(ref names.WorkloadRef, config names.ConfigRef, failed time.Time, isDated bool) {
	w := d.Catalog.Workload(ref)
	if known := d.Of(ref); w == nil || known != nil && known.HasFailed {
		return
	}
	began := cmp.Or(DeliveredAt(w), w.Record.Written) // which is later if only a record was written since
	if !w.Record.Trusted || w.Record.Reverted != nil || began.After(failed) || w.Idle || w.Hold.HoldsAll() || w.Deleting {
		return
	}
	if !slices.ContainsFunc(w.Record.RestartedFor, func(r record.Restarted) bool {
		return r.Config == config || gate.GroupOf(r.Config.Kind, r.Config.Name) == config
	}) {
		return
	}
	decision := d.RestartedFor(w)
	restart := &tracker.RollingRestart{
		Restart: delivery.Begin(w, w.Record.Ran, began), ID: restartID(w), Began: began, Decision: decision, HasFailed: true, Failed: failed, Recorded: w.RecordSeen,
		IsUnexplained: true, IsUndated: !isDated,
	}
	d.Gate.Ended(ref, restart.ID, time.Time{})
	d.History.Begin(ref, restart.ID, wording.CauseNote(decision), restart.Began, namedConfigsOf(&decision)...)
	d.History.fail(ref, restart.ID, "an earlier leader saw it fail", "", restart.ShownFailed())
	d.follow(w, restart)
	d.NoteFailed(ref)
}

// explain finds out once what the pods show of a restart that failed under another leader. They may show nothing any more.
func (d *Deliveries) explain(ctx context.Context, restart *tracker.RollingRestart, w *workload.Workload) error {
	if !restart.IsUnexplained {
		return nil
	}
	seen, err := d.sight(ctx, restart, w)
	if err != nil && (ctx.Err() != nil || d.Queue.Failures(w.Ref) < failures.PassingFailures) {
		return err
	}
	restart.IsUnexplained = false
	if err == nil && seen.Condition >= podsight.Hanging {
		evidence := evidenceOf(&seen)
		d.History.fail(w.Ref, restart.ID, seen.String(), evidence.Command(w.Ref.Namespace), restart.ShownFailed())
	}
	return nil
}

// ResumeAll follows the restarts that another process has left.
func (d *Deliveries) ResumeAll(now time.Time) {
	d.mu.Lock()
	d.since, d.dating = now, make(map[string]time.Duration)
	d.mu.Unlock()
	for _, ref := range d.Catalog.WorkloadsIn("") {
		if !d.Quarantine.Try(quarantine.Delivery, kinds.NameOfWorkload(ref), func() { d.Resume(ref, now) }) {
			d.Forget(ref)
			d.Gate.Forget(ref) // so that nobody waits for it
		}
	}
}

// DeliveredAt returns when the restart was made that a workload runs with, zero if there is none. Once all pods are evicted, only
// the record shows it.
func DeliveredAt(w *workload.Workload) time.Time {
	if w.Method() == policy.ByEviction && w.Record.Evict == 0 && w.Record.Trusted {
		return w.Record.Written
	}
	return RestartedAt(w)
}

// restartID returns by which name the gate knows the restart of a workload that another process made.
func restartID(w *workload.Workload) string {
	if at, isByEviction := w.Record.EvictedAt(); isByEviction {
		return "evict " + at.Format(time.RFC3339)
	}
	return w.Timestamp
}

// adopt follows a restart that was made earlier for what a decision says and has made progress since, and makes the gate count it.
func (d *Deliveries) adopt(w *workload.Workload, decision decide.Decision, began, progressed, now time.Time) {
	restart := &tracker.RollingRestart{
		Restart: delivery.Begin(w, w.Record.Ran, progressed), ID: restartID(w), Began: began, Decision: decision, Recorded: w.RecordSeen,
		IsFormer: true, MayMend: !w.OwnRecord, HadPods: hasPods(w, w.Record.Ran),
	}
	restart.Brought = d.Gate.Brought(w, decision.Causes)
	if before := d.Of(w.Ref); before != nil {
		restart.Continues(before)
	}
	d.Gate.Resumed(d.requestOf(w, restart, w.Record.Ran, now), now)
	d.History.Begin(w.Ref, restart.ID, wording.CauseNote(restart.Decision), began, namedConfigsOf(&restart.Decision)...)
	d.follow(w, restart)
}

// requestOf describes a restart that the gate has not let begin, of a workload of which so many pods ran before.
func (d *Deliveries) requestOf(w *workload.Workload, restart *tracker.RollingRestart, ran record.Ran, now time.Time) *gate.Request {
	request := d.Gate.Request(w, &restart.Decision, 0, standingBefore(w, ran), now)
	request.ID = restart.ID
	return request
}
