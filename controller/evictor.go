package controller

import (
	"context"
	"log/slog"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/policy"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/delivery"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/internal/fairqueue"
	"kubernetes-deployment-restart-controller/internal/quarantine"
)

const (
	// evictionWorkers is for how many workloads the evictor works at once. Each step takes two requests.
	evictionWorkers = 2
	// stepPause is after how long the evictor looks again, unless the status of the workload changes earlier; then after
	// twice as long, up to longestPause. A look lists all pods, so looks are further apart if a list takes long: listing
	// takes a tenth of the time at most.
	stepPause    = 5 * time.Second
	longestPause = time.Minute
	listingShare = 10
	// heldPause is after how long it asks again whether people hold the restart, which takes no request: it counts the
	// pods only now and then, because people may delete them meanwhile.
	heldPause = 15 * time.Second
)

// evictor carries out the restarts by eviction that the restarter has recorded. Which pods are left follows from the
// record and from the pods, so it goes on where another process stopped. What it may not evict, it still counts: such a
// restart is not over. Its methods may be called by several goroutines at once.
type evictor struct {
	*evictions
	catalog    *catalog.Catalog
	gate       *gatekeeper
	deliveries *deliveries
	restarter  *restarter
	pods       podReader
	workloads  workloadWriter
	core       rest.Interface
	events     record.EventRecorder
	metrics    *metrics
	quarantine *quarantine.Set
	log        *slog.Logger
	refused    signal
}

// run evicts pods until the context ends.
func (e *evictor) run(ctx context.Context) {
	e.queue.Run(ctx, func(ctx context.Context, ref names.WorkloadRef) {
		if !e.quarantine.Try(quarantine.Delivery, nameOfWorkload(ref), func() { e.work(ctx, ref) }) {
			e.forget(ref)
		}
	})
	e.clear()
}

// work makes the next step of a restart by eviction.
func (e *evictor) work(ctx context.Context, ref names.WorkloadRef) {
	w := e.catalog.Workload(ref)
	row, isUnderWay := e.of(ref)
	if w == nil || !isUnderWay || w.Evict != row.of || w.Method() == policy.ByTemplate || w.Deleting {
		return // whoever changes that brings the workload back
	}
	now := time.Now()
	if pause := e.untilNext(w, &row, now); pause > 0 {
		e.noteFuture(w, now)
		e.queue.AddAfter(ref, pause)
		return
	}
	held := e.heldBy(w, now)
	if held == "" {
		held = e.restarter.nextWaits(ref)
	}
	if held != "" && now.Sub(row.counted) < longestPause {
		e.hold(w, held, now)
		return
	}
	left, err := e.pods.left(ctx, w)
	switch {
	case err != nil:
	case held != "" && left.Earlier > 0:
		e.note(w, left, now)
		e.hold(w, held, now)
	default:
		e.note(w, left, now)
		err = e.step(ctx, w, left.Next())
	}
	switch {
	case err == nil:
		e.queue.Forget(ref)
	case ctx.Err() == nil:
		e.failed(w, now, err)
	}
}

// hold lets a restart wait for people, after a look that began at a time. The next one is further away if looks take long.
func (e *evictor) hold(w *workload.Workload, why string, began time.Time) {
	now := time.Now()
	pause := listingShare * now.Sub(began)
	e.update(w.Ref, w.Evict, func(row *eviction) { row.notBefore = now.Add(pause) })
	e.wait(w, evictionWait{reason: waitsForPerson, text: why, since: now})
	e.queue.AddAfter(w.Ref, max(heldPause, pause))
}

// untilNext returns how long to wait before the next look. A time in the future is that of a clock that has jumped, or
// was forged; until then, new pods would seem to be older than the restart.
func (e *evictor) untilNext(w *workload.Workload, row *eviction, now time.Time) time.Duration {
	began, _ := w.EvictedAt()
	next := row.seen.Add(workload.EvictionDelay)
	for _, other := range []time.Time{row.notBefore, began.Add(workload.EvictionDelay)} {
		if other.After(next) {
			next = other
		}
	}
	return min(next.Sub(now), longestWait)
}

// noteFuture notes that a restart waits because its record is from the future.
func (e *evictor) noteFuture(w *workload.Workload, now time.Time) {
	if began, _ := w.EvictedAt(); began.Sub(now) > workload.EvictionDelay {
		why := "its record is from the future, " + began.Format(time.RFC3339) + ": a clock was wrong, or somebody else has written it"
		e.wait(w, evictionWait{reason: waitsForError, text: why, since: now})
	}
}

