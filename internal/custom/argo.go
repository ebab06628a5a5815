package custom

import (
	"encoding/json"
	"errors"
	"slices"
	"time"

	"kubernetes-deployment-restart-controller/catalog/workload"
)

// argoRollout is the Rollout of Argo Rollouts: https://argo-rollouts.readthedocs.io/en/stable/features/specification/.
// A changed template runs through the steps of its strategy, as any other change of the template does. A restart by
// .spec.restartAt does not: the ReplicaSets replace the pods that Argo Rollouts evicts.
var argoRollout = &preset{
	resource: "rollouts", group: "argoproj.io", kind: "Rollout", version: "v1alpha1",
	refuse: refuseWorkloadRef, read: readArgoRollout,
	revisionLabel: "rollouts-pod-template-hash", podOwner: "replicasets",
	revision: func(o *Object) string {
		status := read[argoStatus](o.Status)
		if !status.observes(o.Generation) {
			return ""
		}
		return status.CurrentPodHash
	},
}

type argoStatus struct {
	counts
	CurrentPodHash  string            `json:"currentPodHash"`
	StableRS        string            `json:"stableRS"`
	Phase           string            `json:"phase"`
	Abort           bool              `json:"abort"`
	RestartedAt     json.RawMessage   `json:"restartedAt"`
	PauseConditions []json.RawMessage `json:"pauseConditions"`
	Conditions      []condition       `json:"conditions"`
}

func refuseWorkloadRef(o *opened) error {
	if o.at([]string{"spec", "workloadRef"}) == nil {
		return nil
	}
	return errors.New("its pod template is in another object (.spec.workloadRef), which is not supported: " +
		"move the template to .spec.template of the Rollout; to enable the other object does not help, because its pods do not run")
}

func readArgoRollout(o *opened, parts *workload.Parts) {
	status, r := read[argoStatus](o.Status), &parts.Rollout
	status.rollout(o, r)
	isPromoted := status.CurrentPodHash != "" && status.StableRS == status.CurrentPodHash
	switch {
	case isPromoted && status.Phase == "Healthy":
		r.Outdated = 0 // pods of the last version may run on for as long as scaleDownDelaySeconds says
	case !isPromoted:
		r.Outdated = max(r.Outdated, 1) // it has not taken its last step
	}
	r.Completed = isPromoted
	r.Waits = len(status.PauseConditions) > 0
	if status.Abort {
		r.Course = workload.Aborted
	}
	r.GaveUp = status.Abort || hasCondition(status.Conditions, "Progressing", "False")
	r.CannotCreate = hasCondition(status.Conditions, "ReplicaFailure", "True")
	if deadline := read[*int32](o.spec["progressDeadlineSeconds"]); deadline != nil {
		r.Deadline = *deadline
	}
	parts.RestartAt = read[time.Time](o.spec["restartAt"])
	r.OwnRestart = status.ownRestart(parts)
}

// ownRestart says how a restart by .spec.restartAt goes. Argo Rollouts replaces no pods while somebody has paused the
// Rollout, or an analysis without a result has; the pauses between steps do not matter.
func (s *argoStatus) ownRestart(parts *workload.Parts) workload.OwnRestart {
	isInconclusive := func(pause json.RawMessage) bool { return read[condition](pause).Reason == "InconclusiveAnalysisRun" }
	switch {
	case parts.Hold == workload.Paused, slices.ContainsFunc(s.PauseConditions, isInconclusive):
		return workload.ReplacesNothing
	case !parts.RestartAt.IsZero() && read[time.Time](s.RestartedAt).Unix() == parts.RestartAt.Unix():
		return workload.HasReplacedPods
	}
	return workload.ReplacesPods
}
