package controller

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/record"

	"kubernetes-deployment-restart-controller/apiclient"
	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/fairqueue"
	"kubernetes-deployment-restart-controller/quarantine"
)

const (
	// workers is how many patches are under way at once. In a trial more of them only
	// queued up at the API server.
	workers = 8
	// A workload that could not be patched is tried again after minBackoff, then
	// after twice that and so on, up to maxBackoff; see [fairqueue.Backoff].
	minBackoff = 20 * time.Millisecond
	maxBackoff = 30 * time.Second
	// passingFailures is how often a request may fail for a reason that can pass by
	// itself before an Event tells.
	passingFailures = 3
)

// The reasons of the Events on workloads.
const (
	reasonInternalError = "InternalError"
	reasonRestarting    = "Restarting"
	reasonBackoff       = "RestartBackoff"
	reasonInvalid       = "InvalidAnnotation"
	reasonTooMany       = "TooManyReferences"
	reasonWouldRestart  = "WouldRestart"
	reasonRestartFailed = "RestartFailed"
	reasonDisabled      = "RestartDisabled"
	reasonCopiesRemain  = "SecretDigestsRemain"
	reasonReverted      = "RestartReverted"
	reasonUndone        = "RecordUndone"
)

// restarter decides about the workloads that changes affect and carries the
// decisions out. It is the only writer of workloads.
type restarter struct {
	catalog   *catalog.Catalog
	changes   *ChangeQueue
	pods      podReader
	configs   configReader
	workloads workloadWriter
	copies    copyRemover
	events    record.EventRecorder
	metrics   *metrics
	ward      *quarantine.Ward
	log       *slog.Logger
	queue     *queue
	backlogs  *backlogs
	journal   *journal

	// knowsConfigs tells whether all configs of a namespace have been listed.
	knowsConfigs func(namespace string) bool

	grace         time.Duration // of workloads that have none of their own
	backoffLimit  time.Duration
	dryRun        bool
	exitOnError   bool
	ignoredErrors ErrorFilter
	exit          func(error)
}

// queue hands out workloads. Their lanes are the configs that changed; the zero ConfigRef is
// that of workloads that changed by themselves.
type queue = fairqueue.Queue[catalog.WorkloadRef, catalog.ConfigRef]

func newQueue() *queue {
	return fairqueue.New[catalog.WorkloadRef, catalog.ConfigRef](fairqueue.Options[catalog.WorkloadRef]{
		Namespace: func(ref catalog.WorkloadRef) string { return ref.Namespace },
		Workers:   workers,
		Backoff:   fairqueue.Backoff{First: minBackoff, Longest: maxBackoff},
	})
}

// gracePeriod is how long changes are held back for a workload.
func (r *restarter) gracePeriod(w *catalog.Workload) time.Duration {
	if w.GracePeriod != nil {
		return *w.GracePeriod
	}
	return r.grace
}

// ripe takes a ripe change: it queues the workload that it may concern, in the lane
// of the config that changed. A workload that changed by itself waits as long as a
// change of one of its configs does, which may not be the last one.
func (r *restarter) ripe(change Change) {
	if change.Last {
		r.metrics.changesProcessed.Inc()
	}
	lane, isConfig := change.Subject.(catalog.ConfigRef)
	if !isConfig && r.holdsConfigs(change.Workload) {
		return
	}
	r.log.Debug("change is ripe", "change", change.Subject, "count", change.Count, "workload", change.Workload)
	r.backlogs.note(change)
	r.queue.Add(change.Workload, lane)
}

// Forget forgets all about a workload, which is gone or not opted in any more.
func (r *restarter) Forget(workload catalog.WorkloadRef) {
	r.backlogs.settle(workload)
	r.journal.forget(workload)
}

func (r *restarter) holdsConfigs(workload catalog.WorkloadRef) bool {
	view, found := r.catalog.View(workload)
	return found && slices.ContainsFunc(view.Workload.Configs(), func(config catalog.ConfigRef) bool {
		return r.changes.Holds(workload, config)
	})
}

// work decides about a workload. If that panics, the workload is left alone until it or one
// of its configs changes.
func (r *restarter) work(ctx context.Context, workload catalog.WorkloadRef) {
	r.ward.Try(quarantine.Decision, nameOfWorkload(workload), func() { r.attempt(ctx, workload) })
}

// attempt decides about a workload, and queues it again if that fails.
func (r *restarter) attempt(ctx context.Context, workload catalog.WorkloadRef) {
	if err := r.handle(ctx, workload); err != nil && ctx.Err() == nil {
		r.failed(workload, err)
		r.queue.Retry(workload, failureOf(err))
	} else {
		r.queue.Forget(workload)
	}
}