// doubled returns a pause for the nth time in a row.
func doubled(pause time.Duration, n int) time.Duration {
	return fairqueue.Doubled(pause, n, longestPause)
}

// note notes how many pods are left, and when to look again at the earliest.
func (e *evictor) note(w *workload.Workload, left *delivery.Left, began time.Time) {
	now, isNew := time.Now(), false
	e.noteReplaced(w, left, now)
	e.update(w.Ref, w.Evict, func(row *eviction) {
		row.earlier, row.counted, row.notBefore = left.Earlier, now, now.Add(listingShare*now.Sub(began))
		isNew = left.Earlier > 0 && !row.isFollowed
		row.isFollowed = row.isFollowed || isNew
	})
	if isNew {
		e.deliveries.followLeft(w, now)
		e.restarter.askAgain(w.Ref) // the gate has forgotten that its next restart waits
	}
	e.deliveries.observe(w.Ref)
}

// step carries out the next step.
func (e *evictor) step(ctx context.Context, w *workload.Workload, step delivery.Step) error {
	switch {
	case step.Evict != nil:
		return e.evict(ctx, w, step.Evict)
	case !step.RestartAt.IsZero():
		return e.askForRestart(ctx, w, step.RestartAt)
	case step.Wait != "":
		e.wait(w, e.waitOf(w, step, time.Now()))
		e.lookLater(w)
		return nil
	}
	e.deliveries.endEviction(w)
	return nil
}

// lookLater makes the evictor look again after a pause, which grows.
func (e *evictor) lookLater(w *workload.Workload) {
	looks := 0
	e.update(w.Ref, w.Evict, func(row *eviction) { row.looks++; looks = row.looks })
	e.queue.AddAfter(w.Ref, doubled(stepPause, looks))
}

// evict evicts a pod.
func (e *evictor) evict(ctx context.Context, w *workload.Workload, pod *delivery.Evicted) error {
	err := e.request(ctx, w.Ref.Namespace, pod)
	switch {
	case apierrors.IsNotFound(err), apierrors.IsConflict(err): // another pod has its name by now
	case err != nil:
		return refused(err, pod)
	default:
		e.metrics.evictions.Inc()
		e.log.Info("evicted a pod", "workload", w.Ref, "pod", pod.Name, "ready", pod.IsReady)
		isPresent := false // another restart may have begun meanwhile
		e.update(w.Ref, w.Evict, func(row *eviction) {
			isPresent = true
			row.earlier, row.looks, row.refusals, row.reported = max(0, row.earlier-1), 0, 0, time.Time{}
		})
		if isPresent {
			e.deliveries.followEviction(w, time.Now())
		}
		e.deliveries.observe(w.Ref)
	}
	e.wait(w, evictionWait{reason: waitsForPods, text: "a pod has not been replaced", since: time.Now()})
	e.queue.AddAfter(w.Ref, stepPause)
	return nil
}

// heldBy returns why people hold a restart that is under way, empty if they do not: a halt must keep the content from
// the pods that are left. A pod that replaces another reads all that has changed, also what the next restart is for.
func (e *evictor) heldBy(w *workload.Workload, now time.Time) string {
	decision := e.deliveries.restartedFor(w)
	if restart := e.deliveries.of(w.Ref); restart != nil && !restart.isFormer && !restart.hasFailed && restart.IsOf(w) && len(decision.Causes) > 0 {
		decision.MoreCauses = restart.decision.MoreCauses // which the record does not have
	}
	view, found := e.catalog.View(w.Ref)
	if found && !view.Listing && !view.LacksKey() {
		next := decide.Decide(view)
		addAppeared(&next, &decision, &view)
		if len(next.Causes) > 0 {
			if answer := e.gate.explain(e.gate.request(w, &next, 0, gate.Well, now), now); answer.Reason == gate.Window {
				return nextWaitsFor + describeWait(answer) // which the budget hides
			}
			next.Include(&decision)
			decision = next
		}
	}
	request := e.gate.request(w, &decision, 0, gate.Well, now)
	if found {
		request.Missing = e.gate.missing(&view)
	}
	if err := e.restarter.knowsWhatHolds(request); err != nil {
		return err.Error()
	}
	if answer := e.gate.explain(request, now); answer.Reason.NeedsPerson() {
		return describeWait(answer)
	}
	return w.ScheduledRestart(now)
}
