package controller

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/catalog/policy"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/internal/apiclient"
)

// spacing returns how far apart the restarts of a workload must be.
func (r *restarter) spacing(w *workload.Workload) policy.Spacing {
	return policy.Spacing{Grace: r.gracePeriod(w), Limit: r.backoffLimit}
}

// restart restarts a workload when the gate lets it.
func (r *restarter) restart(ctx context.Context, view catalog.View, decision decide.Decision, taken time.Time) error {
	w, err := r.pods.measured(ctx, view.Workload) // whether all its pods run decides what a failure says
	if err != nil && !isPermanent(err) {
		return err
	}
	if w, err = r.deliveries.counted(ctx, w); err != nil {
		return err
	}
	view.Workload = w
	edited, knowsAll := decide.EditedAt(&view, &decision) // without what the last restart was for, too
	var unseen time.Time
	if !w.Applied.Marked { // otherwise people may have held it all the time
		unseen = decide.EditedBefore(&view, &decision)
	}
	r.deliveries.includeLeft(w, &decision)
	now := time.Now()
	contradicted := r.noteContradiction(view, decision, now)
	r.backlogs.date(w.Ref, edited, unseen, knowsAll, r.gracePeriod(w))
	if r.backlogs.isAsking(w.Ref) && r.holdsConfigs(w.Ref) {
		r.gate.failed(w.Ref, true, false, false, now) // the next edit waits for its grace period, and brings it back
		return nil
	}
	request := r.requestFor(&view, &decision, now)
	if err := r.gate.knowsEnough(request); err != nil {
		return err
	}
	answer := r.gate.ask(request, now)
	r.reportResumed(w, answer)
	if answer.MayBegin() {
		request.Causes = slices.DeleteFunc(request.Causes, func(c gate.Cause) bool { return len(c.Moments) == 0 }) // there may be very many
		return r.apply(ctx, view, decision, taken, request)
	}
	var isMarked bool
	var unmarked error
	if lasts := r.putOff(w, decision, answer, now); lasts {
		isMarked, unmarked = r.mark(ctx, view, contradicted)
	}
	if unmarked == nil && r.backlogs.noteNoMarkFails(w.Ref, isMarked) {
		r.events.Event(objectReference(w), corev1.EventTypeNormal, reasonResumed, "the controller may write to this workload again; its restart waits for its "+waitName(answer.Reason))
	}
	return onlyRecord(errNotMarked, unmarked)
}

// requestFor describes a restart that is due to the gate.
func (r *restarter) requestFor(view *catalog.View, decision *decide.Decision, now time.Time) *gate.Request {
	w := view.Workload
	wait := w.Applied.Budget.Wait(r.spacing(w), now)
	request := r.gate.request(w, decision, wait, r.deliveries.standingOf(w, decision), now)
	request.Missing = r.gate.missing(view)
	return request
}

// apply sends the one patch that carries out a decision. The gate has admitted the request, which is nil if
// the decision is no restart.
func (r *restarter) apply(ctx context.Context, view catalog.View, decision decide.Decision, taken time.Time, admitted *gate.Request) error {
	w, now := view.Workload, time.Now()
	budget := w.Applied.Budget
	if decision.Outcome == decide.Restart {
		r.backlogs.noteDue(w.Ref, w.Applied.Marked, now)
		budget = budget.Spend(r.spacing(w), now)
	}
	timestamp := timestampAfter(w, decision.Outcome, now)
	if admitted != nil {
		admitted.ID = now.UTC().Format(time.RFC3339Nano)
	}
	patch, err := newPatch(w, decision, record.Basis{
		Template: w.Template, Key: view.Key, Budget: budget, Written: taken,
		Timestamp: timestamp, WasWhole: r.deliveries.wasWholeAfter(w, &decision),
		RestartedFor: restartedForAfter(w, &decision), Without: decision.Without, Evict: decide.EvictAfter(w, decision.Outcome),
	})
	if err != nil {
		return err
	}
	written, err := r.workloads.patch(ctx, w.Ref, patch)
	if err != nil {
		if isUncertain(err) {
			r.journal.noteAttempt(w.Ref, attempt{w.ResourceVersion, taken, view.Sequence, decision, admitted})
		}
		return r.patchFailed(ctx, w, written, err)
	}
	if enabled := r.optIns.read(written); enabled != nil && r.catalog.ObserveWritten(*enabled, view.Sequence) {
		r.changes.Observe(w.Ref, w.Ref, now, r.gracePeriod(w))
	}
	r.applied(w, decision, admitted)
	return nil
}

