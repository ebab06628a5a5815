package halts

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/controller/events"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/controller/gatekeeper"
	"kubernetes-deployment-restart-controller/controller/tracker"
	"kubernetes-deployment-restart-controller/controller/wording"
	"kubernetes-deployment-restart-controller/internal/status"
)

// remind reports again which halts are in force: those of former leaders, whose Events and logs may be lost, and
// those that have lasted. The function that halts restarts reports the beginning.
func (k *Keeper) remind(started, now time.Time) {
	reminded := make(map[string]time.Time)
	for _, h := range k.Gate.ActiveHalts() {
		at, isKnown := k.reminded[h.ID]
		if !isKnown && !h.Since.Before(started) {
			at = h.Since
		}
		if k.Knows(h.Config) && now.Sub(at) >= tracker.ReminderPeriod {
			on, where := gatekeeper.ReportedOn(&h)
			if k.Notices.Note(on, corev1.EventTypeWarning, events.Halted, fmt.Sprintf("halted%s since %s, after %s failed%s; revert the change, or resume with: %s",
				where, h.Since.UTC().Format(time.RFC3339), wording.BrokenBy(&h), status.LookWith(h.Command()), gate.ResumeCommand(h.Config, h.ID))) {
				at = now
				k.Log.Warn("the restarts for a config are halted", "config", h.Config, "halt", h.ID, "since", h.Since, "failed", wording.WorkloadNames(h.Failed))
			}
		}
		reminded[h.ID] = at
	}
	k.reminded = reminded
}