// handle decides about a workload and carries the decision out.
func (r *restarter) handle(ctx context.Context, ref catalog.WorkloadRef) error {
	knowsConfigs, taken := r.knowsConfigs(ref.Namespace), time.Now() // the view that follows holds them
	view, found := r.look(ref)
	if !found {
		r.Forget(ref)
		return nil
	}
	if !knowsConfigs || view.Listing {
		return errConfigsUnknown
	}
	if view.LacksKey() {
		return errKeyUnknown
	}
	r.tellProblems(view.Workload)
	decision, err := r.decide(ctx, view)
	if err != nil {
		return err
	}
	r.metrics.decisions.WithLabelValues(string(decision.Outcome)).Inc()
	r.tellRevert(view.Workload, decision.Outcome)
	switch {
	case decision.Outcome == catalog.Keep:
		if decision.Verified {
			r.catalog.ObserveKept(view)
		}
		r.backlogs.settle(ref)
		r.journal.untell(ref)
	case r.dryRun:
		r.pretend(view.Workload, decision)
	case decision.Outcome == catalog.Restart:
		return r.restart(ctx, view, decision, taken)
	case decision.Outcome == catalog.RecordOnly && (r.awaitCopies(view.Workload) || r.putOffRecord(view.Workload)):
	default:
		return r.apply(ctx, view, decision, taken)
	}
	return nil
}

// spacing says how far apart the restarts of a workload are to be.
func (r *restarter) spacing(w *catalog.Workload) catalog.Spacing {
	return catalog.Spacing{Grace: r.gracePeriod(w), Limit: r.backoffLimit}
}

// restart restarts a workload, or puts that off if it has no budget left.
func (r *restarter) restart(ctx context.Context, view catalog.View, decision catalog.Decision, taken time.Time) error {
	w, now := view.Workload, time.Now()
	contradicted := r.noteContradiction(view, decision, now)
	wait := w.Record.Budget.Wait(r.spacing(w), now)
	if wait == 0 {
		return r.apply(ctx, view, decision, taken)
	}
	r.putOff(w, decision, now, wait)
	if wait > r.gracePeriod(w) {
		return r.mark(ctx, view, contradicted)
	}
	return nil
}

// putOff puts a restart off. What will be restarted then is decided anew.
func (r *restarter) putOff(w *catalog.Workload, decision catalog.Decision, now time.Time, wait time.Duration) {
	r.queue.AddAfter(w.Ref, wait)
	if r.backlogs.putOff(w.Ref, decision.Causes, now.Add(wait)) {
		r.metrics.slowdowns.Inc()
		causes, next := describeWithWriters(decision), now.Add(wait).UTC().Format(time.RFC3339)
		r.log.Warn("restart put off, the configs keep changing", "workload", w.Ref, "causes", causes, "restarts", w.Record.Budget.Restarts, "until", next)
		r.events.Eventf(objectReference(w), corev1.EventTypeWarning, reasonBackoff,
			"restart put off until %s after %d restarts in a row: %s", next, w.Record.Budget.Restarts, causes)
	}
}

// tellProblems reports once what its owner has to mend about a workload.
func (r *restarter) tellProblems(w *catalog.Workload) {
	if r.journal.tellProblem(w.Ref, reasonInvalid, w.Problem) {
		r.log.Warn("an annotation cannot be read, the default is used", "workload", w.Ref, "problem", w.Problem, "default", r.grace.String())
		r.events.Eventf(objectReference(w), corev1.EventTypeWarning, reasonInvalid, "%s; the default of %s is used", w.Problem, r.grace)
	}
	if problem := tooManyReferences(w); r.journal.tellProblem(w.Ref, reasonTooMany, problem) {
		r.log.Warn("a workload refers to configs too often, leaving it alone", "workload", w.Ref, "limit", catalog.MaxReferences)
		r.events.Event(objectReference(w), corev1.EventTypeWarning, reasonTooMany, problem)
	}
}

// decide decides about a workload, by its configs and its pods if need be. Only if a
// pod calls for a restart it matters which template it was made from, which takes
// another request to find out. Before anything is done about a difference from a record
// that another process made, the configs are read once more.
func (r *restarter) decide(ctx context.Context, view catalog.View) (catalog.Decision, error) {
	decision := catalog.Decide(view)
	if decision.Outcome == catalog.Keep {
		return decision, nil
	}
	if err := r.configs.confirm(ctx, &view); err != nil {
		return catalog.Decision{}, err
	}
	if decision.Outcome == catalog.AskConfigs {
		var err error
		if view.Originals, err = r.configs.originals(ctx, &view); err != nil {
			return catalog.Decision{}, err
		}
		decision = catalog.Decide(view)
	}
	if decision.Outcome != catalog.AskPods {
		return decision, nil
	}
	pods, err := r.pods.list(ctx, view.Workload)
	if err != nil {
		return catalog.Decision{}, err
	}
	decision = catalog.DecideByPods(view, reducedPods(pods))
	if decision.Outcome != catalog.Restart {
		return decision, nil
	}
	present, err := r.pods.ofPresentTemplate(ctx, view.Workload, pods)
	if err != nil {
		return catalog.Decision{}, err
	}
	return catalog.DecideByPods(view, reducedPods(present)), nil
}

