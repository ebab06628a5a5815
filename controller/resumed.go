package controller

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/controller/gate"
)

// What an Event says that lasts, another one takes back: without it, the last word on a workload would be that its restart
// is held. The gatekeeper does the same for configs.

// reportResumed reports to the owner of a workload, who has heard that a halt holds its restart, that no halt does any more.
func (r *restarter) reportResumed(w *catalog.Workload, answer gate.Answer) {
	if answer.Reason == gate.Hold || answer.Reason == gate.Halted { // which keep the halt from being asked about, or are it
		return
	}
	if on, wasTold := r.backlogs.takeHalt(w.Ref); wasTold {
		r.events.Event(objectReference(w), corev1.EventTypeNormal, reasonResumed, r.describeResumed(on))
	}
}

// reportNotDue reports to the owner of a workload, who has heard that its restart is held, that none is due any more.
func (r *restarter) reportNotDue(w *catalog.Workload, waited backlog) {
	wasTold := func(told reportedReason) bool { return mayLast(told.reason) }
	if !slices.ContainsFunc(waited.reported, wasTold) {
		return
	}
	message := "restart is no longer held"
	if i := waited.told(gate.Halted); i >= 0 {
		message = r.describeResumed(waited.reported[i].on)
	}
	r.events.Event(objectReference(w), corev1.EventTypeNormal, reasonResumed, message+". None is due any more")
}

// describeResumed says whose halt holds a restart no longer, and why if that is known.
func (r *restarter) describeResumed(on catalog.ConfigRef) string {
	message := "restart is no longer held by a halt"
	if on.Kind == 0 { // the further halts of a namespace
		return message
	}
	if why := r.gate.whyResumed(on); why != "" {
		message += ": restarts for " + configName(on) + " are resumed, because " + why
	}
	return message
}
