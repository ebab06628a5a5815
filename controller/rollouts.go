package controller

import (
	"math"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog"
)

// How the status of each kind of workload describes a rollout. kubectl rollout status reads the
// same fields: https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#deployment-status.

func rolloutOfDeployment(d *appsv1.Deployment) catalog.Rollout {
	status := &d.Status
	rollout := catalog.Rollout{
		Wanted: wanted(d.Spec.Replicas), Updated: status.UpdatedReplicas, Outdated: status.Replicas - status.UpdatedReplicas,
		Available: status.AvailableReplicas, Observed: status.ObservedGeneration >= d.Generation,
	}
	if deadline := d.Spec.ProgressDeadlineSeconds; deadline != nil && *deadline < math.MaxInt32 { // which means none
		rollout.Deadline = *deadline
	}
	for i := range status.Conditions {
		if condition := &status.Conditions[i]; condition.Type == appsv1.DeploymentProgressing {
			rollout.GaveUp = condition.Status == corev1.ConditionFalse && condition.Reason == "ProgressDeadlineExceeded"
		}
	}
	return rollout
}

func rolloutOfStatefulSet(s *appsv1.StatefulSet) catalog.Rollout {
	status := &s.Status
	return catalog.Rollout{
		Wanted: wanted(s.Spec.Replicas), Updated: status.UpdatedReplicas, Outdated: status.Replicas - status.UpdatedReplicas,
		Available: status.AvailableReplicas, Observed: status.ObservedGeneration >= s.Generation,
	}
}

func rolloutOfDaemonSet(d *appsv1.DaemonSet) catalog.Rollout {
	status := &d.Status
	return catalog.Rollout{
		Wanted: status.DesiredNumberScheduled, Updated: status.UpdatedNumberScheduled,
		Outdated:  status.CurrentNumberScheduled - status.UpdatedNumberScheduled,
		Available: status.NumberAvailable, Observed: status.ObservedGeneration >= d.Generation,
	}
}

// wanted returns how many pods a workload wants, which is one by default.
func wanted(replicas *int32) int32 {
	if replicas == nil {
		return 1
	}
	return *replicas
}