// apply sends the one patch that carries out a decision.
func (r *restarter) apply(ctx context.Context, view catalog.View, decision catalog.Decision, taken time.Time) error {
	w, now := view.Workload, time.Now()
	budget := w.Record.Budget
	if decision.Outcome == catalog.Restart {
		r.backlogs.noteDue(w.Ref, now)
		budget = budget.Spend(r.spacing(w), now)
	}
	copied := mayBeCopiedMeanwhile(w, decision)
	remain := false
	if w.Record.Exposed {
		var err error
		if remain, err = r.removeCopies(ctx, w); err != nil {
			return err
		}
	}
	patch, err := newPatch(w, decision, catalog.Basis{
		Template: w.Template, Key: view.Key, Budget: budget, Written: taken, Copies: copied || remain,
		Timestamp: timestampAfter(w, decision.Outcome, now),
	})
	if err != nil {
		return err
	}
	written, err := r.workloads.patch(ctx, w.Ref, patch)
	switch {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return r.lookAgain(ctx, w, err)
	case apiclient.IsIneffective(err):
		r.observeRead(written)
		return fmt.Errorf("patch %s: %w", w.Ref, err)
	case err != nil:
		if isUncertain(err) {
			r.journal.noteAttempt(w.Ref, attempt{w.ResourceVersion, taken, view.Moment, decision})
		}
		return fmt.Errorf("patch %s: %w", w.Ref, err)
	}
	if written.workload != nil && written.workload.enabled != nil &&
		r.catalog.ObserveWritten(*written.workload.enabled, view.Moment) {
		r.changes.Observe(w.Ref, w.Ref, now, r.gracePeriod(w))
	}
	r.applied(w, decision)
	if copied {
		r.queue.AddAfter(w.Ref, copiesDelay)
	}
	return nil
}

// lookAgain reads a workload whose patch was refused because it has changed or is gone, as
// it seems, and returns the refusal so that the workload is decided about anew. If it is as
// it was, an admission webhook has refused the patch with a code that is not its own.
func (r *restarter) lookAgain(ctx context.Context, w *catalog.Workload, refusal error) error {
	found, err := r.workloads.get(ctx, w.Ref)
	switch {
	case apierrors.IsNotFound(err):
		r.log.Debug("workload is gone", "workload", w.Ref)
		r.Forget(w.Ref)
		return nil
	case err != nil:
		return fmt.Errorf("get %s: %w", w.Ref, err)
	}
	r.observeRead(found)
	if found.resourceVersion == w.ResourceVersion {
		return fmt.Errorf("patch %s: %w: %w", w.Ref, errDenied, refusal)
	}
	return fmt.Errorf("patch %s: %w: %w", w.Ref, errOutdated, refusal)
}

// observeRead takes in a workload as it is now.
func (r *restarter) observeRead(found *observation) {
	if found.workload != nil && found.workload.enabled != nil {
		r.catalog.ObserveRead(*found.workload.enabled)
	}
}

// applied tells of a patch that the API server accepted.
func (r *restarter) applied(w *catalog.Workload, decision catalog.Decision) {
	r.metrics.annotationUpdates.Inc()
	waited := r.backlogs.settle(w.Ref)
	if waited.count > 0 {
		r.metrics.changeToPatch.Observe(time.Since(waited.since).Seconds())
		r.metrics.dueToPatch.Observe(max(0, time.Since(waited.owed)).Seconds())
	}
	if decision.Outcome == catalog.RecordOnly {
		r.noteRewritten(w)
		r.log.Info("recorded", "workload", w.Ref, "configs", len(decision.Checksums), "reason", decision.Reason)
		return
	}
	r.metrics.restarts.Inc()
	r.metrics.restartsByKind.WithLabelValues(string(w.Ref.Kind)).Inc()
	causes := describe(decision) + describeHold(w)
	r.log.Info("restarted", "workload", w.Ref, "causes", causes, "reason", decision.Reason, "changes", waited.count)
	r.events.Event(objectReference(w), corev1.EventTypeNormal, reasonRestarting, "restarting: "+causes)
}

// pretend tells what a dry run would do, once: what is not written is still to
// be done when the next change of the workload comes.
func (r *restarter) pretend(w *catalog.Workload, decision catalog.Decision) {
	r.backlogs.settle(w.Ref)
	if !r.journal.tellFirst(w.Ref, decision.Checksums) {
		return
	}
	if decision.Outcome == catalog.RecordOnly {
		r.log.Info("would record", "workload", w.Ref, "configs", len(decision.Checksums), "reason", decision.Reason)
		return
	}
	r.metrics.dryRunRestarts.WithLabelValues(string(w.Ref.Kind)).Inc()
	causes := describe(decision) + describeHold(w)
	r.log.Info("would restart", "workload", w.Ref, "causes", causes, "reason", decision.Reason)
	r.events.Event(objectReference(w), corev1.EventTypeNormal, reasonWouldRestart, "would restart: "+causes)
}
