package controller

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
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/internal/fairqueue"
	"kubernetes-deployment-restart-controller/internal/quarantine"
	"kubernetes-deployment-restart-controller/internal/status"
)

// deliveryWorkers is how many workloads are judged at once. Most judgements take no request.
const deliveryWorkers = 2

// deliveriesParts are what follows restarts with.
type deliveriesParts struct {
	catalog    *catalog.Catalog
	gate       *gatekeeper
	halted     signal // takes that the halts have changed
	pods       podReader
	evictions  *evictions
	notices    *notices
	events     record.EventRecorder
	metrics    *metrics
	quarantine *quarantine.Set
	log        *slog.Logger
	policy     delivery.Policy
}

// deliveries follows restarts until it is known what became of them, and reports that. Only the
// process that leads follows restarts. Nothing is decided here, and nothing is written but Events.
// Its methods may be called by several goroutines at once.
type deliveries struct {
	deliveriesParts
	history restartHistory
	queue   *fairqueue.Queue[names.WorkloadRef, struct{}]

	mu      sync.Mutex
	rolling map[names.WorkloadRef]*rollingRestart
	// unmended are the workloads of which a restart has failed and none was delivered since: the last word on them is a Warning.
	unmended map[names.WorkloadRef]struct{}
	since    time.Time // when this process began to lead
	// dating is the time that was spent on dating restarts of former leaders, by namespace; see [datingTime].
	dating map[string]time.Duration
}

// newDeliveries follows no restarts yet.
func newDeliveries(of deliveriesParts) *deliveries {
	return &deliveries{
		deliveriesParts: of, queue: queueOf[struct{}](deliveryWorkers, time.Second), rolling: make(map[names.WorkloadRef]*rollingRestart),
		unmended: make(map[names.WorkloadRef]struct{}), dating: make(map[string]time.Duration),
	}
}

// wasWholeAfter returns whether all pods ran before the last restart, which may be this one.
func (d *deliveries) wasWholeAfter(w *workload.Workload, decision *decide.Decision) bool {
	if decision.Outcome != decide.Restart {
		return w.Applied.WasWhole && w.Applied.Trusted
	}
	return d.isWholeBefore(w, decision)
}

// isWholeBefore returns whether all pods run before a restart, or would but for content that it replaces. If they are
// still being replaced for a restart before, they did if they ran before that.
func (d *deliveries) isWholeBefore(w *workload.Workload, decision *decide.Decision) bool {
	rolling := d.of(w.Ref)
	return w.Rollout.IsWhole() || rolling != nil && (rolling.WasWhole && !rolling.hasFailed || rolling.isMendedBy(decision))
}

// standingOf returns how a workload is before a restart.
func (d *deliveries) standingOf(w *workload.Workload, decision *decide.Decision) gate.Standing {
	rolling := d.of(w.Ref)
	switch {
	case rolling != nil && rolling.isMendedBy(decision):
		return gate.Failed
	case d.isWholeBefore(w, decision):
		return gate.Well
	}
	return gate.Unwell
}

// begin follows a restart that has just been made, instead of an earlier one. The argument is the workload as it was before.
func (d *deliveries) begin(former *workload.Workload, decision decide.Decision, id string, now time.Time) {
	decision.Checksums = nil // of which there may be very many
	ref := former.Ref
	w := d.catalog.Workload(ref)
	if w == nil {
		d.gate.forget(ref) // nobody would notice its end
		return
	}
	restart := &rollingRestart{
		Restart: delivery.Begin(w, w.Applied.WasWhole, now), id: id, began: now, decision: decision, recorded: w.RecordSeen,
		mayMend: !w.Applied.WasWhole && ranBeforeRestart(former),
	}
	if before := d.of(ref); before != nil {
		restart.brokenBy, restart.failed = before.brokenAfter(&decision), before.failed
		restart.mayMend = restart.mayMend || before.mayMend
	}
	d.history.begin(ref, id, causeNote(decision), now)
	d.follow(w, restart)
}

func (d *deliveries) follow(w *workload.Workload, restart *rollingRestart) {
	d.mu.Lock()
	d.rolling[w.Ref] = restart
	d.mu.Unlock()
	d.queue.Add(w.Ref, struct{}{})
}

// observe takes in that a workload has changed, or its status.
func (d *deliveries) observe(ref names.WorkloadRef) {
	if d.of(ref) != nil {
		d.queue.Add(ref, struct{}{})
	}
}

