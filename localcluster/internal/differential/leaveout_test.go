package differential

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// leaveOutNothing removes from both snapshots that a rollout is complete, or not, that has no ReplicaSet, because old pods
// still end. For the original it is if no new ones are wanted at that moment.
func (h *history) leaveOutNothing(original, engine *snapshot) {
	if original.Deployment == nil || engine.Deployment == nil || h.engine.current() != nil {
		return
	}
	a := condition(&original.Deployment.Status, appsv1.DeploymentProgressing)
	if a == nil || a.Message != fmt.Sprintf("Deployment %q has successfully progressed.", name) {
		return
	}
	for _, s := range []*snapshot{original, engine} {
		s.Deployment.Status.Conditions = slices.DeleteFunc(s.Deployment.Status.Conditions, func(c appsv1.DeploymentCondition) bool { return c.Type == appsv1.DeploymentProgressing })
	}
}

// leaveOut removes from a snapshot what is not compared.
func (s *snapshot) leaveOut() {
	for _, rs := range s.ReplicaSets {
		// The engine does not copy the restart controller's record, and notes when it has made the ReplicaSet controller try again, and
		// what has made a template.
		maps.DeleteFunc(rs.Annotations, func(key, _ string) bool { return isRecord(key) || key == podsRetried || key == origin })
		for i := range rs.Status.Conditions {
			rs.Status.Conditions[i].LastTransitionTime = metav1.Time{} // the ReplicaSet controller's, as it happened to look
		}
	}
	if s.Deployment != nil {
		// What has changed comes last, even if it has changed back.
		slices.SortFunc(s.Deployment.Status.Conditions, func(a, b appsv1.DeploymentCondition) int { return strings.Compare(string(a.Type), string(b.Type)) })
	}
}
