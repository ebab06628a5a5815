package restart

import (
	"cmp"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/catalog/policy"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/events"
	"kubernetes-deployment-restart-controller/controller/kinds"
)

// unknownManager stands for a field manager that the API does not show.
const unknownManager = "unknown"

// reportRevert reports, once, that a restart was reverted, and the decision that follows.
// A dry run leaves that to the controller that it runs beside.
func (r *Restarter) reportRevert(w *workload.Workload, outcome decide.Outcome) {
	revert := w.Record.Reverted
	if revert != nil && revert.Later {
		revert = nil // replaced by another restart
	}
	if !r.Table.NoteRevert(w.Ref, revert) || r.DryRun {
		return
	}
	manager := cmp.Or(revert.By, unknownManager)
	r.Metrics.Reverted.Inc(manager)
	r.Log.Warn("a restart was reverted", "workload", w.Ref, "restart", revert.Restart, "last_writer", manager, "outcome", outcome)
	r.Events.Event(kinds.ObjectReference(w), corev1.EventTypeWarning, events.Reverted, describeRevert(w, outcome))
}

// describeRevert describes which restart was reverted, what the API shows of who did it, what follows, and how to prevent
// that. A write that only removes a field leaves no trace: the last writer of the workload may be somebody else.
func describeRevert(w *workload.Workload, outcome decide.Outcome) string {
	revert := w.Record.Reverted
	text := fmt.Sprintf("the restart of %s was reverted: ", restartTime(revert))
	switch {
	case w.Timestamp == "" && revert.By == "":
		text += "its timestamp is gone from the pod template"
	case w.Timestamp == "":
		text += fmt.Sprintf("its timestamp is gone from the pod template. The API does not show who removed it; the last write by another client is that of %.64q", revert.By)
	case revert.By == "":
		text += "the pod template has another timestamp"
	default:
		text += fmt.Sprintf("field manager %.64q has given the pod template another timestamp", revert.By)
	}
	if outcome != decide.Restart {
		return text + ". No pod from before it is known to be left, so nothing restarts"
	}
	text += fmt.Sprintf(". Pods from before it may still run, so the workload restarts again. To prevent that, make the other client leave the annotation %s of the pod template alone", annotation.TimestampAnnotation)
	if !w.Ref.Kind.IsCustom() || w.Rollout.OwnRestart != workload.NoOwnRestart {
		text += fmt.Sprintf(", or restart by eviction, which leaves the pod template as it is: set the annotation %s to %s", annotation.MethodAnnotation, policy.ByEviction)
	}
	return text + fmt.Sprintf(". To keep the pods, opt out: set the annotation %s to disabled", annotation.EnabledAnnotation)
}

// restartTime returns the time of a reverted restart in a readable form.
func restartTime(revert *record.Revert) string {
	at, err := time.Parse(time.RFC3339Nano, revert.Restart)
	if err != nil {
		at = revert.Recorded
	}
	return at.UTC().Format(time.RFC3339)
}
