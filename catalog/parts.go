package catalog

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// longestSelector is how many bytes a workload's selector may have as a text, such as "app=web,tier in (front,back)". It is
// kept, and is part of the address of each list of pods.
const longestSelector = 16 << 10

// SelectorProblem returns why a workload with the given selector cannot be restarted, empty if it can.
func SelectorProblem(selector *metav1.LabelSelector) string {
	if selector == nil {
		return ""
	}
	size := 0
	for key, value := range selector.MatchLabels {
		size += len(key) + len("=") + len(value) + len(",")
	}
	for i := range selector.MatchExpressions {
		expression := &selector.MatchExpressions[i]
		size += len(expression.Key) + len(" in (),") + len(expression.Operator)
		for _, value := range expression.Values {
			size += len(value) + len(",")
		}
	}
	if size <= longestSelector {
		return ""
	}
	return fmt.Sprintf("its .spec.selector is longer than %d bytes", longestSelector)
}

func newParts(meta *metav1.ObjectMeta, selector *metav1.LabelSelector, template *corev1.PodTemplateSpec, rollout Rollout) Parts {
	return Parts{Meta: meta, Problem: SelectorProblem(selector), Selector: selector, Template: template, Rollout: rollout}
}

// PartsOfDeployment returns the parts of a Deployment, which share its memory.
func PartsOfDeployment(d *appsv1.Deployment) Parts {
	parts := newParts(&d.ObjectMeta, d.Spec.Selector, &d.Spec.Template, rolloutOfDeployment(d))
	parts.Idle = parts.Rollout.Wanted == 0
	if d.Spec.Paused {
		parts.Hold = Paused
	}
	return parts
}

// PartsOfStatefulSet returns the parts of a StatefulSet, which share its memory.
func PartsOfStatefulSet(s *appsv1.StatefulSet) Parts {
	parts := newParts(&s.ObjectMeta, s.Spec.Selector, &s.Spec.Template, rolloutOfStatefulSet(s))
	parts.Idle = parts.Rollout.Wanted == 0
	rolling := s.Spec.UpdateStrategy.RollingUpdate
	switch {
	case s.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType:
		parts.Hold = OnDelete
	case rolling != nil && rolling.Partition != nil && *rolling.Partition > 0:
		parts.Hold = Partitioned
	}
	return parts
}

// PartsOfDaemonSet returns the parts of a DaemonSet, which share its memory. A DaemonSet is idle only if
// its controller has said so about the present generation.
func PartsOfDaemonSet(d *appsv1.DaemonSet) Parts {
	parts := newParts(&d.ObjectMeta, d.Spec.Selector, &d.Spec.Template, rolloutOfDaemonSet(d))
	parts.Idle = parts.Rollout.Observed && parts.Rollout.Wanted == 0
	if d.Spec.UpdateStrategy.Type == appsv1.OnDeleteDaemonSetStrategyType {
		parts.Hold = OnDelete
	}
	return parts
}

// How the status of each kind of workload describes a rollout. kubectl rollout status reads the
// same fields: https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#deployment-status.

func rolloutOfDeployment(d *appsv1.Deployment) Rollout {
	status := &d.Status
	rollout := Rollout{
		Wanted: wanted(d.Spec.Replicas), Updated: status.UpdatedReplicas, Outdated: status.Replicas - status.UpdatedReplicas,
		Available: status.AvailableReplicas, Observed: status.ObservedGeneration >= d.Generation,
	}
	if deadline := d.Spec.ProgressDeadlineSeconds; deadline != nil { // the largest value means none
		rollout.Deadline = *deadline
	}
	for i := range status.Conditions {
		switch condition := &status.Conditions[i]; condition.Type {
		case appsv1.DeploymentProgressing:
			rollout.GaveUp = condition.Status == corev1.ConditionFalse && condition.Reason == "ProgressDeadlineExceeded"
			rollout.Completed = condition.Status == corev1.ConditionTrue && condition.Reason == "NewReplicaSetAvailable"
		case appsv1.DeploymentReplicaFailure:
			rollout.CannotCreate = condition.Status == corev1.ConditionTrue
		}
	}
	return rollout
}

func rolloutOfStatefulSet(s *appsv1.StatefulSet) Rollout {
	status := &s.Status
	return Rollout{
		Wanted: wanted(s.Spec.Replicas), Updated: status.UpdatedReplicas, Outdated: status.Replicas - status.UpdatedReplicas,
		Available: status.AvailableReplicas, Observed: status.ObservedGeneration >= s.Generation,
		Completed: status.CurrentRevision == status.UpdateRevision,
		Deadline:  ReplacementTime(s.Spec.MinReadySeconds, &s.Spec.Template),
	}
}

func rolloutOfDaemonSet(d *appsv1.DaemonSet) Rollout {
	status := &d.Status
	return Rollout{
		Wanted: status.DesiredNumberScheduled, Updated: status.UpdatedNumberScheduled,
		Outdated:  status.CurrentNumberScheduled - status.UpdatedNumberScheduled,
		Available: status.NumberAvailable, Observed: status.ObservedGeneration >= d.Generation,
		Deadline: ReplacementTime(d.Spec.MinReadySeconds, &d.Spec.Template),
	}
}

// startTime is how many seconds a pod may take to start, besides what its workload declares.
const startTime = 2 * 60

// ReplacementTime returns how many seconds the replacement of a pod may take, in which the status
// need not change: the earlier pod terminates, and the new one must be ready for a while.
func ReplacementTime(minReadySeconds int32, template *corev1.PodTemplateSpec) int32 {
	seconds := int64(startTime) + int64(minReadySeconds)
	if grace := template.Spec.TerminationGracePeriodSeconds; grace != nil {
		seconds += max(*grace, 0)
	}
	return int32(min(seconds, longestReplacement))
}

// longestReplacement limits [ReplacementTime], in seconds.
const longestReplacement = 24 * 60 * 60

// wanted returns how many pods a workload wants, which is one by default.
func wanted(replicas *int32) int32 {
	if replicas == nil {
		return 1
	}
	return *replicas
}
