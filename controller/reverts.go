package controller

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog"
)

const (
	// revertersLimit is how many field managers get a series of their own.
	revertersLimit = 20
	// unknownManager stands for a field manager that the API does not show.
	unknownManager = "unknown"
)

// reportRevert reports, once, that another client reverted a restart, and the decision that follows.
// A dry run leaves that to the controller that it runs beside.
func (r *restarter) reportRevert(w *catalog.Workload, outcome catalog.Outcome) {
	revert := w.Applied.Reverted
	if revert != nil && revert.Later {
		revert = nil // replaced by another restart
	}
	if !r.journal.noteRevert(w.Ref, revert) || r.dryRun {
		return
	}
	manager := revert.By
	if manager == "" {
		manager = unknownManager
	}
	r.metrics.reverted.Inc(manager)
	r.log.Warn("a restart was reverted", "workload", w.Ref, "restart", revert.Restart, "manager", manager, "outcome", outcome)
	r.events.Event(objectReference(w), corev1.EventTypeWarning, reasonReverted, describeRevert(w, outcome))
}

// describeRevert describes which restart was reverted, by whom, what follows, and how to
// prevent that.
func describeRevert(w *catalog.Workload, outcome catalog.Outcome) string {
	revert := w.Applied.Reverted
	how := "removed its timestamp from the pod template"
	if w.Timestamp != "" {
		how = "set the pod template back to another timestamp"
	}
	by := "another client"
	if revert.By != "" {
		by = fmt.Sprintf("field manager %.64q", revert.By)
	}
	text := fmt.Sprintf("%s reverted the restart of %s: it %s", by, restartTime(revert), how)
	if outcome == catalog.Restart {
		return text + fmt.Sprintf(". Pods from before it still run, so the %s restarts again; to keep them, opt out: set the annotation %s to disabled",
			w.Ref.Kind, catalog.EnabledAnnotation)
	}
	return text + ". No pod from before it is left to restart"
}

// restartTime returns the time of a reverted restart in a readable form.
func restartTime(revert *catalog.Revert) string {
	at, err := time.Parse(time.RFC3339Nano, revert.Restart)
	if err != nil {
		at = revert.Recorded
	}
	return at.UTC().Format(time.RFC3339)
}
