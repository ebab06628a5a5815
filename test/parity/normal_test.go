package parity

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// underway leaves out how a rollout in progress describes itself: as long as no pod
// has become ready, it stays NewReplicaSetCreated, or becomes ReplicaSetUpdated if
// a status happened to be written between the creation of the new ReplicaSet and
// the report of its first pods. (Only then more pods are up to date than before:
// the status before counts those of the previous template.)
func (s *scene) underway() {
	s.ignore("NewReplicaSetCreated or ReplicaSetUpdated: depends on when the status is written", func(s *snapshot) {
		s.forgetProgress(func(c *appsv1.DeploymentCondition) bool { return c.Reason != "NewReplicaSetAvailable" })
	})
}

// progressingForAnyReason leaves out the reason for which a rollout is progressing.
func (s *scene) progressingForAnyReason(why string) {
	s.ignore("the reason of the condition Progressing: "+why, func(s *snapshot) {
		s.forgetProgress(func(*appsv1.DeploymentCondition) bool { return true })
	})
}

func (s *snapshot) forgetProgress(which func(*appsv1.DeploymentCondition) bool) {
	for _, d := range s.Deployments {
		for i := range d.Status.Conditions {
			c := &d.Status.Conditions[i]
			if c.Type == appsv1.DeploymentProgressing && c.Status == corev1.ConditionTrue && which(c) {
				c.Reason, c.Message = "", ""
			}
		}
	}
}

// namesTheComplete states that the engine's condition always names the ReplicaSet
// that is complete. The original's keeps the name of the one before if an old
// ReplicaSet comes back and it sees no progress before all is complete.
func (s *scene) namesTheComplete() {
	s.meant("the condition Progressing names the ReplicaSet that is complete", func(oracle *snapshot) {
		for _, d := range oracle.Deployments {
			for _, rs := range oracle.ReplicaSets {
				if rs.Annotations[revisionAnnotation] == d.Annotations[revisionAnnotation] {
					nameTheComplete(d, rs.Name)
				}
			}
		}
	})
}

func nameTheComplete(d *appsv1.Deployment, name string) {
	conditions := d.Status.Conditions
	i := slices.IndexFunc(conditions, func(c appsv1.DeploymentCondition) bool { return c.Reason == "NewReplicaSetAvailable" })
	message := fmt.Sprintf("ReplicaSet %q has successfully progressed.", name)
	if i < 0 || conditions[i].Message == message {
		return
	}
	condition := conditions[i]
	condition.Message = message
	d.Status.Conditions = append(slices.Delete(conditions, i, i+1), condition) // what changes comes last
}

// forgetNameOfComplete removes the message of a rollout that is complete: it names
// the ReplicaSet.
func (s *snapshot) forgetNameOfComplete() {
	for _, d := range s.Deployments {
		for i := range d.Status.Conditions {
			if c := &d.Status.Conditions[i]; c.Reason == "NewReplicaSetAvailable" {
				c.Message = ""
			}
		}
	}
}

// scalingsInAnyStep leaves out in which steps ReplicaSets were scaled, where several
// pods become ready or go at the same time. What remains is which of them were
// scaled up and which down.
func (s *scene) scalingsInAnyStep(why string) {
	s.ignore("the steps of scalings: "+why, func(s *snapshot) {
		var kept []event
		for _, e := range s.Events {
			if e.Reason == "ScalingReplicaSet" {
				if strings.HasPrefix(e.Message, "(combined from similar events)") {
					continue
				}
				e.Message, _, _ = strings.Cut(e.Message, " from ")
				e.Count = 0
			}
			if !slices.Contains(kept, e) {
				kept = append(kept, e)
			}
		}
		s.Events = kept
	})
}

// conditionsInAnyOrder leaves out the order of conditions: one that has changed
// comes last.
func (s *scene) conditionsInAnyOrder(why string) {
	s.ignore("the order of conditions: "+why, func(s *snapshot) {
		for _, d := range s.Deployments {
			slices.SortFunc(d.Status.Conditions, func(a, b appsv1.DeploymentCondition) int {
				return strings.Compare(string(a.Type), string(b.Type))
			})
		}
	})
}

// attemptsUncounted leaves out how often the creation of a ReplicaSet was tried.
func (s *scene) attemptsUncounted() {
	s.ignore("the number of attempts to create a ReplicaSet: it is tried again and again as time goes by", func(s *snapshot) {
		for i := range s.Events {
			if s.Events[i].Reason == "ReplicaSetCreateError" {
				s.Events[i].Count = 0
			}
		}
	})
}
