package restart

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/policy"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/events"
	"kubernetes-deployment-restart-controller/controller/failures"
	"kubernetes-deployment-restart-controller/controller/follow"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/controller/kinds"
	"kubernetes-deployment-restart-controller/controller/tracker"
	"kubernetes-deployment-restart-controller/controller/wording"
	"kubernetes-deployment-restart-controller/internal/apiclient"
)

// spacing returns how far apart the restarts of a workload must be.
func (r *Restarter) spacing(w *workload.Workload) policy.Spacing {
	return policy.Spacing{Grace: r.GracePeriod(w), Limit: r.BackoffLimit}
}

// restart restarts a workload when the gate lets it.
func (r *Restarter) restart(ctx context.Context, view catalog.View, decision decide.Decision, taken time.Time) error {
	w, err := r.Pods.Measured(ctx, view.Workload) // whether all its pods run decides what a failure says
	if err != nil && !failures.IsPermanent(err) {
		return err
	}
	if w, err = r.Deliveries.Counted(ctx, w); err != nil {
		return err
	}
	view.Workload = w
	edited, knowsAll := decide.EditedAt(&view, &decision) // without what the last restart was for, too
	var unseen time.Time
	if !w.Record.Marked { // otherwise people may have held it all the time
		unseen = decide.EditedBefore(&view, &decision)
	}
	r.Deliveries.IncludeLeft(w, &decision)
	now := time.Now()
	contradicted := r.noteContradiction(view, decision, now)
	r.Backlogs.Date(w.Ref, edited, unseen, knowsAll, r.GracePeriod(w))
	if r.Backlogs.Of(w.Ref).IsAsking() && r.holdsConfigs(w.Ref) {
		r.Gate.Failed(w.Ref, true, false, false, now) // the next edit waits for its grace period, and brings it back
		return nil
	}
	request := r.RequestFor(&view, &decision, now)
	if err := r.Gate.KnowsEnough(request); err != nil {
		return err
	}
	answer := r.Gate.Ask(request, now)
	r.reportResumed(w, answer)
	if answer.MayBegin() {
		request.Causes = slices.DeleteFunc(request.Causes, func(c gate.Cause) bool { return len(c.Moments) == 0 }) // there may be very many
		return r.apply(ctx, view, decision, taken, request)
	}
	var isMarked bool
	var unmarked error
	if lasts := r.putOff(w, decision, answer, now); lasts {
		isMarked, unmarked = r.mark(ctx, view, contradicted, decision.Unseen)
	}
	if unmarked == nil && r.Backlogs.NoteNoMarkFails(w.Ref, isMarked) {
		r.Events.Event(kinds.ObjectReference(w), corev1.EventTypeNormal, events.Resumed, "the controller may write to this workload again; its restart waits for its "+wording.WaitName(answer.Reason))
	}
	return failures.OnlyRecord(failures.ErrNotMarked, unmarked)
}

// RequestFor describes a restart that is due to the gate.
func (r *Restarter) RequestFor(view *catalog.View, decision *decide.Decision, now time.Time) *gate.Request {
	w := view.Workload
	wait := w.Record.Budget.Wait(r.spacing(w), now)
	request := r.Gate.Request(w, decision, wait, r.Deliveries.StandingOf(w, decision), now)
	request.Missing = r.Gate.Missing(view)
	request.YieldsUntil = r.Backlogs.Of(w.Ref).YieldsUntil(now)
	return request
}

// apply sends the one patch that carries out a decision. The gate has admitted the request, which is nil if
// the decision is no restart.
func (r *Restarter) apply(ctx context.Context, view catalog.View, decision decide.Decision, taken time.Time, admitted *gate.Request) error {
	w, now := view.Workload, time.Now()
	budget := w.Record.Budget
	if decision.Outcome == decide.Restart {
		r.Backlogs.NoteDue(w.Ref, w.Record.Marked, now)
		budget = budget.Spend(r.spacing(w), now)
	}
	made := tracker.Made{At: now, Timestamp: timestampAfter(w, decision.Outcome, now), Ran: r.Deliveries.RanAfter(w, &decision)}
	if admitted != nil {
		admitted.ID = now.UTC().Format(time.RFC3339Nano)
	}
	patch, err := newPatch(w, decision, record.Basis{
		Template: w.Template, Key: view.Key, Budget: budget, Written: taken,
		Timestamp: made.Timestamp, OptedIn: w.OptedIn, Ran: made.Ran,
		RestartedFor: r.restartedForAfter(w, &decision), Without: decision.Without, Evict: decide.EvictAfter(w, decision.Outcome),
	})
	if err != nil {
		return err
	}
	written, err := r.Workloads.patch(ctx, w.Ref, patch)
	if err != nil {
		if isUncertain(err) {
			r.Table.NoteAttempt(w.Ref, tracker.Attempt{Version: w.ResourceVersion, Written: taken, Decided: view.Sequence, Decision: decision, Made: made, Admitted: admitted})
			if r.TakeIn(w.Ref) || r.shows(w.Ref, taken) { // the watch was faster
				return nil
			}
		}
		return r.patchFailed(ctx, w, written, err)
	}
	if enabled := r.OptIns.Read(written); enabled != nil && r.Catalog.ObserveWritten(*enabled, view.Sequence) {
		r.Changes.Observe(w.Ref, w.Ref, now, r.GracePeriod(w))
	}
	r.Applied(w, decision, admitted, made)
	return nil
}

// shows reports whether the catalog knows the record of a workload that was made at the given time.
func (r *Restarter) shows(ref names.WorkloadRef, written time.Time) bool {
	w := r.Catalog.Workload(ref)
	return w != nil && w.Record.Written.Equal(written)
}