// forget stops following the restart of a workload that is gone or no longer opted in.
func (d *deliveries) forget(ref names.WorkloadRef) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.rolling, ref)
	delete(d.unmended, ref)
}

// noteFailed notes that a restart of a workload has failed. Nobody would drop that of one that is forgotten.
func (d *deliveries) noteFailed(ref names.WorkloadRef) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.rolling[ref] != nil {
		d.unmended[ref] = struct{}{}
	}
}

// mend notes that a workload runs again, and reports whether a restart before had failed.
func (d *deliveries) mend(ref names.WorkloadRef) (hadFailed bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, hadFailed = d.unmended[ref]
	delete(d.unmended, ref)
	return hadFailed
}

func (d *deliveries) of(ref names.WorkloadRef) *rollingRestart {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.rolling[ref]
}

// mayRecover reports whether all pods of a workload run whose last restart has failed, which is to be reported soon.
func (d *deliveries) mayRecover(ref names.WorkloadRef) bool {
	restart := d.of(ref)
	if restart == nil || !restart.hasFailed {
		return false
	}
	w, held := d.known(ref)
	return w != nil && held == "" && w.Rollout.IsWhole()
}

// finish stops following a restart, unless another one has begun.
func (d *deliveries) finish(ref names.WorkloadRef, restart *rollingRestart) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.rolling[ref] == restart {
		delete(d.rolling, ref)
	}
}

// run follows restarts until the context ends.
func (d *deliveries) run(ctx context.Context) {
	d.queue.Run(ctx, func(ctx context.Context, ref names.WorkloadRef) {
		isDone := d.quarantine.Try(quarantine.Delivery, nameOfWorkload(ref), func() { d.look(ctx, ref) })
		if restart := d.of(ref); !isDone && restart != nil {
			d.finish(ref, restart) // so that nobody waits for it
			d.gate.ended(ref, restart.id, false)
		}
	})
	d.mu.Lock()
	defer d.mu.Unlock()
	clear(d.rolling)
	clear(d.unmended)
}

// look judges the restart of a workload, and again later if it is not over.
func (d *deliveries) look(ctx context.Context, ref names.WorkloadRef) {
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
	if restart.isFormer && !d.knowsEnough(restart) {
		d.queue.AddAfter(ref, time.Second)
		return
	}
	if pause := time.Until(restart.notBefore); pause > 0 {
		d.queue.AddAfter(ref, pause)
		return
	}
	restart.Held = held
	judgement, err := d.judge(ctx, restart, w)
	if err == nil && judgement.Again > 0 {
		err = d.explain(ctx, restart, w)
	}
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

// knowsEnough reports whether this process can judge a restart of a former leader, which may have seen it fail: it has read the
// halts, and knows the content of the configs, without which a failure halts nothing, or cannot learn it.
func (d *deliveries) knowsEnough(restart *rollingRestart) bool {
	if _, knowsHalts := d.gate.knowsOfHalts(); !knowsHalts {
		return false
	}
	d.mu.Lock()
	isLate := time.Since(d.since) >= listPatience
	d.mu.Unlock()
	return isLate || !slices.ContainsFunc(configsOf(&restart.decision), func(config names.ConfigRef) bool { return !d.gate.knowsContent(config) })
}

// longestPlace is how long a restart keeps others from beginning, whatever its progress.
const longestPlace = time.Hour

// judge judges the restart of a workload, with its pods if necessary. If they cannot be read again and
// again, only the status can end it, by showing that all pods run.
func (d *deliveries) judge(ctx context.Context, restart *rollingRestart, w *workload.Workload) (delivery.Judgement, error) {
	if w.Rollout.ByPods {
		return d.judgeByPods(ctx, restart, w)
	}
	return d.judgeByStatus(ctx, restart, w)
}

func (d *deliveries) judgeByStatus(ctx context.Context, restart *rollingRestart, w *workload.Workload) (delivery.Judgement, error) {
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
func configsOf(decision *decide.Decision) (configs []names.ConfigRef) {
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
func (d *deliveries) missing(w *workload.Workload, decision *decide.Decision) string {
	for _, config := range configsOf(decision) {
		if d.gate.knowsWhatExists(config.Kind, config.Namespace) && d.catalog.LacksRequired(w, config) {
			return configName(config) + " does not exist, or lacks a key that the pod template requires"
		}
	}
	return ""
}
