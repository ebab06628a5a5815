package restart

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/tools/record"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/failures"
	"kubernetes-deployment-restart-controller/controller/follow"
	"kubernetes-deployment-restart-controller/controller/gatekeeper"
	"kubernetes-deployment-restart-controller/controller/kinds"
	"kubernetes-deployment-restart-controller/controller/metrics"
	"kubernetes-deployment-restart-controller/controller/optedin"
	"kubernetes-deployment-restart-controller/controller/pending"
	"kubernetes-deployment-restart-controller/controller/run"
	"kubernetes-deployment-restart-controller/controller/store"
	"kubernetes-deployment-restart-controller/controller/tracker"
	"kubernetes-deployment-restart-controller/internal/apiclient"
	"kubernetes-deployment-restart-controller/internal/fairqueue"
	"kubernetes-deployment-restart-controller/internal/notes"
	"kubernetes-deployment-restart-controller/internal/quarantine"
)

// workers is how many patches are under way at once. In a trial, more workers only made
// requests queue up at the API server.
const workers = 8

// Parts are what a restarter works with, and how.
type Parts struct {
	Catalog    *catalog.Catalog
	OptIns     *optedin.OptIns
	Changes    *pending.ChangeQueue
	Pods       kinds.PodReader
	Workloads  WorkloadWriter
	Events     record.EventRecorder
	Metrics    *metrics.Metrics
	Quarantine *quarantine.Set
	Log        *slog.Logger
	Queue      *Queue
	Table      *tracker.Table
	Deliveries *follow.Deliveries
	Gate       *gatekeeper.Gatekeeper
	Evictions  *follow.Evictions
	KeyObject  *store.OwnObject // that holds the key of Secrets' checksums

	// KnowsConfigs reports whether all configs of a namespace have been listed.
	KnowsConfigs func(namespace string) bool
	// Watches reports whether the configs of a namespace are watched.
	Watches func(namespace string) bool

	Grace         time.Duration // of workloads without one of their own
	BackoffLimit  time.Duration
	DryRun        bool
	ExitOnError   bool
	IgnoredErrors []string
	Refused       run.Signal
}

// Restarter decides about the workloads that changes affect and carries out the decisions. It
// is the only component that writes to workloads, apart from what the evictor asks of their own controllers.
type Restarter struct {
	Parts
	Backlogs *tracker.Backlogs
	configs  configReader
	Failure  chan error // has an element when a failure must end the process
}

// NewRestarter returns a restarter that reads configs with the given client.
func NewRestarter(of Parts, core apiclient.Core) *Restarter {
	return &Restarter{Parts: of, Backlogs: tracker.NewBacklogs(of.Table), configs: configReader{core: core}, Failure: make(chan error, 1)}
}

// Queue hands out workloads. The flows are the configs that changed; the zero ConfigRef is the
// flow of workloads that changed by themselves.
type Queue = fairqueue.Queue[names.WorkloadRef, names.ConfigRef]

// NewQueue returns the queue of the workloads to decide about, which is empty.
func NewQueue() *Queue { return run.NewQueue[names.ConfigRef](workers, run.MinBackoff) }

// GracePeriod returns how long changes are held back for a workload.
func (r *Restarter) GracePeriod(w *workload.Workload) time.Duration {
	return w.GracePeriod.Or(r.Grace)
}

// Enqueue takes a due change: it queues the workload that the change may concern, in the flow
// of the config that changed. A change of the workload itself waits as long as a change of one
// of its configs does, because more changes may follow.
func (r *Restarter) Enqueue(change pending.ObservedChange) {
	if change.Last {
		r.Metrics.ChangesProcessed.Inc()
	}
	flow, isConfig := change.Subject.(names.ConfigRef)
	if !isConfig && r.holdsConfigs(change.Workload) {
		return
	}
	r.Log.Debug("change is due", "change", change.Subject, "count", change.Count, "workload", change.Workload)
	r.Backlogs.Note(change)
	r.Queue.Add(change.Workload, flow)
}

// Take is Enqueue for an object that may cause a panic. Then no other restart waits for it.
func (r *Restarter) Take(change pending.ObservedChange) {
	if !r.Quarantine.Try(quarantine.Queue, kinds.NameOfWorkload(change.Workload), func() { r.Enqueue(change) }) {
		r.Gate.Settle(change.Workload)
	}
}

// Forget forgets everything about a workload that is gone or no longer opted in.
func (r *Restarter) Forget(workload names.WorkloadRef) {
	ForgetWork(workload, r.Table, r.Gate)
}

// ForgetWork forgets what waits for a workload, what was reported of it, and its place at the gate.
func ForgetWork(workload names.WorkloadRef, t *tracker.Table, g *gatekeeper.Gatekeeper) {
	t.Update(workload, (*tracker.Row).ForgetWork)
	g.Forget(workload)
}

// AskAgain decides again about a workload whose restart the gate did not let begin.
func (r *Restarter) AskAgain(ref names.WorkloadRef) {
	if r.Backlogs.Of(ref).IsDeliberate() {
		r.Queue.Add(ref, names.ConfigRef{})
	}
}

// AskAgainAll does so for all workloads of a namespace, or of all namespaces, and for those that wait for what was not known.
func (r *Restarter) AskAgainAll(namespace string) {
	for _, ref := range r.Backlogs.Those(func(w *tracker.Backlog) bool { return w.IsDeliberate() || w.Failure.Unknown != "" }) {
		if notes.IsInside(namespace, ref.Namespace) {
			r.Queue.Add(ref, names.ConfigRef{})
		}
	}
}

func (r *Restarter) holdsConfigs(workload names.WorkloadRef) bool {
	w := r.Catalog.Workload(workload)
	return w != nil && slices.ContainsFunc(w.Configs(), func(config names.ConfigRef) bool {
		return r.Changes.Holds(workload, config)
	})
}

