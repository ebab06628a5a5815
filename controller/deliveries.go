package controller

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/controller/delivery"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/fairqueue"
	"kubernetes-deployment-restart-controller/quarantine"
	"kubernetes-deployment-restart-controller/status"
)

// deliveryWorkers is how many workloads are judged at once. Most judgements take no request.
const deliveryWorkers = 2

// deliveries follows restarts until it is known what became of them, and reports that. Only the
// process that leads follows restarts. Nothing is decided here, and nothing is written but Events.
// Its methods may be called by several goroutines at once.
type deliveries struct {
	catalog    *catalog.Catalog
	gate       *gatekeeper
	halts      *haltKeeper
	pods       podReader
	evictor    *evictor
	reports    *fanOutReports
	events     record.EventRecorder
	metrics    *metrics
	quarantine *quarantine.Set
	log        *slog.Logger
	policy     delivery.Policy
	history    restartHistory
	queue      *fairqueue.Queue[catalog.WorkloadRef, struct{}]

	mu      sync.Mutex
	rolling map[catalog.WorkloadRef]*rollingRestart
	since   time.Time // when this process began to lead
}

func newDeliveryQueue() *fairqueue.Queue[catalog.WorkloadRef, struct{}] {
	return queueOf[struct{}](deliveryWorkers, time.Second)
}

// wasWholeAfter returns whether all pods ran before the last restart, which may be this one.
func (d *deliveries) wasWholeAfter(w *catalog.Workload, decision *catalog.Decision) bool {
	if decision.Outcome != catalog.Restart {
		return w.Applied.WasWhole && w.Applied.Trusted
	}
	return d.isWholeBefore(w, decision)
}

// isWholeBefore returns whether all pods run before a restart, or would but for content that it replaces. If they are
// still being replaced for a restart before, they did if they ran before that.
func (d *deliveries) isWholeBefore(w *catalog.Workload, decision *catalog.Decision) bool {
	rolling := d.of(w.Ref)
	return w.Rollout.IsWhole() || rolling != nil && (rolling.WasWhole && !rolling.hasFailed || rolling.isMendedBy(decision))
}

// standingOf returns how a workload is before a restart.
func (d *deliveries) standingOf(w *catalog.Workload, decision *catalog.Decision) gate.Standing {
	rolling := d.of(w.Ref)
	switch {
	case rolling != nil && rolling.isMendedBy(decision):
		return gate.Failed
	case d.isWholeBefore(w, decision):
		return gate.Well
	}
	return gate.Unwell
}

// begin follows a restart that has just been made, instead of an earlier one.
func (d *deliveries) begin(ref catalog.WorkloadRef, decision catalog.Decision, id string, now time.Time) {
	decision.Checksums = nil // of which there may be very many
	w := d.catalog.Workload(ref)
	if w == nil {
		d.gate.forget(ref) // nobody would notice its end
		return
	}
	restart := &rollingRestart{Restart: delivery.Begin(w, w.Applied.WasWhole, now), id: id, began: now, decision: decision, mends: d.history.hasFailed(ref)}
	if before := d.of(ref); before != nil {
		restart.brokenBy = before.brokenAfter(&decision)
		restart.mends = restart.mends || before.mends || before.hasFailed
	}
	d.history.begin(ref, id, causeNote(decision), now)
	d.follow(w, restart)
}

func (d *deliveries) follow(w *catalog.Workload, restart *rollingRestart) {
	d.mu.Lock()
	d.rolling[w.Ref] = restart
	d.mu.Unlock()
	d.queue.Add(w.Ref, struct{}{})
}

// resume follows the restart of a workload that another process made a short while ago, if it may
// not be complete.
func (d *deliveries) resume(ref catalog.WorkloadRef, now time.Time) {
	w, known := d.catalog.Workload(ref), d.of(ref)
	if w == nil || known != nil && known.IsOf(w) {
		return
	}
	began, isRolling := delivery.Resumes(w, d.policy, now)
	if isRolling {
		d.adopt(w, began, began, now)
	}
}

// madeRestart names the restart that was the last one of a workload.
type madeRestart struct {
	timestamp string // of the pod template
	evict     uint32 // [catalog.Workload.Evict]
}

func lastMade(w *catalog.Workload) madeRestart { return madeRestart{w.Timestamp, w.Evict} }

