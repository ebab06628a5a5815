package controller

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
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
			at = now
			k.log.Warn("the restarts for a config are halted", "config", h.Config, "halt", h.ID, "since", h.Since, "failed", workloadNames(h.Failed))
			k.reports.note(h.Config, corev1.EventTypeWarning, reasonHalted, fmt.Sprintf("halted since %s, after %s failed; revert the change, or resume with: %s",
				h.Since.UTC().Format(time.RFC3339), workloadNames(h.Failed), resumeCommand(h.Config, h.ID)))
		}
		reminded[h.ID] = at
	}
	k.reminded = reminded
}
