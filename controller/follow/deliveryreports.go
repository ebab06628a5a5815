package follow

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/delivery"
	"kubernetes-deployment-restart-controller/controller/events"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/controller/gatekeeper"
	"kubernetes-deployment-restart-controller/controller/kinds"
	"kubernetes-deployment-restart-controller/controller/tracker"
	"kubernetes-deployment-restart-controller/controller/wording"
	"kubernetes-deployment-restart-controller/internal/status"
)

// What became of a restart is reported, and the gate is told.

// report reports what became of a restart, and tells the gate. A restart that failed is followed
// further, because its pods may run after all.
func (d *Deliveries) report(w *workload.Workload, restart *tracker.RollingRestart, judgement delivery.Judgement) {
	took := time.Since(restart.Began).Round(time.Second)
	if judgement.Verdict == delivery.Failed {
		d.fail(w, restart, judgement, took)
		return
	}
	if judgement.Verdict == delivery.Delivered {
		d.judged(w.Ref)
		d.Gate.Delivered(w.Ref, restart.ID)
	} else {
		d.Ended(w.Ref, restart)
	}
	if judgement.Verdict != delivery.Delivered && len(restart.BrokenBy) > 0 {
		d.followOn(w.Ref, restart, decide.Decision{Outcome: decide.Restart, Causes: restart.BrokenBy}, restart.BrokenRan, restart.Failed)
	}
	d.Finish(w.Ref, restart)
	if judgement.Verdict != delivery.Delivered {
		d.History.End(w.Ref, restart.ID, status.Unknown, judgement.Reason, time.Now())
		d.Log.Info("restart is not followed any further", "workload", w.Ref, "after", took.String(), "reason", judgement.Reason)
		return
	}
	if d.Gate.Recovered(w, restart.Recorded) {
		d.Halted.Note()
	}
	switch text := fmt.Sprintf("%s after it restarted: %s", took, wording.Causes(restart.Decision)); {
	case d.mend(w.Ref):
		d.Events.Event(kinds.ObjectReference(w), corev1.EventTypeNormal, events.Recovered, "runs again, "+text+". A restart before had failed")
	case restart.MayMend: // the last word may be the Warning of a former leader
		d.Events.Event(kinds.ObjectReference(w), corev1.EventTypeNormal, events.Recovered, "runs, "+text+". Whether a restart before had failed, under a former leader, is not known")
	}
	d.History.End(w.Ref, restart.ID, status.Delivered, "", time.Now())
	d.Metrics.Delivered.WithLabelValues(string(w.Ref.Kind)).Inc()
	d.Metrics.DeliveryTime.Observe(took.Seconds())
	d.Log.Info("restart is delivered", "workload", w.Ref, "after", took.String())
}

func (d *Deliveries) fail(w *workload.Workload, restart *tracker.RollingRestart, judgement delivery.Judgement, took time.Duration) {
	d.NoteFailed(w.Ref)
	reason, evidence := judgement.Reason, evidenceOf(&judgement.Seen)
	d.Metrics.Failed.WithLabelValues(string(w.Ref.Kind)).Inc()
	command := evidence.Command(w.Ref.Namespace)
	d.History.fail(w.Ref, restart.ID, reason, command, time.Now())
	blamed := restart.Decision
	blamed.Causes = restart.Causes()
	causes := wording.FailedCauses(blamed)
	d.Log.Warn("restart failed", "workload", w.Ref, "after", took.String(), "reason", reason, "causes", causes)
	if causes != "" {
		causes = " for " + causes
	}
	failed, look := fmt.Sprintf("failed %s after it restarted", took), status.LookWith(command)
	if restart.IsFormer { // which may have failed earlier
		failed = fmt.Sprintf("has failed, as seen %s after it restarted", took)
	}
	d.Events.Event(kinds.ObjectReference(w), corev1.EventTypeWarning, events.NotDelivered, failed+causes+": "+reason+look+wording.RemedyFor(w))
	halts, counts := d.Gate.Halt(w, &gatekeeper.FailedRestart{ID: restart.ID, Began: restart.Began, Templates: restart.Templates(), Brought: slices.Concat(restart.Brought, restart.Unproven)}, evidence, time.Now())
	d.judged(w.Ref)
	d.Gate.Ended(w.Ref, restart.ID, time.Time{}) // only now, so that nobody takes its turn before the halt
	d.reportOnConfigs(w, blamed, failed, reason+look)
	d.reportHalts(w, blamed, halts, look)
	if !counts {
		d.Finish(w.Ref, restart)
		return
	}
	d.Halted.Note()
	d.followOn(w.Ref, restart, blamed, restart.Ran, time.Now())
}

// followOn follows a restart further, because the pods may run after all with the content that has broken them, as was seen
// at the given time. So many pods ran before.
func (d *Deliveries) followOn(ref names.WorkloadRef, restart *tracker.RollingRestart, brokenBy decide.Decision, ran record.Ran, seen time.Time) {
	failed := restart.Copy()
	failed.HasFailed, failed.Decision, failed.Unproven, failed.Failed = true, brokenBy, nil, seen
	failed.MeasureBy(ran)
	if d.replace(ref, restart, failed) {
		d.Queue.Add(ref, struct{}{})
	}
}

// noteRecovery notes whether the pods run after all after a restart that failed.
func (d *Deliveries) noteRecovery(w *workload.Workload, restart *tracker.RollingRestart, judgement delivery.Judgement) {
	if judgement.Verdict != delivery.Delivered {
		d.Log.Info("restart that failed is not followed any further", "workload", w.Ref, "reason", judgement.Reason)
		return
	}
	d.mend(w.Ref)
	after := time.Since(restart.Began).Round(time.Second).String()
	d.Events.Event(kinds.ObjectReference(w), corev1.EventTypeNormal, events.Recovered, "runs after all, although a restart failed")
	d.History.End(w.Ref, restart.ID, status.Recovered, "", time.Now())
	d.Log.Info("workload runs after all, although its restart failed", "workload", w.Ref, "after", after)
	if d.Gate.Recovered(w, restart.Recorded) {
		d.Halted.Note()
	}
}

// reportOnConfigs reports a failed restart to the owners of the configs that it was for, who may not
// be those of the workload.
func (d *Deliveries) reportOnConfigs(w *workload.Workload, decision decide.Decision, failed, reason string) {
	for _, cause := range decision.Causes {
		d.Notices.Note(cause.Config, corev1.EventTypeWarning, events.NotDelivered, fmt.Sprintf("%s %s for this change (%s)%s: %s",
			wording.WorkloadName(w.Ref), failed, wording.Edit(cause), wording.Doubt(decision), reason))
	}
}

// reportHalts reports to the owners of configs that nobody else restarts for their content. The halt of a group
// is reported on the copy that the last restart was for.
func (d *Deliveries) reportHalts(w *workload.Workload, blamed decide.Decision, halts []gatekeeper.HaltNews, look string) {
	for _, h := range halts {
		if !h.Begins {
			continue
		}
		where := ""
		if gate.IsGroup(h.Config) {
			where = " in all namespaces"
		}
		d.Metrics.Halts.Inc()
		d.Log.Warn("halted the restarts for a config", "config", h.Config, "halt", h.ID, "failed", w.Ref, "held", h.Held)
		d.Notices.Note(h.On, corev1.EventTypeWarning, events.Halted, fmt.Sprintf("halted%s after %s failed%s: %d held%s; revert the change, or resume with: %s",
			where, wording.WorkloadName(w.Ref), wording.Doubt(blamed), h.Held, look, gate.ResumeCommand(h.Config, h.ID)))
	}
}
