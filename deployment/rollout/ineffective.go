package rollout

import (
	"maps"
	"slices"

	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"kubernetes-deployment-restart-controller/internal/podtemplate"
)

// Because of a mutating admission webhook or policy, the API server may accept a write but
// not do what the write asks for.

// MissingIn returns what a ReplicaSet lacks after its update, or the empty string if it
// lacks nothing.
func (a *UpdateReplicaSet) MissingIn(after *ReplicaSet) string {
	switch {
	case a.From != a.To && ToInt32(after.Replicas) != ToInt32(a.To):
		return "replicas"
	case a.MinReadySeconds != nil && after.MinReadySeconds != *a.MinReadySeconds:
		return "minReadySeconds"
	}
	return missingAnnotation(a.Annotations, after.allAnnotations())
}

// missingAnnotation names the first requested annotation that is missing.
func missingAnnotation(asked, present map[string]string) string {
	for _, key := range slices.Sorted(maps.Keys(asked)) {
		if value, found := present[key]; !found || value != asked[key] {
			return "annotation " + key
		}
	}
	return ""
}

// MissingOwner returns what a ReplicaSet lacks after its adoption or release by the
// Deployment.
func MissingOwner(d *Deployment, isOwner bool, after *ReplicaSet) string {
	if (after.Controller == d.UID) != isOwner {
		return "owner"
	}
	return ""
}

// MissingIn returns what a Deployment lacks after its rollback.
func (a *RollBack) MissingIn(before, after *Deployment) string {
	if after.Sum == before.Sum {
		return "pod template"
	}
	for _, key := range a.Remove {
		if _, found := after.Annotations[key]; found {
			return "annotation " + key
		}
	}
	return missingAnnotation(a.Annotations, after.Annotations)
}

// MissingIn returns what a Deployment lacks after its request for a rollback was removed.
func (EndRollBack) MissingIn(after *Deployment) string {
	if _, found := after.Annotations[RollbackAnnotation]; found {
		return "annotation " + RollbackAnnotation
	}
	return ""
}

// MissingIn returns what a Deployment lacks after a write of its status. It accepts that an
// API server does not keep terminatingReplicas.
func (a *UpdateStatus) MissingIn(after *Deployment) string {
	asked := a.Status
	if after.Status.TerminatingReplicas == nil {
		asked.TerminatingReplicas = nil
	}
	switch {
	case !apiequality.Semantic.DeepEqual(asked, after.Status):
		return "status"
	case a.Revision != "" && after.Annotations[RevisionAnnotation] != a.Revision:
		return "annotation " + RevisionAnnotation
	case a.Runs != nil && after.Runs != a.Runs.UID:
		return "annotation " + podtemplate.RunsAnnotation
	}
	return ""
}
