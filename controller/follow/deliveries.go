package follow

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/tools/record"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/delivery"
	"kubernetes-deployment-restart-controller/controller/failures"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/controller/gatekeeper"
	"kubernetes-deployment-restart-controller/controller/kinds"
	"kubernetes-deployment-restart-controller/controller/metrics"
	"kubernetes-deployment-restart-controller/controller/run"
	"kubernetes-deployment-restart-controller/controller/tracker"
	"kubernetes-deployment-restart-controller/controller/wording"
	"kubernetes-deployment-restart-controller/internal/fairqueue"
	"kubernetes-deployment-restart-controller/internal/podsight"
	"kubernetes-deployment-restart-controller/internal/quarantine"
	"kubernetes-deployment-restart-controller/internal/status"
)

// deliveryWorkers is how many workloads are judged at once. Most judgements take no request.
const deliveryWorkers = 2

// Parts are what follows restarts with.
type Parts struct {
	Catalog    *catalog.Catalog
	Table      *tracker.Table
	Gate       *gatekeeper.Gatekeeper
	Halted     run.Signal // takes that the halts have changed
	Pods       kinds.PodReader
	Evictions  *Evictions
	Notices    *gatekeeper.Notices
	Events     record.EventRecorder
	Metrics    *metrics.Metrics
	Quarantine *quarantine.Set
	Log        *slog.Logger
	Policy     delivery.Policy
}

// Deliveries follows restarts until it is known what became of them, and reports that. Only the
// process that leads follows restarts. Nothing is decided here, and nothing is written but Events.
// Its methods may be called by several goroutines at once.
type Deliveries struct {
	Parts
	History History
	Queue   *fairqueue.Queue[names.WorkloadRef, struct{}]

	mu    sync.Mutex
	since time.Time // when this process began to lead
	// dating is the time that was spent on dating restarts of former leaders, by namespace; see [DatingTime].
	dating map[string]time.Duration
}

// NewDeliveries follows no restarts yet.
func NewDeliveries(of Parts) *Deliveries {
	return &Deliveries{Parts: of, Queue: run.NewQueue[struct{}](deliveryWorkers, time.Second), dating: make(map[string]time.Duration)}
}

// UnprovenAfter returns what earlier restarts of a workload have brought that is still not proven once another one begins.
func (d *Deliveries) UnprovenAfter(ref names.WorkloadRef, decision *decide.Decision) []decide.Cause {
	if rolling := d.Of(ref); rolling != nil {
		return tracker.CausesOf(rolling.UnprovenAfter(decision))
	}
	return nil
}

// Begin follows a restart that has just been made, instead of an earlier one. The argument is the workload as it was before.
func (d *Deliveries) Begin(former *workload.Workload, decision decide.Decision, id string, made tracker.Made) {
	now := made.At
	decision.Checksums = nil // of which there may be very many
	ref := former.Ref
	w := d.Catalog.Workload(ref)
	if w == nil {
		d.Gate.Forget(ref) // nobody would notice its end
		return
	}
	restart := &tracker.RollingRestart{
		Restart: delivery.Begin(w, made.Ran, now), ID: id, Began: now, Decision: decision, Recorded: w.RecordSeen,
		MayMend: lostPods(former, w), HadPods: hasPods(former, made.Ran),
	}
	restart.Timestamp, restart.Template, restart.Bare = made.Timestamp, former.Template, former.Bare
	restart.Brought = d.Gate.Brought(w, decision.Causes)
	switch before := d.Of(ref); {
	case before != nil:
		restart.BrokenBy, restart.BrokenRan, restart.Failed = before.BrokenAfter(&decision), before.RanBeforeFailure(), before.Failed
		restart.Continues(before)
		d.Gate.BroughtAgain(w, restart.Unproven)
		restart.MayMend = restart.MayMend || before.MayMend
	case former.IsProof(): // a former leader may have seen that it has proven what it is exposed to
		d.judged(ref)
	}
	d.History.Begin(ref, id, wording.CauseNote(decision), now, namedConfigsOf(&decision)...)
	d.follow(w, restart)
}

func (d *Deliveries) follow(w *workload.Workload, restart *tracker.RollingRestart) {
	d.expose(w.Ref, restart, false)
	d.Table.Update(w.Ref, func(row *tracker.Row) { row.Rolling = restart })
	d.Queue.Add(w.Ref, struct{}{})
}

