package controller

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/delivery"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/internal/status"
)

// What became of a restart is reported, and the gate is told.

// report reports what became of a restart, and tells the gate. A restart that failed is followed
// further, because its pods may run after all.
func (d *deliveries) report(w *workload.Workload, restart *rollingRestart, judgement delivery.Judgement) {
	took := time.Since(restart.began).Round(time.Second)
	if judgement.Verdict == delivery.Failed {
		d.fail(w, restart, judgement, took)
		return
	}
	d.gate.ended(w.Ref, restart.id, judgement.Verdict == delivery.Delivered)
	if judgement.Verdict != delivery.Delivered && len(restart.brokenBy) > 0 {
		d.followOn(w.Ref, restart, decide.Decision{Outcome: decide.Restart, Causes: restart.brokenBy}, restart.failed)
	}
	d.finish(w.Ref, restart)
	if judgement.Verdict != delivery.Delivered {
		d.history.end(w.Ref, restart.id, status.Unknown, judgement.Reason, time.Now())
		d.log.Info("restart is not followed any further", "workload", w.Ref, "after", took.String(), "reason", judgement.Reason)
		return
	}
	if d.gate.recovered(w) {
		d.halted.note()
	}
	switch text := fmt.Sprintf("%s after it restarted: %s", took, describe(restart.decision)); {
	case d.mend(w.Ref):
		d.events.Event(objectReference(w), corev1.EventTypeNormal, reasonRecovered, "runs again, "+text+". A restart before had failed")
	case restart.mayMend: // the last word may be the Warning of a former leader
		d.events.Event(objectReference(w), corev1.EventTypeNormal, reasonRecovered, "runs, "+text+". Whether a restart before had failed, under a former leader, is not known")
	}
	d.history.end(w.Ref, restart.id, status.Delivered, "", time.Now())
	d.metrics.delivered.WithLabelValues(string(w.Ref.Kind)).Inc()
	d.metrics.deliveryTime.Observe(took.Seconds())
	d.log.Info("restart is delivered", "workload", w.Ref, "after", took.String())
}

func (d *deliveries) fail(w *workload.Workload, restart *rollingRestart, judgement delivery.Judgement, took time.Duration) {
	d.noteFailed(w.Ref)
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
	halts, counts := d.gate.halt(w, &failedRestart{restart.id, restart.began, restart.decision.Causes, restart.recorded}, evidence, time.Now())
	d.gate.ended(w.Ref, restart.id, false) // only now, so that nobody takes its turn before the halt
	d.reportOnConfigs(w, restart.decision, failed, reason+look)
	d.reportHalts(w, halts, look)
	if !counts {
		d.finish(w.Ref, restart)
		return
	}
	d.halted.note()
	d.followOn(w.Ref, restart, restart.decision, time.Now())
}

// followOn follows a restart further, because the pods may run after all with the content that has broken them, as was seen
// at the given time.
func (d *deliveries) followOn(ref names.WorkloadRef, restart *rollingRestart, brokenBy decide.Decision, seen time.Time) {
	failed := *restart
	failed.hasFailed, failed.decision, failed.failed = true, brokenBy, seen
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.rolling[ref] == restart {
		d.rolling[ref] = &failed
		d.queue.Add(ref, struct{}{})
	}
}

// noteRecovery notes whether the pods run after all after a restart that failed.
func (d *deliveries) noteRecovery(w *workload.Workload, restart *rollingRestart, judgement delivery.Judgement) {
	if judgement.Verdict != delivery.Delivered {
		d.log.Info("restart that failed is not followed any further", "workload", w.Ref, "reason", judgement.Reason)
		return
	}
	d.mend(w.Ref)
	after := time.Since(restart.began).Round(time.Second).String()
	d.events.Event(objectReference(w), corev1.EventTypeNormal, reasonRecovered, "runs after all, although a restart failed")
	d.history.end(w.Ref, restart.id, status.Recovered, "", time.Now())
	d.log.Info("workload runs after all, although its restart failed", "workload", w.Ref, "after", after)
	if d.gate.recovered(w) {
		d.halted.note()
	}
}

// reportOnConfigs reports a failed restart to the owners of the configs that it was for, who may not
// be those of the workload.
func (d *deliveries) reportOnConfigs(w *workload.Workload, decision decide.Decision, failed, reason string) {
	for _, cause := range decision.Causes {
		d.notices.note(cause.Config, corev1.EventTypeWarning, reasonNotDelivered, fmt.Sprintf("%s %s for this change (%s): %s",
			workloadName(w.Ref), failed, describeEdit(cause), reason))
	}
}

// reportHalts reports to the owners of configs that nobody else restarts for their content. The halt of a group
// is reported on the copy that the last restart was for.
func (d *deliveries) reportHalts(w *workload.Workload, halts []haltNews, look string) {
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
		d.notices.note(h.on, corev1.EventTypeWarning, reasonHalted, fmt.Sprintf("halted%s after %s failed: %d held%s; revert the change, or resume with: %s",
			where, workloadName(w.Ref), h.held, look, gate.ResumeCommand(h.config, h.id)))
	}
}