// resumeLate follows a restart that another process made and that shows only now, after the given one: the watch of a new
// leader may be behind. A former leader cannot have made a restart long after this process began to lead, but whoever may
// write to workloads can pretend so at any time.
func (d *deliveries) resumeLate(ref catalog.WorkloadRef, former madeRestart, now time.Time) {
	d.mu.Lock()
	until := d.since.Add(d.policy.Deadline) // the clock of a former leader may be ahead
	d.mu.Unlock()
	w := d.catalog.Workload(ref)
	if w == nil || w.OwnRecord {
		return
	}
	evicted, _ := w.EvictedAt()
	isLaterEviction := w.Evict > former.evict && !evicted.After(until)
	if isLaterEviction || isLaterTimestamp(w.Timestamp, former.timestamp) && !isLaterTimestamp(w.Timestamp, until.Format(time.RFC3339Nano)) {
		d.resume(ref, now)
	}
}

// isLaterTimestamp reports whether a restart came after another. No timestamp is earlier than all others.
func isLaterTimestamp(timestamp, former string) bool {
	at, err := time.Parse(time.RFC3339Nano, timestamp)
	before, _ := time.Parse(time.RFC3339Nano, former)
	return err == nil && at.After(before)
}

// restartedFor returns what the record of a workload says about its last restart.
func (d *deliveries) restartedFor(w *catalog.Workload) catalog.Decision {
	decision := catalog.Decision{Outcome: catalog.Restart}
	for _, r := range w.Applied.RestartedFor {
		cause := catalog.Cause{Config: r.Config, Keys: r.Keys}
		if !d.catalog.MissedEdit(w, r.Config) { // otherwise it is not part of the fan-out of that edit
			cause.Moments = d.catalog.MomentsUntil(r.Config, r.Keys, w.Applied.Written)
		}
		decision.Causes = append(decision.Causes, cause)
	}
	return decision
}

// followFailed follows a workload that failed under another leader after a restart for a config, to
// notice if it runs after all. A restart from after that time is another one.
func (d *deliveries) followFailed(ref catalog.WorkloadRef, config catalog.ConfigRef, failed time.Time) {
	w := d.catalog.Workload(ref)
	if known := d.of(ref); known != nil && known.hasFailed {
		return
	}
	if w == nil || !w.Applied.Trusted || w.Applied.Reverted != nil || w.Applied.Written.After(failed) || w.Idle || w.Hold != catalog.NoHold || w.Deleting {
		return
	}
	decision := d.restartedFor(w)
	if !slices.ContainsFunc(decision.Causes, func(c catalog.Cause) bool {
		return c.Config == config || gate.GroupOf(c.Config.Kind, c.Config.Name) == config
	}) {
		return
	}
	d.gate.ended(ref, restartID(w), false)
	d.follow(w, &rollingRestart{
		Restart: delivery.Begin(w, w.Applied.WasWhole, w.Applied.Written), id: restartID(w), began: w.Applied.Written, decision: decision, hasFailed: true,
	})
}

// observe takes in that a workload has changed, or its status.
func (d *deliveries) observe(ref catalog.WorkloadRef) {
	if d.of(ref) != nil {
		d.queue.Add(ref, struct{}{})
	}
}

// forget stops following the restart of a workload that is gone or no longer opted in.
func (d *deliveries) forget(ref catalog.WorkloadRef) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.rolling, ref)
}

func (d *deliveries) of(ref catalog.WorkloadRef) *rollingRestart {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.rolling[ref]
}

// finish stops following a restart, unless another one has begun.
func (d *deliveries) finish(ref catalog.WorkloadRef, restart *rollingRestart) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.rolling[ref] == restart {
		delete(d.rolling, ref)
	}
}

// resumeAll follows the restarts that another process has left.
func (d *deliveries) resumeAll(now time.Time) {
	d.mu.Lock()
	d.since = now
	d.mu.Unlock()
	for _, ref := range d.catalog.Workloads() {
		if !d.quarantine.Try(quarantine.Delivery, nameOfWorkload(ref), func() { d.resume(ref, now) }) {
			d.forget(ref)
			d.gate.forget(ref) // so that nobody waits for it
		}
	}
}

// run follows restarts until the context ends.
func (d *deliveries) run(ctx context.Context) {
	d.queue.Run(ctx, func(ctx context.Context, ref catalog.WorkloadRef) {
		isDone := d.quarantine.Try(quarantine.Delivery, nameOfWorkload(ref), func() { d.look(ctx, ref) })
		if restart := d.of(ref); !isDone && restart != nil {
			d.finish(ref, restart) // so that nobody waits for it
			d.gate.ended(ref, restart.id, false)
		}
	})
	d.mu.Lock()
	defer d.mu.Unlock()
	clear(d.rolling)
}

