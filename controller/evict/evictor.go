package evict

import (
	"context"
	"log/slog"
	"slices"
	"sync"
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
	"kubernetes-deployment-restart-controller/controller/follow"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/controller/gatekeeper"
	"kubernetes-deployment-restart-controller/controller/kinds"
	"kubernetes-deployment-restart-controller/controller/metrics"
	"kubernetes-deployment-restart-controller/controller/restart"
	"kubernetes-deployment-restart-controller/controller/run"
	"kubernetes-deployment-restart-controller/controller/tracker"
	"kubernetes-deployment-restart-controller/controller/wording"
	"kubernetes-deployment-restart-controller/internal/fairqueue"
	"kubernetes-deployment-restart-controller/internal/quarantine"
	"kubernetes-deployment-restart-controller/internal/status"
)

const (
	// stepPause is after how long the evictor looks again, unless the status of the workload changes earlier; then after
	// twice as long, up to longestPause. A look lists all pods, so looks are further apart if a list takes long: listing
	// takes a tenth of the time at most.
	stepPause    = 5 * time.Second
	longestPause = time.Minute
	// heldPause is after how long it asks again whether people hold the restart, which takes no request: it counts the
	// pods only now and then, because people may delete them meanwhile.
	heldPause = 15 * time.Second
)

// Evictor carries out the restarts by eviction that the restarter has recorded. Which pods are left follows from the
// record and from the pods, so it goes on where another process stopped. What it may not evict, it still counts: such a
// restart is not over. Its methods may be called by several goroutines at once.
type Evictor struct {
	*follow.Evictions
	Catalog    *catalog.Catalog
	Gate       *gatekeeper.Gatekeeper
	Deliveries *follow.Deliveries
	Restarter  *restart.Restarter
	Pods       kinds.PodReader
	Workloads  restart.WorkloadWriter
	Core       rest.Interface
	Events     record.EventRecorder
	Metrics    *metrics.Metrics
	Quarantine *quarantine.Set
	Log        *slog.Logger
	Refused    run.Signal

	turn sync.Mutex // so that no two restarts take the same slot
}

// Run evicts pods until the context ends.
func (e *Evictor) Run(ctx context.Context) {
	e.Queue.Run(ctx, func(ctx context.Context, ref names.WorkloadRef) {
		if !e.Quarantine.Try(quarantine.Delivery, kinds.NameOfWorkload(ref), func() { e.Work(ctx, ref) }) {
			e.Forget(ref)
		}
	})
	e.Clear()
}

// Work makes the next step of a restart by eviction.
func (e *Evictor) Work(ctx context.Context, ref names.WorkloadRef) {
	w := e.Catalog.Workload(ref)
	row := e.Table.Of(ref).Eviction
	if w == nil || row == nil || w.Record.Evict != row.Of || w.Method() == policy.ByTemplate || w.Deleting {
		return // whoever changes that brings the workload back
	}
	now := time.Now()
	if pause := e.untilNext(w, row, now); pause > 0 {
		e.noteFuture(w, now)
		e.Queue.AddAfter(ref, pause)
		return
	}
	held := e.heldBy(w, now)
	if held == "" {
		held = e.Restarter.NextWaits(ref)
	}
	if held != "" && now.Sub(row.Counted) < longestPause {
		e.hold(w, held, now)
		return
	}
	left, err := e.Pods.Left(ctx, w)
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
		e.Queue.Forget(ref)
	case ctx.Err() == nil:
		e.Failed(w, now, err)
	}
}

// hold lets a restart wait for people, after a look that began at a time. The next one is further away if looks take long.
func (e *Evictor) hold(w *workload.Workload, why string, began time.Time) {
	now := time.Now()
	pause := follow.ListingShare * now.Sub(began)
	e.Update(w.Ref, w.Record.Evict, func(row *tracker.Eviction) { row.NotBefore = now.Add(pause) })
	e.wait(w, tracker.EvictionWait{Reason: tracker.WaitsForPerson, Text: why, Since: now})
	e.Queue.AddAfter(w.Ref, max(heldPause, pause))
}