// Observe takes in that a workload has changed, or its status.
func (d *Deliveries) Observe(ref names.WorkloadRef) {
	if d.Of(ref) != nil {
		d.Queue.Add(ref, struct{}{})
	}
}

// Forget stops following the restart of a workload.
func (d *Deliveries) Forget(ref names.WorkloadRef) {
	d.Ended(ref, d.Of(ref))
	d.Table.Update(ref, func(row *tracker.Row) { row.Rolling, row.Unmended = nil, false })
}

// Ended lets the gate know that a restart is not followed any more, and until when its workload is exposed. There may be none.
func (d *Deliveries) Ended(ref names.WorkloadRef, restart *tracker.RollingRestart) {
	if restart != nil {
		d.expose(ref, restart, true)
		d.Gate.Ended(ref, restart.ID, restart.ExposedUntil(d.Policy))
	}
}

// expose notes what a workload is exposed to, and whether it shows that to the next leader.
func (d *Deliveries) expose(ref names.WorkloadRef, restart *tracker.RollingRestart, isHidden bool) {
	if restart.HasFailed {
		d.judged(ref)
		return
	}
	if d.Gate.Expose(ref, slices.Concat(restart.Brought, restart.Unproven), isHidden, restart.ExposedUntil(d.Policy)) {
		d.Halted.Note()
	}
}

// judged notes that a workload is not exposed any more.
func (d *Deliveries) judged(ref names.WorkloadRef) {
	if d.Gate.Judged(ref) {
		d.Halted.Note()
	}
}

// NoteFailed notes that a restart of a workload has failed. Nobody would drop that of one that is forgotten.
func (d *Deliveries) NoteFailed(ref names.WorkloadRef) {
	d.Table.Update(ref, func(row *tracker.Row) { row.Unmended = row.Unmended || row.Rolling != nil })
}

// mend notes that a workload runs again, and reports whether a restart before had failed.
func (d *Deliveries) mend(ref names.WorkloadRef) (hadFailed bool) {
	d.Table.Update(ref, func(row *tracker.Row) { hadFailed, row.Unmended = row.Unmended, false })
	return hadFailed
}

// Of returns the restart of a workload that is followed, nil if none is.
func (d *Deliveries) Of(ref names.WorkloadRef) *tracker.RollingRestart {
	return d.Table.Of(ref).Rolling
}

// MayRecover reports whether all pods of a workload run whose last restart has failed, which is to be reported soon.
func (d *Deliveries) MayRecover(ref names.WorkloadRef) bool {
	restart := d.Of(ref)
	if restart == nil || !restart.HasFailed {
		return false
	}
	w, held := d.known(ref)
	return w != nil && held == "" && restart.RunsAsBefore(w)
}

// Finish stops following a restart, unless another one has begun.
func (d *Deliveries) Finish(ref names.WorkloadRef, restart *tracker.RollingRestart) {
	d.replace(ref, restart, nil)
}

// replace follows another restart, or none, instead of the given one, and reports whether that was followed.
func (d *Deliveries) replace(ref names.WorkloadRef, restart, next *tracker.RollingRestart) (wasFollowed bool) {
	d.Table.Update(ref, func(row *tracker.Row) {
		if wasFollowed = row.Rolling == restart; wasFollowed {
			row.Rolling = next
		}
	})
	return wasFollowed
}

// Run follows restarts until the context ends.
func (d *Deliveries) Run(ctx context.Context) {
	d.Queue.Run(ctx, func(ctx context.Context, ref names.WorkloadRef) {
		isDone := d.Quarantine.Try(quarantine.Delivery, kinds.NameOfWorkload(ref), func() { d.Look(ctx, ref) })
		if restart := d.Of(ref); !isDone && restart != nil {
			d.Finish(ref, restart) // so that nobody waits for it for ever
			d.Ended(ref, restart)
		}
	})
	d.Table.UpdateAll(func(row *tracker.Row) { row.Rolling, row.Unmended = nil, false })
}