// look judges the restart of a workload, and again later if it is not over.
func (d *deliveries) look(ctx context.Context, ref catalog.WorkloadRef) {
	restart := d.of(ref)
	w, held := d.known(ref)
	switch {
	case restart == nil:
		return
	case w == nil:
		d.finish(ref, restart)
		d.gate.ended(ref, restart.id, false)
		d.history.end(ref, restart.id, status.Unknown, "the workload is gone or no longer enabled", time.Now())
		return
	}
	if _, knowsHalts := d.gate.knowsOfHalts(); restart.isFormer && !knowsHalts { // the former leader may have seen it fail
		d.queue.AddAfter(ref, time.Second)
		return
	}
	if pause := time.Until(restart.notBefore); pause > 0 {
		d.queue.AddAfter(ref, pause)
		return
	}
	restart.Held = held
	judgement, err := d.judge(ctx, restart, w)
	if err != nil {
		if ctx.Err() == nil {
			d.queue.Retry(ref, failureOf(err))
		}
		return
	}
	d.queue.Forget(ref)
	if again := judgement.Again; again > 0 {
		switch now := time.Now(); {
		case restart.IsWhole():
			d.gate.rolled(ref, restart.id)
		case restart.Stalls(d.policy, now) || now.Sub(restart.began) > longestPlace:
			d.gate.stalled(ref, restart.id)
		default:
			again = min(again, restart.UntilStall(d.policy, now))
		}
		d.queue.AddAfter(ref, again)
		return
	}
	if restart.hasFailed {
		d.finish(ref, restart)
		d.noteRecovery(w, restart, judgement)
		return
	}
	d.report(w, restart, judgement)
}

// longestPlace is how long a restart keeps others from beginning, whatever its progress.
const longestPlace = time.Hour

// judge judges the restart of a workload, with its pods if necessary. If they cannot be read again and
// again, only the status can end it, by showing that all pods run.
func (d *deliveries) judge(ctx context.Context, restart *rollingRestart, w *catalog.Workload) (delivery.Judgement, error) {
	if w.Rollout.ByPods {
		return d.judgeByPods(ctx, restart, w)
	}
	return d.judgeByStatus(ctx, restart, w)
}

func (d *deliveries) judgeByStatus(ctx context.Context, restart *rollingRestart, w *catalog.Workload) (delivery.Judgement, error) {
	if restart.hasFailed {
		return restart.LookAfterFailure(w, d.policy, time.Now()), nil
	}
	judgement := restart.Look(w, d.policy, time.Now())
	if judgement.Verdict != delivery.AskPods {
		return judgement, nil
	}
	seen, err := d.pods.sight(ctx, w, configsOf(&restart.decision))
	if err != nil && (ctx.Err() != nil || d.queue.Failures(w.Ref) < passingFailures) {
		return delivery.Judgement{}, err
	}
	if err != nil {
		d.log.Warn("cannot read the pods of a workload that restarts, so only its status can show that they run", "workload", w.Ref, "error", err)
		if !restart.IsWhole() { // its content may be bad: others wait until the pods can be read
			return delivery.Judgement{Verdict: delivery.Rolling, Again: measureAgain}, nil
		}
	}
	return restart.LookAtPods(w, d.policy, seen, d.missing(w, &restart.decision), time.Now()), nil
}

// configsOf returns the configs that a restart is for, none if they are not all known.
func configsOf(decision *catalog.Decision) (configs []catalog.ConfigRef) {
	if isUnclear(decision) {
		return nil
	}
	for i := range decision.Causes {
		configs = append(configs, decision.Causes[i].Config)
	}
	return configs
}

// missing says which of the configs that a restart is for keeps containers from starting, because it or a key does not
// exist; empty if none does. The status of a pod does not show that if it is about a volume.
func (d *deliveries) missing(w *catalog.Workload, decision *catalog.Decision) string {
	for _, config := range configsOf(decision) {
		if d.catalog.LacksRequired(w, config) {
			return configName(config) + " does not exist, or lacks a key that the pod template requires"
		}
	}
	return ""
}

// report reports what became of a restart, and tells the gate. A restart that failed is followed
// further, because its pods may run after all.
func (d *deliveries) report(w *catalog.Workload, restart *rollingRestart, judgement delivery.Judgement) {
	took := time.Since(restart.began).Round(time.Second)
	if judgement.Verdict == delivery.Failed {
		d.fail(w, restart, judgement, took)
		return
	}
	d.gate.ended(w.Ref, restart.id, judgement.Verdict == delivery.Delivered)
	if judgement.Verdict != delivery.Delivered && len(restart.brokenBy) > 0 {
		d.followOn(w.Ref, restart, catalog.Decision{Outcome: catalog.Restart, Causes: restart.brokenBy})
	}
	d.finish(w.Ref, restart)
	if judgement.Verdict != delivery.Delivered {
		d.history.end(w.Ref, restart.id, status.Unknown, judgement.Reason, time.Now())
		d.log.Info("restart is not followed any further", "workload", w.Ref, "after", took.String(), "reason", judgement.Reason)
		return
	}
	d.gate.recovered(w)
	if restart.mends {
		d.events.Event(objectReference(w), corev1.EventTypeNormal, reasonRecovered, fmt.Sprintf("runs again, %s after it restarted: %s. A restart before had failed",
			took, describe(restart.decision)))
	}
	d.history.end(w.Ref, restart.id, status.Delivered, "", time.Now())
	d.metrics.delivered.WithLabelValues(string(w.Ref.Kind)).Inc()
	d.metrics.deliveryTime.Observe(took.Seconds())
	d.log.Info("restart is delivered", "workload", w.Ref, "after", took.String())
}

