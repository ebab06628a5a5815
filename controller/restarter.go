package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/record"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/internal/apiclient"
	"kubernetes-deployment-restart-controller/internal/fairqueue"
	"kubernetes-deployment-restart-controller/internal/quarantine"
	"kubernetes-deployment-restart-controller/internal/series"
)

const (
	// workers is how many patches are under way at once. In a trial, more workers only made
	// requests queue up at the API server.
	workers = 8
	// A workload that could not be patched is tried again after minBackoff, then
	// after twice that and so on, up to maxBackoff; see [fairqueue.Backoff].
	minBackoff = 20 * time.Millisecond
	maxBackoff = 30 * time.Second
	// passingFailures is how often a request may fail for a transient reason before an Event
	// reports it.
	passingFailures = 3
)

// restarterParts are what a restarter works with, and how.
type restarterParts struct {
	catalog    *catalog.Catalog
	optIns     *optIns
	changes    *changeQueue
	pods       podReader
	workloads  workloadWriter
	events     record.EventRecorder
	metrics    *metrics
	quarantine *quarantine.Set
	log        *slog.Logger
	queue      *queue
	backlogs   *backlogs
	journal    *journal
	deliveries *deliveries
	gate       *gatekeeper
	evictions  *evictions
	keyObject  *ownObject // that holds the key of Secrets' checksums

	// knowsConfigs reports whether all configs of a namespace have been listed.
	knowsConfigs func(namespace string) bool
	// watches reports whether the configs of a namespace are watched.
	watches func(namespace string) bool

	grace         time.Duration // of workloads without one of their own
	backoffLimit  time.Duration
	dryRun        bool
	exitOnError   bool
	ignoredErrors []string
	refused       signal
}

// restarter decides about the workloads that changes affect and carries out the decisions. It
// is the only component that writes to workloads, apart from what the evictor asks of their own controllers.
type restarter struct {
	restarterParts
	configs configReader
	failure chan error // has an element when a failure must end the process
}

// newRestarter returns a restarter that reads configs with the given client.
func newRestarter(of restarterParts, core apiclient.Core) *restarter {
	return &restarter{restarterParts: of, configs: configReader{core: core}, failure: make(chan error, 1)}
}

// queue hands out workloads. The flows are the configs that changed; the zero ConfigRef is the
// flow of workloads that changed by themselves.
type queue = fairqueue.Queue[names.WorkloadRef, names.ConfigRef]

func newQueue() *queue { return queueOf[names.ConfigRef](workers, minBackoff) }

// queueOf returns a queue of workloads that so many workers work on. A workload that fails is tried
// again after the given pause, and then less and less often.
func queueOf[F comparable](workers int, first time.Duration) *fairqueue.Queue[names.WorkloadRef, F] {
	return fairqueue.New[names.WorkloadRef, F](fairqueue.Options[names.WorkloadRef]{
		Namespace: func(ref names.WorkloadRef) string { return ref.Namespace },
		Workers:   workers,
		Backoff:   fairqueue.Backoff{First: first, Longest: maxBackoff},
	})
}

// gracePeriod returns how long changes are held back for a workload.
func (r *restarter) gracePeriod(w *workload.Workload) time.Duration {
	return w.Grace(r.grace)
}

// Enqueue takes a due change: it queues the workload that the change may concern, in the flow
// of the config that changed. A change of the workload itself waits as long as a change of one
// of its configs does, because more changes may follow.
func (r *restarter) Enqueue(change observedChange) {
	if change.Last {
		r.metrics.changesProcessed.Inc()
	}
	flow, isConfig := change.Subject.(names.ConfigRef)
	if !isConfig && r.holdsConfigs(change.Workload) {
		return
	}
	r.log.Debug("change is due", "change", change.Subject, "count", change.Count, "workload", change.Workload)
	r.backlogs.note(change)
	r.queue.Add(change.Workload, flow)
}

// Take is Enqueue for an object that may cause a panic. Then no other restart waits for it.
func (r *restarter) Take(change observedChange) {
	if !r.quarantine.Try(quarantine.Queue, nameOfWorkload(change.Workload), func() { r.Enqueue(change) }) {
		r.gate.settle(change.Workload)
	}
}

// Forget forgets everything about a workload that is gone or no longer opted in.
func (r *restarter) Forget(workload names.WorkloadRef) {
	forgetWork(workload, r.backlogs, r.journal, r.gate)
}

func forgetWork(workload names.WorkloadRef, b *backlogs, j *journal, g *gatekeeper) {
	b.settle(workload)
	j.forget(workload)
	g.forget(workload)
}

// isUndecided reports whether a change of a workload, or of a config that it reads, has not been decided
// about.
func (r *restarter) isUndecided(ref names.WorkloadRef) bool {
	_, waits := r.State(ref)
	return waits || r.changes.HoldsAny(ref)
}

