package rollout

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
)

// Action is one step that a plan orders. Actions are values. They are applied in
// order, and the first action that fails ends the plan.
type Action interface {
	fmt.Stringer
	// Kind names the action for metrics.
	Kind() string
}

// CreateReplicaSet creates the new ReplicaSet from the Deployment's template.
type CreateReplicaSet struct {
	Name        string
	Hash        string // the value of the label pod-template-hash
	Replicas    int64
	Annotations map[string]string
}

// UpdateReplicaSet changes a ReplicaSet in one write.
type UpdateReplicaSet struct {
	Target   Meta
	From, To int64 // how many pods it wants before and after
	// Annotations to set; others stay as they are.
	Annotations map[string]string
	// MinReadySeconds to set, nil to leave it.
	MinReadySeconds *int32
	// FailedBy is why this write says that a release has failed, one of FailureCauses; empty if it does not.
	FailedBy FailureCause
}

// DeleteReplicaSet deletes an old ReplicaSet that has no pods.
type DeleteReplicaSet struct{ Target Meta }

// AdoptReplicaSet makes the Deployment the controller of an orphan.
type AdoptReplicaSet struct{ Target Meta }

// ReleaseReplicaSet ends the Deployment's control of a ReplicaSet that it no
// longer selects.
type ReleaseReplicaSet struct{ Target Meta }

// RollBack restores the pod template of an earlier ReplicaSet in the Deployment.
type RollBack struct {
	Source   Meta // the ReplicaSet
	Revision int64
	// Annotations of the Deployment to set and to remove.
	Annotations map[string]string
	Remove      []string
}

// EndRollBack removes the request for a rollback that is not possible.
type EndRollBack struct{}

// UpdateStatus writes the Deployment's status, and its revision with it.
type UpdateStatus struct {
	Status   appsv1.DeploymentStatus
	Revision string // empty to leave it
	// Runs is the ReplicaSet whose reads the Deployment is to show, empty to show none, and nil to leave it.
	Runs *Meta
	// Refused is set if the API server takes the status without that.
	Refused *bool
	// Trial is what to remember of the present release from then on, nil for nothing.
	Trial *Trial
}

// LookAtPods looks at the pods of the new ReplicaSet.
type LookAtPods struct {
	Target  Meta
	Attempt int64
	// At is when the plan was made that asks for it. IsLast means that the release seems complete. Found is where the look goes.
	At     time.Time
	IsLast bool
	Found  *Look
}

// RecordEvent records an Event about the Deployment.
type RecordEvent struct{ Type, Reason, Message string }

// Kind implements Action.
func (CreateReplicaSet) Kind() string { return "create" }

// Kind implements Action.
func (a UpdateReplicaSet) Kind() string {
	if a.From == a.To {
		return "annotate"
	}
	return "scale"
}

// Kind implements Action.
func (DeleteReplicaSet) Kind() string { return "delete" }

// Kind implements Action.
func (AdoptReplicaSet) Kind() string { return "adopt" }

// Kind implements Action.
func (ReleaseReplicaSet) Kind() string { return "release" }

// Kind implements Action.
func (RollBack) Kind() string { return "rollback" }

// Kind implements Action.
func (EndRollBack) Kind() string { return "rollback" }

// Kind implements Action.
func (UpdateStatus) Kind() string { return "status" }

// Kind implements Action.
func (LookAtPods) Kind() string { return "look" }

// Kind implements Action.
func (RecordEvent) Kind() string { return "event" }

// String describes the action in one line.
func (a CreateReplicaSet) String() string {
	return fmt.Sprintf("create replicaset %s with %d, revision %s", a.Name, a.Replicas, a.Annotations[RevisionAnnotation])
}

// String describes the action in one line.
func (a UpdateReplicaSet) String() string {
	var line strings.Builder
	if a.From == a.To {
		fmt.Fprintf(&line, "update replicaset %s", a.Target.Name)
	} else {
		fmt.Fprintf(&line, "scale replicaset %s from %d to %d", a.Target.Name, a.From, a.To)
	}
	for _, key := range slices.Sorted(maps.Keys(a.Annotations)) {
		if IsCopied(key) { // its value belongs to the user
			fmt.Fprintf(&line, ", annotation %s", key)
		} else {
			fmt.Fprintf(&line, ", %s %s", strings.TrimPrefix(key, annotationPrefix), a.Annotations[key])
		}
	}
	if a.MinReadySeconds != nil {
		fmt.Fprintf(&line, ", minReadySeconds=%d", *a.MinReadySeconds)
	}
	return line.String()
}

// String describes the action in one line.
func (a DeleteReplicaSet) String() string { return "delete replicaset " + a.Target.Name }

// String describes the action in one line.
func (a AdoptReplicaSet) String() string { return "adopt replicaset " + a.Target.Name }

// String describes the action in one line.
func (a ReleaseReplicaSet) String() string { return "release replicaset " + a.Target.Name }

// String describes the action in one line.
func (a RollBack) String() string {
	return fmt.Sprintf("roll back to revision %d, replicaset %s", a.Revision, a.Source.Name)
}

// String describes the action in one line.
func (EndRollBack) String() string { return "remove the request for a rollback" }

// String describes the action in one line.
func (a UpdateStatus) String() string {
	var line strings.Builder
	s := &a.Status
	fmt.Fprintf(&line, "status: %d existing, %d updated, %d ready, %d available, %d unavailable",
		s.Replicas, s.UpdatedReplicas, s.ReadyReplicas, s.AvailableReplicas, s.UnavailableReplicas)
	for i := range s.Conditions {
		fmt.Fprintf(&line, ", %s=%s (%s)", s.Conditions[i].Type, s.Conditions[i].Status, s.Conditions[i].Reason)
	}
	if a.Revision != "" {
		fmt.Fprintf(&line, ", revision %s", a.Revision)
	}
	if a.Runs != nil {
		fmt.Fprintf(&line, ", runs %s", cmp.Or(a.Runs.Name, "its own template"))
	}
	return line.String()
}

// String describes the action in one line.
func (a LookAtPods) String() string { return "look at the pods of replicaset " + a.Target.Name }

// String describes the action in one line.
func (a RecordEvent) String() string {
	return fmt.Sprintf("event %s %s: %s", a.Type, a.Reason, a.Message)
}