// Look judges the restart of a workload, and again later if it is not over.
func (d *Deliveries) Look(ctx context.Context, ref names.WorkloadRef) {
	before := d.Of(ref)
	w, held := d.known(ref)
	switch {
	case before == nil:
		return
	case w == nil:
		d.Finish(ref, before)
		d.Ended(ref, before)
		d.History.End(ref, before.ID, status.Unknown, "the workload is gone or no longer enabled", time.Now())
		return
	}
	if before.IsFormer && !d.KnowsEnough(before) {
		d.Queue.AddAfter(ref, time.Second)
		return
	}
	if pause := time.Until(before.NotBefore); pause > 0 {
		d.Queue.AddAfter(ref, pause)
		return
	}
	restart := before.Copy()
	restart.Held = held
	judgement, err := d.judgeAndExplain(ctx, restart, w, func() {
		if shown := restart.Copy(); d.replace(ref, before, shown) {
			before = shown
		}
	})
	d.replace(ref, before, restart) // only now, because others may read it
	if err != nil {
		if ctx.Err() == nil {
			d.Queue.Retry(ref, failures.Of(err))
		}
		return
	}
	d.Queue.Forget(ref)
	if judgement.Again > 0 {
		d.Queue.AddAfter(ref, d.goOn(w, restart, before.IsAway, judgement))
		return
	}
	if restart.HasFailed {
		d.Finish(ref, restart)
		d.noteRecovery(w, restart, judgement)
		return
	}
	d.report(w, restart, judgement)
}

// judgeAndExplain judges a restart, and changes it as that shows.
func (d *Deliveries) judgeAndExplain(ctx context.Context, restart *tracker.RollingRestart, w *workload.Workload, publish func()) (delivery.Judgement, error) {
	judgement, err := d.judge(ctx, restart, w, publish)
	switch {
	case err != nil:
	case judgement.Again > 0:
		if err = d.explain(ctx, restart, w); err == nil {
			restart.IsAway = judgement.Verdict == delivery.Away
		}
	case judgement.Verdict == delivery.Failed:
		restart.Fail(w)
	}
	return judgement, err
}

// goOn tells the gate how a restart is that is not over, and returns after how long to look again.
func (d *Deliveries) goOn(w *workload.Workload, restart *tracker.RollingRestart, wasAway bool, judgement delivery.Judgement) (again time.Duration) {
	ref := w.Ref
	if wasAway && !restart.IsAway {
		now := time.Now()
		d.Gate.Seen(d.requestOf(w, restart, restart.Ran, now), now)
	}
	switch {
	case restart.IsAway:
		d.Ended(ref, restart)
		return judgement.Again
	case restart.HasOthers:
		d.expose(ref, restart, true)
	case wasAway:
		d.expose(ref, restart, false)
	}
	switch now := time.Now(); {
	case restart.IsWhole():
		d.Gate.Rolled(ref, restart.ID)
	case restart.Stalls(d.Policy, now):
		d.Gate.Stalled(ref, restart.ID)
	default:
		return min(judgement.Again, restart.UntilStall(d.Policy, now))
	}
	return judgement.Again
}

// KnowsEnough reports whether this process can judge a restart of a former leader, which may have seen it fail: it has read the
// halts, and knows the content of the configs, without which a failure halts nothing, or cannot learn it.
func (d *Deliveries) KnowsEnough(restart *tracker.RollingRestart) bool {
	if _, knowsHalts := d.Gate.KnowsOfHalts(); !knowsHalts {
		return false
	}
	d.mu.Lock()
	isLate := time.Since(d.since) >= gatekeeper.ListPatience
	d.mu.Unlock()
	return isLate || !slices.ContainsFunc(configsOf(&restart.Decision), func(config names.ConfigRef) bool { return !d.Gate.KnowsContent(config) })
}

// judge judges the restart of a workload, with its pods if necessary. If they cannot be read again and
// again, only the status can end it, by showing that all pods run.
func (d *Deliveries) judge(ctx context.Context, restart *tracker.RollingRestart, w *workload.Workload, publish func()) (delivery.Judgement, error) {
	if w.Rollout.ByPods {
		return d.judgeByPods(ctx, restart, w, publish)
	}
	return d.judgeByStatus(ctx, restart, w, publish)
}