// untilNext returns how long to wait before the next look. A time in the future is that of a clock that has jumped, or
// was forged; until then, new pods would seem to be older than the restart.
func (e *Evictor) untilNext(w *workload.Workload, row *tracker.Eviction, now time.Time) time.Duration {
	began, _ := w.Record.EvictedAt()
	times := []time.Time{row.Seen.Add(workload.EvictionDelay), row.NotBefore, began.Add(workload.EvictionDelay)}
	next := slices.MaxFunc(times, time.Time.Compare)
	return min(next.Sub(now), tracker.LongestWait)
}

// noteFuture notes that a restart waits because its record is from the future.
func (e *Evictor) noteFuture(w *workload.Workload, now time.Time) {
	if began, _ := w.Record.EvictedAt(); began.Sub(now) > workload.EvictionDelay {
		why := "its record is from the future, " + began.Format(time.RFC3339) + ": a clock was wrong, or somebody else has written it"
		e.wait(w, tracker.EvictionWait{Reason: tracker.WaitsForError, Text: why, Since: now})
	}
}

// doubled returns a pause for the nth time in a row.
func doubled(pause time.Duration, n int) time.Duration {
	return fairqueue.Doubled(pause, n, longestPause)
}

// note notes how many pods are left, and when to look again at the earliest.
func (e *Evictor) note(w *workload.Workload, left *delivery.Left, began time.Time) {
	now, isNew := time.Now(), false
	e.noteReplaced(w, left, now)
	e.Update(w.Ref, w.Record.Evict, func(row *tracker.Eviction) {
		row.Earlier, row.Counted, row.NotBefore = left.Earlier, now, now.Add(follow.ListingShare*now.Sub(began))
		isNew = left.Earlier > 0 && !row.IsFollowed
		row.IsFollowed = row.IsFollowed || isNew
	})
	if isNew {
		if left.Earlier < w.Rollout.Wanted { // otherwise it is exposed to nothing yet, and waits for its turn
			began, _ := w.Record.EvictedAt()
			e.Deliveries.FollowEviction(w, began, now)
		}
		e.Restarter.AskAgain(w.Ref) // the gate has forgotten that its next restart waits
	}
	e.Deliveries.Observe(w.Ref)
}

// step carries out the next step.
func (e *Evictor) step(ctx context.Context, w *workload.Workload, step delivery.Step) error {
	switch {
	case step.Evict != nil && e.Deliveries.Follows(w):
		return e.evict(ctx, w, step.Evict)
	case step.Evict != nil:
		return e.evictInTurn(ctx, w, step.Evict)
	case !step.RestartAt.IsZero():
		return e.askForRestart(ctx, w, step.RestartAt)
	case step.Wait != "":
		e.wait(w, e.waitOf(w, step, time.Now()))
		e.lookLater(w)
		return nil
	}
	e.Deliveries.EndEviction(w)
	return nil
}

// evictInTurn evicts a pod of a restart that is not followed: it has given up its slot, or never had one, so others may be under way.
func (e *Evictor) evictInTurn(ctx context.Context, w *workload.Workload, pod *delivery.Evicted) error {
	e.turn.Lock()
	defer e.turn.Unlock()
	decision, now := e.Deliveries.RestartedFor(w), time.Now()
	request := e.Gate.Request(w, &decision, 0, gate.Well, now)
	request.Closed = "" // the window was open when the restart began
	// Asked too early, it would wait in a line, from which its next restart is called.
	if e.Gate.Explain(request, now).MayBegin() && e.Gate.Ask(request, now).MayBegin() {
		err := e.evict(ctx, w, pod)
		if e.Gate.IsBeginning(w.Ref) { // no pod was evicted, and another restart may be due
			e.Gate.Settle(w.Ref)
			e.Gate.Wake(w.Ref)
		}
		return err
	}
	e.wait(w, tracker.EvictionWait{Reason: tracker.WaitsForPods, Text: "other restarts come first, because it could not evict a pod for long", Since: now})
	e.Queue.AddAfter(w.Ref, heldPause)
	return nil
}

