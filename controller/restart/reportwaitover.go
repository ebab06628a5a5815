package restart

import (
	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog/policy"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/events"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/controller/kinds"
	"kubernetes-deployment-restart-controller/controller/tracker"
	"kubernetes-deployment-restart-controller/controller/wording"
)

// What an Event says that lasts, another one takes back: without it, the last word on a workload would be that its restart
// is held. The gatekeeper does the same for configs.

// reportResumed reports to the owner of a workload, who has heard that a hold, a halt or a missing config holds its restart,
// that it does not any more.
func (r *Restarter) reportResumed(w *workload.Workload, answer gate.Answer) {
	if told, hasEnded := r.Backlogs.TakeEnded(w.Ref, answer.Reason); hasEnded {
		r.Events.Event(kinds.ObjectReference(w), corev1.EventTypeNormal, events.Resumed, r.describeResumed(told))
	}
}

// reportNotDue reports to the owner of a workload, who has heard that its restart is held, or cannot be made, that none is due
// any more. It reports whether it did.
func (r *Restarter) reportNotDue(w *workload.Workload, waited tracker.Backlog) bool {
	text := ""
	switch told, wasTold := waited.LastTold(tracker.MayLast); {
	case wasTold && isReleased(w):
		text = describeReleased(told)
	case wasTold:
		text = r.describeResumed(told) + ". None is due any more"
	case waited.Failure.IsTold:
		text = "no restart is due any more, and nothing is left to apply"
	}
	if text == "" {
		return false
	}
	r.Log.Info("no restart is due any more of one that was held or refused", "workload", w.Ref)
	r.Events.Event(kinds.ObjectReference(w), corev1.EventTypeNormal, events.Resumed, text)
	return true
}

// reportRecorded reports likewise about a workload whose record was written without a restart. Under a former leader, its
// restart was put off if the record is marked.
func (r *Restarter) reportRecorded(w *workload.Workload, waited tracker.Backlog) {
	if !r.reportNotDue(w, waited) && w.Record.Marked && !w.OwnRecord {
		r.Events.Event(kinds.ObjectReference(w), corev1.EventTypeNormal, events.Resumed, "no restart is due any more, whatever held it under a former leader")
	}
}

// isReleased reports whether the record of a workload is from before a change of its pod template, which is rolled out. The pods
// of the new one read the present content.
func isReleased(w *workload.Workload) bool {
	return !w.Record.Trusted && !w.RecordUndone && w.Record.Reverted == nil && !w.IsFallenBack() && !w.Hold.HoldsAll()
}

// describeReleased says that another rollout has brought the content that a restart was kept from bringing.
func describeReleased(told tracker.ReportedReason) string {
	held := "held"
	if told.On.Kind != 0 {
		held += " because restarts for " + wording.ConfigName(told.On) + " are halted"
	}
	return "another rollout replaces the pods while a restart was " + held + ". New ones read the content that it was to bring, so none is due any more"
}

// describeResumed says what holds a restart no longer, and why if that is known.
func (r *Restarter) describeResumed(told tracker.ReportedReason) string {
	message, on := "restart is no longer held", told.On
	switch told.Reason {
	case gate.Hold:
		if told.Why != "" && !policy.IsWish(told.Why) {
			return message + " for this reason: " + told.Why
		}
		message += " by a hold"
	case gate.Missing:
		message += " by a missing config"
	case gate.Halted:
		message += " by a halt"
	default:
	}
	if on.Kind == 0 { // it is no halt, or the further halts of a namespace
		return message
	}
	if why := r.Gate.WhyResumed(on); why != "" {
		message += ": restarts for " + wording.ConfigName(on) + " are resumed, because " + why
	}
	return message
}