func (d *Deliveries) judgeByStatus(ctx context.Context, restart *tracker.RollingRestart, w *workload.Workload, publish func()) (delivery.Judgement, error) {
	look := restart.Look
	if restart.HasFailed {
		look = restart.LookAfterFailure
	}
	judgement := look(w, d.Policy, time.Now())
	if judgement.Verdict != delivery.AskPods {
		return judgement, nil
	}
	publish() // the next restart may begin while the pods are read, and goes on with what the status has shown
	seen, err := d.sight(ctx, restart, w)
	if err != nil && (ctx.Err() != nil || d.Queue.Failures(w.Ref) < failures.PassingFailures) {
		return delivery.Judgement{}, err
	}
	if err != nil {
		d.Log.Warn("cannot read the pods of a workload that restarts, so only its status can show that they run", "workload", w.Ref, "error", err)
		if !restart.IsWhole() { // its content may be bad: others wait until the pods can be read
			return delivery.Judgement{Verdict: delivery.Rolling, Again: measureAgain}, nil
		}
	}
	if restart.HasFailed {
		return restart.LookAtPodsAfterFailure(w, d.Policy, seen, time.Now()), nil
	}
	return restart.LookAtPods(w, d.Policy, seen, d.missing(w, &restart.Decision), time.Now()), nil
}

// sight reads what the pods show of a restart.
func (d *Deliveries) sight(ctx context.Context, restart *tracker.RollingRestart, w *workload.Workload) (podsight.Sight, error) {
	began := time.Now()
	defer func() {
		if until := time.Now().Add(ListingShare * time.Since(began)); until.After(restart.NotBefore) {
			restart.NotBefore = until
		}
	}()
	return d.Pods.Sight(ctx, w, restart.Traces(d.Policy, configsOf(&restart.Decision)))
}

// configsOf returns the configs that a restart is for, none if they are not all known.
func configsOf(decision *decide.Decision) []names.ConfigRef {
	if tracker.IsUnclear(decision) {
		return nil
	}
	return namedConfigsOf(decision)
}

// namedConfigsOf returns those of the configs that a restart is for that the decision names.
func namedConfigsOf(decision *decide.Decision) (configs []names.ConfigRef) {
	for i := range decision.Causes {
		configs = append(configs, decision.Causes[i].Config)
	}
	return configs
}

// missing says which of the configs that a restart is for keeps containers from starting, because it or a key does not
// exist; empty if none does. The status of a pod does not show that if it is about a volume.
func (d *Deliveries) missing(w *workload.Workload, decision *decide.Decision) string {
	for _, config := range configsOf(decision) {
		if d.Gate.KnowsWhatExists(config.Kind, config.Namespace) && d.Catalog.LacksRequired(w, config) {
			return wording.ConfigName(config) + " does not exist, or lacks a key that the pod template requires"
		}
	}
	return ""
}

// ListingShare limits the share of the time that listing pods takes: the pause after a list is this many times as long as the list.
const ListingShare = 10

// evidenceOf returns what a pod showed.
func evidenceOf(seen *podsight.Sight) gate.Evidence {
	return gate.Evidence{Pod: seen.Pod, Container: seen.Container, HasRestarted: seen.HasRestarted}
}

// measureAgain is after how long the pods of a workload are counted again while it restarts, if its status does not show how
// that goes. Most controllers write some status, which is a reason to look earlier.
const measureAgain = 15 * time.Second

// judgeByPods is for workloads whose status does not show how a rollout goes, so it counts their pods each time. The
// status may change at any moment, so counting takes a part of the time only; see [ListingShare].
func (d *Deliveries) judgeByPods(ctx context.Context, restart *tracker.RollingRestart, w *workload.Workload, publish func()) (delivery.Judgement, error) {
	began := time.Now()
	defer func() { restart.NotBefore = time.Now().Add(ListingShare * time.Since(began)) }()
	measured, err := d.Pods.Measured(ctx, w)
	switch {
	case err != nil && (ctx.Err() != nil || d.Queue.Failures(w.Ref) < failures.PassingFailures):
		return delivery.Judgement{}, err
	case err != nil:
		d.Log.Warn("cannot read the pods of a workload that restarts, which nothing else shows", "workload", w.Ref, "error", err)
		return delivery.Judgement{Verdict: delivery.Neutral, Reason: "its pods cannot be read"}, nil
	}
	judgement, err := d.judgeByStatus(ctx, restart, measured, publish)
	if judgement.Again > 0 {
		judgement.Again = min(judgement.Again, measureAgain)
	}
	return judgement, err
}
