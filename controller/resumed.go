package controller

import (
	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog/policy"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/gate"
)

// What an Event says that lasts, another one takes back: without it, the last word on a workload would be that its restart
// is held. The gatekeeper does the same for configs.

// reportResumed reports to the owner of a workload, who has heard that a hold, a halt or a missing config holds its restart,
// that it does not any more.
func (r *restarter) reportResumed(w *workload.Workload, answer gate.Answer) {
	if told, hasEnded := r.backlogs.takeEnded(w.Ref, answer.Reason); hasEnded {
		r.events.Event(objectReference(w), corev1.EventTypeNormal, reasonResumed, r.describeResumed(told))
	}
}

// reportNotDue reports to the owner of a workload, who has heard that its restart is held, or cannot be made, that none is due
// any more. It reports whether it did.
func (r *restarter) reportNotDue(w *workload.Workload, waited backlog) bool {
	text := ""
	if told, wasTold := waited.lastTold(mayLast); wasTold {
		text = r.describeResumed(told) + ". None is due any more"
	} else if waited.failure.isTold {
		text = "no restart is due any more, and nothing is left to apply"
	}
	if text == "" {
		return false
	}
	r.log.Info("no restart is due any more of one that was held or refused", "workload", w.Ref)
	r.events.Event(objectReference(w), corev1.EventTypeNormal, reasonResumed, text)
	return true
}

// reportRecorded reports likewise about a workload whose record was written without a restart. Under a former leader, its
// restart was put off if the record is marked.
func (r *restarter) reportRecorded(w *workload.Workload, waited backlog) {
	if !r.reportNotDue(w, waited) && w.Applied.Marked && !w.OwnRecord {
		r.events.Event(objectReference(w), corev1.EventTypeNormal, reasonResumed, "no restart is due any more, whatever held it under a former leader")
	}
}

// describeResumed says what holds a restart no longer, and why if that is known.
func (r *restarter) describeResumed(told reportedReason) string {
	message, on := "restart is no longer held", told.on
	switch told.reason {
	case gate.Hold:
		if told.why != "" && !policy.IsWish(told.why) {
			return message + " for this reason: " + told.why
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
	if why := r.gate.whyResumed(on); why != "" {
		message += ": restarts for " + configName(on) + " are resumed, because " + why
	}
	return message
}