// restartedForAfter returns what the last restart of a workload was for after a decision is carried
// out, with what earlier ones brought that has not been proven. What is recorded of another pod template is about a rollout
// that this one has replaced.
func (r *Restarter) restartedForAfter(w *workload.Workload, decision *decide.Decision) []record.Restarted {
	switch {
	case decision.Outcome == decide.Restart && w.Method() == policy.ByTemplate: // of an eviction, it says what the pods lack that are left
		with, unproven := *decision, decide.Decision{Causes: r.Deliveries.UnprovenAfter(w.Ref, decision)}
		if with.Include(&unproven); len(with.Causes) == 0 { // others have undone what brought it
			with = unproven
		}
		return with.RestartedFor()
	case decision.Outcome == decide.Restart:
		return decision.RestartedFor()
	case w.Record.Trusted:
		return w.Record.RestartedFor
	}
	return nil
}

// patchFailed takes in what the failure of a patch shows of a workload, and returns the error with
// which the controller decides again; nil if the workload is gone.
func (r *Restarter) patchFailed(ctx context.Context, w *workload.Workload, answer *kinds.Observation, err error) error {
	switch {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return r.lookAgain(ctx, w, err)
	case apiclient.IsIneffective(err):
		r.ObserveRead(answer)
	}
	return fmt.Errorf("patch %s: %w", w.Ref, err)
}

// lookAgain reads a workload whose patch was refused, apparently because the workload has
// changed or is gone. It returns the refusal so that the controller decides again. If the
// workload has not changed, an admission webhook has refused the patch with a misleading
// status code.
func (r *Restarter) lookAgain(ctx context.Context, w *workload.Workload, refusal error) error {
	found, err := r.Workloads.get(ctx, w.Ref)
	switch {
	case apierrors.IsNotFound(err):
		r.Log.Debug("workload is gone", "workload", w.Ref)
		r.Forget(w.Ref)
		return nil
	case err != nil:
		return fmt.Errorf("get %s: %w", w.Ref, err)
	}
	r.ObserveRead(found)
	if found.ResourceVersion == w.ResourceVersion {
		return fmt.Errorf("patch %s: %w: %w", w.Ref, failures.ErrDenied, refusal)
	}
	if present := r.Catalog.Workload(w.Ref); present != nil && !r.Table.HasAttempted(present) {
		r.Deliveries.ResumeLate(w.Ref, follow.LastMade(w), time.Now())
	}
	return fmt.Errorf("patch %s: %w: %w", w.Ref, failures.ErrOutdated, refusal)
}

// ObserveRead takes in the present state of a workload.
func (r *Restarter) ObserveRead(found *kinds.Observation) {
	if enabled := r.OptIns.Read(found); enabled != nil {
		r.Catalog.ObserveRead(*enabled)
	}
}

// Applied reports a patch that the API server accepted.
func (r *Restarter) Applied(w *workload.Workload, decision decide.Decision, admitted *gate.Request, made tracker.Made) {
	r.Metrics.AnnotationUpdates.Inc()
	waited := r.Backlogs.Settle(w.Ref)
	if waited.Count > 0 {
		r.Metrics.ChangeToPatch.Observe(time.Since(waited.Since).Seconds())
	}
	if waited.Count > 0 && !waited.Owed.IsZero() { // what people held was not late
		r.Metrics.DueToPatch.Observe(max(0, time.Since(waited.Owed)).Seconds())
	}
	if decision.Outcome == decide.RecordOnly {
		r.reportRecorded(w, waited)
		r.noteRewritten(w)
		r.Log.Info("recorded", "workload", w.Ref, "configs", len(decision.Checksums), "reason", decision.Reason)
		return
	}
	r.Metrics.Restarts.Inc()
	r.Metrics.RestartsByKind.WithLabelValues(string(w.Ref.Kind)).Inc()
	causes := wording.Causes(decision) + wording.Hold(w) + wording.Method(w)
	r.Log.Info("restarted", "workload", w.Ref, "causes", causes, "reason", decision.Reason, "changes", waited.Count)
	r.Events.Event(kinds.ObjectReference(w), corev1.EventTypeNormal, events.Restarting, "restarting: "+causes)
	now := time.Now()
	r.Gate.Begun(admitted, now)
	r.Evictions.Observe(w.Ref)
	r.Deliveries.Begin(w, decision, admitted.ID, made)
}

// pretend reports once what a dry run would do. Since nothing is written, the same is still
// to do when the workload changes next.
func (r *Restarter) pretend(w *workload.Workload, decision decide.Decision) {
	r.Backlogs.Settle(w.Ref)
	if !r.Table.NoteDryRun(w.Ref, decision.Delivers()) {
		return
	}
	if decision.Outcome == decide.RecordOnly {
		r.Log.Info("would record", "workload", w.Ref, "configs", len(decision.Checksums), "reason", decision.Reason)
		return
	}
	r.Metrics.DryRunRestarts.WithLabelValues(string(w.Ref.Kind)).Inc()
	causes := wording.Causes(decision) + wording.Hold(w) + wording.Method(w)
	r.Log.Info("would restart", "workload", w.Ref, "causes", causes, "reason", decision.Reason)
	r.Events.Event(kinds.ObjectReference(w), corev1.EventTypeNormal, events.WouldRestart, "would restart: "+causes)
}

// readmit reads a workload again that was left alone because its namespace had too many references, once it fits. If it
// is gone, the watch is about to show that.
func (r *Restarter) readmit(ctx context.Context, ref names.WorkloadRef) error {
	if w := r.Catalog.Workload(ref); w == nil || w.Excess != workload.NamespaceFull || r.OptIns.Leaves(ref) {
		return nil
	}
	found, err := r.Workloads.get(ctx, ref)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("get %s: %w", ref, err)
	}
	r.ObserveRead(found)
	return nil
}