// lookLater makes the evictor look again after a pause, which grows.
func (e *Evictor) lookLater(w *workload.Workload) {
	looks := 0
	e.Update(w.Ref, w.Record.Evict, func(row *tracker.Eviction) { row.Looks++; looks = row.Looks })
	e.Queue.AddAfter(w.Ref, doubled(stepPause, looks))
}

// evict evicts a pod.
func (e *Evictor) evict(ctx context.Context, w *workload.Workload, pod *delivery.Evicted) error {
	err := e.request(ctx, w.Ref.Namespace, pod)
	switch {
	case apierrors.IsNotFound(err), apierrors.IsConflict(err): // another pod has its name by now
	case err != nil:
		return refused(err, pod)
	default:
		e.Metrics.Evictions.Inc()
		e.Log.Info("evicted a pod", "workload", w.Ref, "pod", pod.Name, "ready", pod.IsReady)
		if e.Update(w.Ref, w.Record.Evict, func(row *tracker.Eviction) { // another restart may have begun meanwhile
			row.Earlier, row.Looks, row.Refusals, row.Reported = max(0, row.Earlier-1), 0, 0, time.Time{}
		}) {
			e.Deliveries.FollowEviction(w, time.Now(), time.Now())
		}
		e.Deliveries.Observe(w.Ref)
	}
	e.wait(w, tracker.EvictionWait{Reason: tracker.WaitsForPods, Text: "a pod has not been replaced", Since: time.Now()})
	e.Queue.AddAfter(w.Ref, stepPause)
	return nil
}

// heldBy returns why people hold a restart that is under way, empty if they do not: a halt must keep the content from
// the pods that are left. A pod that replaces another reads all that has changed, also what the next restart is for.
func (e *Evictor) heldBy(w *workload.Workload, now time.Time) string {
	decision := e.Deliveries.RestartedFor(w)
	if restart := e.Deliveries.Of(w.Ref); restart != nil && !restart.IsFormer && !restart.HasFailed && restart.IsOf(w) && len(decision.Causes) > 0 {
		decision.MoreCauses = restart.Decision.MoreCauses // which the record does not have
	}
	view, found := e.Catalog.View(w.Ref)
	if found && !view.Listing && !view.LacksKey() {
		next := decide.Decide(view)
		addAppeared(&next, &decision, &view)
		if len(next.Causes) > 0 {
			if answer := e.Gate.Explain(e.Gate.Request(w, &next, 0, gate.Well, now), now); answer.Reason == gate.Window {
				return restart.NextWaitsFor + wording.Wait(answer) // which the budget hides
			}
			next.Include(&decision)
			decision = next
		}
	}
	request := e.Gate.Request(w, &decision, 0, gate.Well, now)
	if found {
		request.Missing = e.Gate.Missing(&view)
	}
	if err := e.Restarter.KnowsWhatHolds(request); err != nil {
		return err.Error()
	}
	if answer := e.Gate.Explain(request, now); answer.Reason.NeedsPerson() {
		return wording.Wait(answer)
	}
	return w.ScheduledRestart(now)
}

// addAppeared adds to the next restart of a workload what has appeared since the last one, by eviction, began: each pod that
// replaces another reads that, but no restart is due for it.
func addAppeared(next, last *decide.Decision, view *catalog.View) {
	if len(last.Causes) == 0 {
		return // it may be for any config already
	}
	w := view.Workload
	began, _ := w.Record.EvictedAt()
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

// wait notes what the next eviction waits for.
func (e *Evictor) wait(w *workload.Workload, wait tracker.EvictionWait) {
	var before tracker.EvictionWait
	isPresent := e.Update(w.Ref, w.Record.Evict, func(row *tracker.Eviction) {
		if before = row.Wait; before.Reason == wait.Reason {
			wait.Since = before.Since
		}
		row.Wait = wait
	})
	if !isPresent {
		return
	}
	if before.Text != wait.Text && wait.IsOutside() {
		e.Log.Info("eviction waits", "workload", w.Ref, "reason", wait.Reason, "why", wait.Text)
	}
	if wait.Remedy == status.GrantPermission && before.Remedy != wait.Remedy {
		e.Refused.Note()
	}
}