// Run works on the queue until the context ends, or until a failure ends it (see
// [controller.Options.ExitOnError]), which it returns. It calls worked after each workload.
func (r *Restarter) Run(ctx context.Context, worked func(names.WorkloadRef)) error {
	ctx, stop := context.WithCancel(ctx)
	var group sync.WaitGroup
	defer group.Wait()
	defer stop()
	group.Go(func() {
		r.Queue.Run(ctx, func(ctx context.Context, workload names.WorkloadRef) {
			r.Work(ctx, workload)
			worked(workload)
		})
	})
	select {
	case <-ctx.Done():
		return nil
	case err := <-r.Failure:
		return fmt.Errorf("permanent failure: %w", err)
	}
}

// fail ends [Restarter.Run].
func (r *Restarter) fail(err error) {
	select {
	case r.Failure <- err:
	default: // another failure came first
	}
}

// Work decides about a workload. If that panics, the workload is left alone until it or one
// of its configs changes.
func (r *Restarter) Work(ctx context.Context, workload names.WorkloadRef) {
	if !r.Quarantine.Try(quarantine.Decision, kinds.NameOfWorkload(workload), func() { r.attempt(ctx, workload) }) {
		r.Gate.Settle(workload) // so that no other restart waits for it
	}
}

// attempt decides about a workload, and queues it again if that fails.
func (r *Restarter) attempt(ctx context.Context, workload names.WorkloadRef) {
	if err := r.Handle(ctx, workload); err != nil && ctx.Err() == nil {
		r.Failed(workload, err)
		if !errors.Is(err, failures.ErrNotMarked) { // otherwise what the gate has answered stands
			r.Gate.Failed(workload, !r.isIgnored(err), isUncertain(err), failures.IsPermanent(err) && !r.Backlogs.Of(workload).IsDeliberate(), time.Now())
			if len(r.Table.Of(workload).Attempts) == 0 { // nothing is left whose outcome is not known
				r.Gate.NotCarriedOut(workload)
			}
		}
		r.Backlogs.NoteRetry(workload, r.Queue.Retry(workload, failures.Of(err)))
	} else if !r.Backlogs.Of(workload).HasFailed() { // one that only waits for its turn is refused again
		r.Queue.Forget(workload)
	}
}

// Handle decides about a workload and carries the decision out.
func (r *Restarter) Handle(ctx context.Context, ref names.WorkloadRef) error {
	knowsConfigs, taken := r.KnowsConfigsOf(ref), time.Now() // the following view includes those configs
	if err := r.readmit(ctx, ref); err != nil {
		return err
	}
	view, found := r.look(ref)
	if !found {
		r.Forget(ref)
		return nil
	}
	if !knowsConfigs || view.Listing {
		return failures.ErrConfigsUnknown
	}
	if view.LacksKey() {
		return r.KeyObject.Waits(failures.ErrKeyUnknown)
	}
	r.reportProblems(view.Workload)
	decision, err := r.decide(ctx, view)
	if err != nil {
		return err
	}
	r.Metrics.Decisions.WithLabelValues(string(decision.Outcome)).Inc()
	r.reportRevert(view.Workload, decision.Outcome)
	r.reportIdle(view.Workload, &decision)
	if decision.Outcome != decide.Restart {
		r.Gate.Settle(ref) // now, because the write of a record may take long
	}
	defer func() {
		if decision.Outcome != decide.Restart {
			r.Gate.Settle(ref) // again: it may have been expected meanwhile, as long as it seemed to wait
		}
	}()
	switch {
	case decision.Outcome == decide.Keep:
		return r.keep(ctx, view, decision)
	case r.DryRun:
		r.pretend(view.Workload, decision)
	case decision.Outcome == decide.Restart:
		return r.restart(ctx, view, decision, taken)
	case decision.Outcome == decide.RecordOnly && r.putOffRecord(view.Workload):
	default:
		return failures.OnlyRecord(failures.ErrOnlyRecord, r.apply(ctx, view, decision, taken, nil))
	}
	return nil
}

// keep leaves a workload and its record as they are. If the record stays although the content
// differs from it, a mark says so: otherwise the next leader would not know of a content that the
// pods have read and that is gone.
func (r *Restarter) keep(ctx context.Context, view catalog.View, decision decide.Decision) error {
	if decision.Verified {
		r.Catalog.ObserveKept(view)
	}
	if decision.Contradicts && !decision.Verified && !r.DryRun {
		if _, err := r.mark(ctx, view, r.noteContradiction(view, decision, time.Now()), decision.Unseen); err != nil {
			return failures.OnlyRecord(failures.ErrOnlyRecord, err)
		}
	}
	r.reportNotDue(view.Workload, r.Backlogs.Settle(view.Workload.Ref))
	r.Table.ForgetDryRun(view.Workload.Ref)
	return nil
}

// decide decides about a workload, with its configs and its pods if necessary. The template
// that a pod was made from takes another request to find out, and matters only if the pod
// requires a restart. Before acting on a difference from a record that another process made,
// decide reads the configs again.
func (r *Restarter) decide(ctx context.Context, view catalog.View) (decide.Decision, error) {
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
	pods, err := r.Pods.List(ctx, view.Workload)
	if err != nil {
		return decide.Decision{}, err
	}
	decision = decide.ByPods(view, kinds.ReducedPods(pods))
	if decision.Outcome != decide.Restart {
		return decision, nil
	}
	present, err := r.Pods.OfPresentTemplate(ctx, view.Workload, pods)
	if err != nil {
		return decide.Decision{}, err
	}
	return decide.ByPods(view, kinds.ReducedPods(present)), nil
}
