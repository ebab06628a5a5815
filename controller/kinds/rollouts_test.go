package kinds

import (
	"math"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog/workload"
)

func TestARolloutIsReadFromTheStatusOfEachKind(t *testing.T) {
	gaveUp := func(d *appsv1.Deployment) {
		d.Status.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionFalse, Reason: "ProgressDeadlineExceeded"}}
	}
	completed := func(d *appsv1.Deployment) {
		d.Status.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetAvailable"}}
	}
	withoutQuota := func(d *appsv1.Deployment) {
		d.Status.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Reason: "FailedCreate"}}
	}
	deployment := func(change func(*appsv1.Deployment)) *appsv1.Deployment {
		d := &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Replicas: new(int32(3)), ProgressDeadlineSeconds: new(int32(600))}}
		d.Generation, d.Status = 2, appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 4, UpdatedReplicas: 2, AvailableReplicas: 3}
		change(d)
		return d
	}
	usual := workload.Rollout{Wanted: 3, Updated: 2, Outdated: 2, Available: 3, Observed: true}
	with := func(change func(*workload.Rollout)) workload.Rollout {
		rollout := usual
		rollout.Deadline = 600
		change(&rollout)
		return rollout
	}
	stateful := &appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{Replicas: new(int32(3))}}
	stateful.Generation, stateful.Status = 2, appsv1.StatefulSetStatus{ObservedGeneration: 2, Replicas: 4, UpdatedReplicas: 2, AvailableReplicas: 3}
	daemons := &appsv1.DaemonSet{}
	daemons.Generation, daemons.Status = 2, appsv1.DaemonSetStatus{
		ObservedGeneration: 2, DesiredNumberScheduled: 3, CurrentNumberScheduled: 4, UpdatedNumberScheduled: 2, NumberAvailable: 3,
	}
	daemons.Spec.MinReadySeconds, daemons.Spec.Template.Spec.TerminationGracePeriodSeconds = 900, new(int64(30))
	for name, test := range map[string]struct {
		object any
		want   workload.Rollout
	}{
		"Deployment":                    {deployment(func(*appsv1.Deployment) {}), with(func(*workload.Rollout) {})},
		"Deployment, not observed":      {deployment(func(d *appsv1.Deployment) { d.Generation = 3 }), with(func(r *workload.Rollout) { r.Observed = false })},
		"Deployment of the usual size":  {deployment(func(d *appsv1.Deployment) { d.Spec.Replicas = nil }), with(func(r *workload.Rollout) { r.Wanted = 1 })},
		"Deployment without a deadline": {deployment(func(d *appsv1.Deployment) { *d.Spec.ProgressDeadlineSeconds = math.MaxInt32 }), with(func(r *workload.Rollout) { r.Deadline = math.MaxInt32 })},
		"Deployment that was complete":  {deployment(completed), with(func(r *workload.Rollout) { r.Completed = true })},
		"Deployment without quota":      {deployment(withoutQuota), with(func(r *workload.Rollout) { r.CannotCreate = true })},
		"Deployment that gave up":       {deployment(gaveUp), with(func(r *workload.Rollout) { r.GaveUp = true })},
		"StatefulSet":                   {stateful, with(func(r *workload.Rollout) { r.Deadline, r.Completed = 120, true })},
		"DaemonSet":                     {daemons, with(func(r *workload.Rollout) { r.Deadline = 120 + 900 + 30 })},
	} {
		t.Run(name, func(t *testing.T) {
			for _, kind := range WorkloadKinds {
				if parts, isOne := kind.Parts(test.object); isOne && parts.Rollout != test.want {
					t.Errorf("got %+v, want %+v", parts.Rollout, test.want)
				}
			}
		})
	}
}