func (d *deliveries) fail(w *catalog.Workload, restart *rollingRestart, judgement delivery.Judgement, took time.Duration) {
	reason, evidence := judgement.Reason, evidenceOf(&judgement.Seen)
	d.metrics.failed.WithLabelValues(string(w.Ref.Kind)).Inc()
	command := evidence.Command(w.Ref.Namespace)
	d.history.fail(w.Ref, restart.id, reason, command, time.Now())
	causes := describeFailed(restart.decision)
	d.log.Warn("restart failed", "workload", w.Ref, "after", took.String(), "reason", reason, "causes", causes)
	if causes != "" {
		causes = " for " + causes
	}
	failed, look := fmt.Sprintf("failed %s after it restarted", took), status.LookWith(command)
	if restart.isFormer { // which may have failed earlier
		failed = fmt.Sprintf("has failed, as seen %s after it restarted", took)
	}
	d.events.Event(objectReference(w), corev1.EventTypeWarning, reasonNotDelivered, failed+causes+": "+reason+look+remedyFor(w))
	halts, counts := d.gate.halt(w, restart, evidence, time.Now())
	d.gate.ended(w.Ref, restart.id, false) // only now, so that nobody takes its turn before the halt
	d.reportOnConfigs(w, restart.decision, failed, reason+look)
	d.reportHalts(w, halts, look)
	if !counts {
		d.finish(w.Ref, restart)
		return
	}
	d.halts.wakeUp()
	d.followOn(w.Ref, restart, restart.decision)
}

// followOn follows a restart further, because the pods may run after all with the content that has broken them.
func (d *deliveries) followOn(ref catalog.WorkloadRef, restart *rollingRestart, brokenBy catalog.Decision) {
	failed := *restart
	failed.hasFailed, failed.decision = true, brokenBy
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.rolling[ref] == restart {
		d.rolling[ref] = &failed
		d.queue.Add(ref, struct{}{})
	}
}

// noteRecovery notes whether the pods run after all after a restart that failed.
func (d *deliveries) noteRecovery(w *catalog.Workload, restart *rollingRestart, judgement delivery.Judgement) {
	if judgement.Verdict != delivery.Delivered {
		d.log.Info("restart that failed is not followed any further", "workload", w.Ref, "reason", judgement.Reason)
		return
	}
	after := time.Since(restart.began).Round(time.Second).String()
	d.events.Event(objectReference(w), corev1.EventTypeNormal, reasonRecovered, "runs after all, "+after+" after the restart that failed")
	d.history.end(w.Ref, restart.id, status.Recovered, "", time.Now())
	d.log.Info("workload runs after all, although its restart failed", "workload", w.Ref, "after", after)
	d.gate.recovered(w)
	d.halts.wakeUp()
}

// reportOnConfigs reports a failed restart to the owners of the configs that it was for, who may not
// be those of the workload.
func (d *deliveries) reportOnConfigs(w *catalog.Workload, decision catalog.Decision, failed, reason string) {
	for _, cause := range decision.Causes {
		d.reports.note(cause.Config, corev1.EventTypeWarning, reasonNotDelivered, fmt.Sprintf("%s %s for this change (%s): %s",
			workloadName(w.Ref), failed, describeEdit(cause), reason))
	}
}

// reportHalts reports to the owners of configs that nobody else restarts for their content. The halt of a group
// is reported on the copy that the last restart was for.
func (d *deliveries) reportHalts(w *catalog.Workload, halts []haltNews, look string) {
	for _, h := range halts {
		if !h.begins {
			continue
		}
		where := ""
		if gate.IsGroup(h.config) {
			where = " in all namespaces"
		}
		d.metrics.halts.Inc()
		d.log.Warn("halted the restarts for a config", "config", h.config, "halt", h.id, "failed", w.Ref, "held", h.held)
		d.reports.note(h.on, corev1.EventTypeWarning, reasonHalted, fmt.Sprintf("halted%s after %s failed: %d held%s; revert the change, or resume with: %s",
			where, workloadName(w.Ref), h.held, look, resumeCommand(h.config, h.id)))
	}
}