// restartedForAfter returns what the last restart of a workload was for after a decision is carried
// out. What is recorded of another pod template is about a rollout that this one has replaced.
func restartedForAfter(w *workload.Workload, decision *decide.Decision) []record.Restarted {
	switch {
	case decision.Outcome == decide.Restart:
		return decision.RestartedFor()
	case w.Applied.Trusted:
		return w.Applied.RestartedFor
	}
	return nil
}

// patchFailed takes in what the failure of a patch shows of a workload, and returns the error with
// which the controller decides again; nil if the workload is gone.
func (r *restarter) patchFailed(ctx context.Context, w *workload.Workload, answer *observation, err error) error {
	switch {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return r.lookAgain(ctx, w, err)
	case apiclient.IsIneffective(err):
		r.observeRead(answer)
	}
	return fmt.Errorf("patch %s: %w", w.Ref, err)
}

// lookAgain reads a workload whose patch was refused, apparently because the workload has
// changed or is gone. It returns the refusal so that the controller decides again. If the
// workload has not changed, an admission webhook has refused the patch with a misleading
// status code.
func (r *restarter) lookAgain(ctx context.Context, w *workload.Workload, refusal error) error {
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
	if !r.journal.hasAttempted(r.catalog.Workload(w.Ref)) {
		r.deliveries.resumeLate(w.Ref, lastMade(w), time.Now())
	}
	return fmt.Errorf("patch %s: %w: %w", w.Ref, errOutdated, refusal)
}

// observeRead takes in the present state of a workload.
func (r *restarter) observeRead(found *observation) {
	if enabled := r.optIns.read(found); enabled != nil {
		r.catalog.ObserveRead(*enabled)
	}
}

// applied reports a patch that the API server accepted.
func (r *restarter) applied(w *workload.Workload, decision decide.Decision, admitted *gate.Request) {
	r.metrics.annotationUpdates.Inc()
	waited := r.backlogs.settle(w.Ref)
	if waited.count > 0 {
		r.metrics.changeToPatch.Observe(time.Since(waited.since).Seconds())
	}
	if waited.count > 0 && !waited.owed.IsZero() { // what people held was not late
		r.metrics.dueToPatch.Observe(max(0, time.Since(waited.owed)).Seconds())
	}
	if decision.Outcome == decide.RecordOnly {
		r.reportRecorded(w, waited)
		r.noteRewritten(w)
		r.log.Info("recorded", "workload", w.Ref, "configs", len(decision.Checksums), "reason", decision.Reason)
		return
	}
	r.metrics.restarts.Inc()
	r.metrics.restartsByKind.WithLabelValues(string(w.Ref.Kind)).Inc()
	causes := describe(decision) + describeHold(w) + describeMethod(w)
	r.log.Info("restarted", "workload", w.Ref, "causes", causes, "reason", decision.Reason, "changes", waited.count)
	r.events.Event(objectReference(w), corev1.EventTypeNormal, reasonRestarting, "restarting: "+causes)
	now := time.Now()
	r.gate.begun(admitted, now)
	r.evictions.observe(w.Ref)
	r.deliveries.begin(w, decision, admitted.ID, now)
}

// pretend reports once what a dry run would do. Since nothing is written, the same is still
// to do when the workload changes next.
func (r *restarter) pretend(w *workload.Workload, decision decide.Decision) {
	r.backlogs.settle(w.Ref)
	if !r.journal.noteDryRun(w.Ref, decision.Delivers()) {
		return
	}
	if decision.Outcome == decide.RecordOnly {
		r.log.Info("would record", "workload", w.Ref, "configs", len(decision.Checksums), "reason", decision.Reason)
		return
	}
	r.metrics.dryRunRestarts.WithLabelValues(string(w.Ref.Kind)).Inc()
	causes := describe(decision) + describeHold(w) + describeMethod(w)
	r.log.Info("would restart", "workload", w.Ref, "causes", causes, "reason", decision.Reason)
	r.events.Event(objectReference(w), corev1.EventTypeNormal, reasonWouldRestart, "would restart: "+causes)
}
