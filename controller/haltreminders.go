package controller

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/internal/status"
)

// reminderPeriod is how often an Event reports again what lasts: a halt, a restart that is held, a pod that cannot be
// evicted. API servers keep Events for an hour by default, and all that may have to be understood the next morning.
const reminderPeriod = 50 * time.Minute

// remind reports again which halts are in force: those of former leaders, whose Events and logs may be lost, and
// those that have lasted. The function that halts restarts reports the beginning.
func (k *haltKeeper) remind(started, now time.Time) {
	reminded := make(map[string]time.Time)
	for _, h := range k.gate.activeHalts() {
		at, isKnown := k.reminded[h.ID]
		if !isKnown && !h.Since.Before(started) {
			at = h.Since
		}
		if k.knows(h.Config) && now.Sub(at) >= reminderPeriod {
			on, where := reportedOn(&h)
			if k.notices.note(on, corev1.EventTypeWarning, reasonHalted, fmt.Sprintf("halted%s since %s, after %s failed%s; revert the change, or resume with: %s",
				where, h.Since.UTC().Format(time.RFC3339), brokenBy(&h), status.LookWith(h.Command()), gate.ResumeCommand(h.Config, h.ID))) {
				at = now
				k.log.Warn("the restarts for a config are halted", "config", h.Config, "halt", h.ID, "since", h.Since, "failed", workloadNames(h.Failed))
			}
		}
		reminded[h.ID] = at
	}
	k.reminded = reminded
}

// reportedOn returns on which config an Event reports a halt, and where restarts are halted. A group is no object, so
// that is one of the copies with which a workload has failed.
func reportedOn(h *gate.Halt) (on names.ConfigRef, where string) {
	if !gate.IsGroup(h.Config) || len(h.Failed) == 0 {
		return h.Config, ""
	}
	return names.ConfigRef{Kind: h.Config.Kind, Namespace: h.Failed[0].Namespace, Name: h.Config.Name}, " in all namespaces"
}