// askAgain decides again about a workload whose restart the gate did not let begin.
func (r *restarter) askAgain(ref names.WorkloadRef) {
	if r.backlogs.isHeld(ref) {
		r.queue.Add(ref, names.ConfigRef{})
	}
}

// askAgainAll does so for all workloads of a namespace, or of all namespaces, and for those that wait for what was not known.
func (r *restarter) askAgainAll(namespace string) {
	for _, ref := range r.backlogs.those(func(w *backlog) bool { return w.isDeliberate() || w.failure.unknown != "" }) {
		if isInside(namespace, ref.Namespace) {
			r.queue.Add(ref, names.ConfigRef{})
		}
	}
}

func (r *restarter) holdsConfigs(workload names.WorkloadRef) bool {
	w := r.catalog.Workload(workload)
	return w != nil && slices.ContainsFunc(w.Configs(), func(config names.ConfigRef) bool {
		return r.changes.Holds(workload, config)
	})
}

// State reports whether a restart of a workload is due, and whether work for it is under way.
func (r *restarter) State(workload names.WorkloadRef) (due, waits bool) {
	return r.backlogs.state(workload)
}

// load is what waits for the restarter.
type load struct {
	queued, slow int                      // workloads
	waits        map[string]time.Duration // how long the most overdue workload of each namespace has waited
	slowed       []series.Sample          // workloads by the config that slows them down
	exposed      []series.Sample          // workloads by "namespace/reason"; see exposures
}

// Load returns what waits at the given time, which must be the present.
func (r *restarter) Load(now time.Time) load {
	return load{queued: r.queue.Len(), slow: r.queue.Slow(), waits: r.backlogs.longestWaits(now), slowed: r.backlogs.slowed(), exposed: r.backlogs.exposed()}
}

// Run works on the queue until the context ends, or until a failure ends it (see
// [Options.ExitOnError]), which it returns. It calls worked after each workload.
func (r *restarter) Run(ctx context.Context, worked func(names.WorkloadRef)) error {
	ctx, stop := context.WithCancel(ctx)
	var group sync.WaitGroup
	defer group.Wait()
	defer stop()
	group.Go(func() {
		r.queue.Run(ctx, func(ctx context.Context, workload names.WorkloadRef) {
			r.work(ctx, workload)
			worked(workload)
		})
	})
	select {
	case <-ctx.Done():
		return nil
	case err := <-r.failure:
		return fmt.Errorf("permanent failure: %w", err)
	}
}

// fail ends [restarter.Run].
func (r *restarter) fail(err error) {
	select {
	case r.failure <- err:
	default: // another failure came first
	}
}

// work decides about a workload. If that panics, the workload is left alone until it or one
// of its configs changes.
func (r *restarter) work(ctx context.Context, workload names.WorkloadRef) {
	if !r.quarantine.Try(quarantine.Decision, nameOfWorkload(workload), func() { r.attempt(ctx, workload) }) {
		r.gate.settle(workload) // so that no other restart waits for it
	}
}

// attempt decides about a workload, and queues it again if that fails.
func (r *restarter) attempt(ctx context.Context, workload names.WorkloadRef) {
	if err := r.handle(ctx, workload); err != nil && ctx.Err() == nil {
		r.failed(workload, err)
		if !errors.Is(err, errNotMarked) { // otherwise what the gate has answered stands
			// An internal error is that of an admission webhook, so nothing was written.
			r.gate.failed(workload, !r.isIgnored(err), isUncertain(err) && !apierrors.IsInternalError(err), isPermanent(err) && !r.backlogs.isHeld(workload), time.Now())
		}
		r.backlogs.noteRetry(workload, r.queue.Retry(workload, failureOf(err)))
	} else if !r.backlogs.hasFailed(workload) { // one that only waits for its turn is refused again
		r.queue.Forget(workload)
	}
}

// handle decides about a workload and carries the decision out.
func (r *restarter) handle(ctx context.Context, ref names.WorkloadRef) error {
	knowsConfigs, taken := r.knowsConfigsOf(ref), time.Now() // the following view includes those configs
	if err := r.readmit(ctx, ref); err != nil {
		return err
	}
	view, found := r.look(ref)
	if !found {
		r.Forget(ref)
		return nil
	}
	if !knowsConfigs || view.Listing {
		return errConfigsUnknown
	}
	if view.LacksKey() {
		return r.keyObject.waits(errKeyUnknown)
	}
	r.reportProblems(view.Workload)
	decision, err := r.decide(ctx, view)
	if err != nil {
		return err
	}
	r.metrics.decisions.WithLabelValues(string(decision.Outcome)).Inc()
	r.reportRevert(view.Workload, decision.Outcome)
	r.reportIdle(view.Workload, &decision)
	if decision.Outcome != decide.Restart {
		r.gate.settle(ref) // now, because the write of a record may take long
	}
	defer func() {
		if decision.Outcome != decide.Restart {
			r.gate.settle(ref) // again: it may have been expected meanwhile, as long as it seemed to wait
		}
	}()
	switch {
	case decision.Outcome == decide.Keep:
		return r.keep(ctx, view, decision)
	case r.dryRun:
		r.pretend(view.Workload, decision)
	case decision.Outcome == decide.Restart:
		return r.restart(ctx, view, decision, taken)
	case decision.Outcome == decide.RecordOnly && r.putOffRecord(view.Workload):
	default:
		return onlyRecord(errOnlyRecord, r.apply(ctx, view, decision, taken, nil))
	}
	return nil
}

// keep leaves a workload and its record as they are. If the record stays although the content
// differs from it, a mark says so: otherwise the next leader would not know of a content that the
// pods have read and that is gone.
func (r *restarter) keep(ctx context.Context, view catalog.View, decision decide.Decision) error {
	if decision.Verified {
		r.catalog.ObserveKept(view)
	}
	if decision.Contradicts && !decision.Verified && !r.dryRun {
		if _, err := r.mark(ctx, view, r.noteContradiction(view, decision, time.Now())); err != nil {
			return onlyRecord(errOnlyRecord, err)
		}
	}
	r.reportNotDue(view.Workload, r.backlogs.settle(view.Workload.Ref))
	r.journal.clearDryRun(view.Workload.Ref)
	return nil
}

// reportProblems reports, once, the problems of a workload that its owner has to fix, except for [mistake].
func (r *restarter) reportProblems(w *workload.Workload) {
	r.reportLeftovers(w)
	const fits = "config changes restart this workload again: it is no longer left alone for too many references to ConfigMaps and Secrets"
	if problem := tooManyReferences(w); r.reportProblem(w, referenceProblem, reasonTooMany, problem, fits) {
		r.log.Warn("a workload has too many references to configs, leaving it alone", "workload", w.Ref, "problem", problem)
	}
}

// reportProblem reports a problem of a workload once, and its end, so that the last Event is true. The problem is empty if there
// is none. It returns whether there is a new one.
func (r *restarter) reportProblem(w *workload.Workload, kind problemKind, reason, problem, over string) (isNew bool) {
	switch isNews := r.journal.noteProblem(w.Ref, kind, problem); {
	case !isNews:
		return false
	case problem == "":
		r.log.Info("a problem of a workload is over", "workload", w.Ref, "was", reason)
		r.events.Event(objectReference(w), corev1.EventTypeNormal, reason, over)
		return false
	}
	r.events.Event(objectReference(w), corev1.EventTypeWarning, reason, problem)
	return true
}

// reportIdle reports, once for as long as a workload wants no pods, that a config has changed and why nothing restarts. The
// message is the same for each edit, so that the next leader finds the Event of this one.
func (r *restarter) reportIdle(w *workload.Workload, decision *decide.Decision) {
	if !w.Idle {
		r.journal.noteProblem(w.Ref, idleProblem, "")
		return
	}
	if decision.Unserved && r.journal.noteProblem(w.Ref, idleProblem, nothingRuns) {
		r.events.Event(objectReference(w), corev1.EventTypeNormal, reasonNothingRuns, nothingRuns)
	}
}

// decide decides about a workload, with its configs and its pods if necessary. The template
// that a pod was made from takes another request to find out, and matters only if the pod
// requires a restart. Before acting on a difference from a record that another process made,
// decide reads the configs again.
func (r *restarter) decide(ctx context.Context, view catalog.View) (decide.Decision, error) {
	decision := decide.Decide(view)
	if decision.Outcome == decide.Keep {
		return decision, nil
	}
	if err := r.configs.confirm(ctx, &view); err != nil {
		return decide.Decision{}, err
	}
	if decision.Outcome == decide.AskConfigs {
		var err error
		if view.Originals, err = r.configs.originals(ctx, &view); err != nil {
			return decide.Decision{}, err
		}
		decision = decide.Decide(view)
	}
	if decision.Outcome != decide.AskPods {
		return decision, nil
	}
	pods, err := r.pods.list(ctx, view.Workload)
	if err != nil {
		return decide.Decision{}, err
	}
	decision = decide.DecideByPods(view, reducedPods(pods))
	if decision.Outcome != decide.Restart {
		return decision, nil
	}
	present, err := r.pods.ofPresentTemplate(ctx, view.Workload, pods)
	if err != nil {
		return decide.Decision{}, err
	}
	return decide.DecideByPods(view, reducedPods(present)), nil
}
