package workload

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog/record"
)

// Rollout is what the status of a workload says about the pods of its present template. Each kind
// of workload has fields of its own for it.
type Rollout struct {
	// Wanted is how many pods the workload wants, Updated is how many pods of the present template
	// it has, Outdated is how many other pods it has, and Available is how many of all its pods are
	// available.
	Wanted, Updated, Outdated, Available int32
	// Deadline is for how many seconds the rollout may make no progress by the workload's own
	// settings.
	Deadline int32
	// Observed means that its controller has seen the present pod template, which the numbers are
	// about.
	Observed bool
	// GaveUp means that its controller has found no progress for too long.
	GaveUp bool
	// Course is what its controller does with the present template.
	Course Course
	// Completed means that the rollout was complete at some time, even if pods are missing now. The
	// status of a DaemonSet does not show it.
	Completed bool
	// ByPods means that the status does not say how a rollout goes: only Wanted and Deadline are known, and what
	// follows from the pods themselves is not part of the catalog.
	ByPods bool
	// Waits means that the rollout makes no progress until a person or a timer lets it, as between the steps of a canary.
	Waits bool
	// CannotCreate means that pods cannot be created, such as for lack of quota.
	CannotCreate bool
	// OwnRestart says whether its controller replaces pods without another pod template.
	OwnRestart OwnRestart
}

// Course is what the controller of a workload does with its present template.
type Course uint8

// The courses.
const (
	// RollsOut means that all pods are to be of the template.
	RollsOut Course = iota
	// Aborted means that it has given up the template and taken its pods away, as Argo Rollouts does if an analysis fails, and the
	// deployment engine if a release falls back. No pod need be left to show why.
	Aborted
	// AbortedUnstarted means that, too, and that no container of the template has started, for lack of an image.
	AbortedUnstarted
	// ReleaseTakesSteps means that it rolls a release out step by step, so that pods of two releases run on purpose.
	ReleaseTakesSteps
	// RestartTakesSteps means the same of a restart, and RestartAborted that a person has said that it failed. Its pods stay.
	RestartTakesSteps
	RestartAborted
)

// IsAborted reports whether the template has been given up.
func (c Course) IsAborted() bool { return c.isFallenBack() || c == RestartAborted }

// TakesSteps reports whether pods of two templates run on purpose.
func (c Course) TakesSteps() bool {
	return c == ReleaseTakesSteps || c == RestartTakesSteps || c == RestartAborted
}

// isFallenBack reports whether no pods of the template are to be left.
func (c Course) isFallenBack() bool { return c == Aborted || c == AbortedUnstarted }

// IsWhole reports whether the workload runs with all pods that it wants, all of them made from
// the present template.
func (r Rollout) IsWhole() bool {
	return r.Observed && r.Updated >= r.Wanted && r.Outdated <= 0 && r.Available >= r.Wanted
}

// Runs reports whether so many pods run, and none is left of another template.
func (r Rollout) Runs(before int32) bool { return r.Outdated <= 0 && r.MayRun(before) }

// MayRun reports that, too, if no more pods are left of another template than may be missing, such as one on a node that is gone.
// Only the pods show which ones run.
func (r Rollout) MayRun(before int32) bool {
	return r.Observed && r.Updated >= before && r.Outdated <= r.Wanted-before && r.Available >= before
}

// Ran returns how many pods run, by which a restart that begins now is judged.
func (r Rollout) Ran() record.Ran {
	switch {
	case r.IsWhole():
		return record.AllRan
	case !r.Observed || r.Outdated > 0 || r.Available <= 0: // another template may break the pods
		return 0
	}
	return record.AllBut(r.Wanted - r.Available)
}

// LacksPods reports whether the status of the workload shows that not all pods run that it wants. Pods of an earlier template
// count if nothing replaces them by itself. The status of some kinds does not show it.
func (o *Object) LacksPods() bool {
	switch {
	case o.Idle, o.Rollout.ByPods:
		return false
	case o.Hold.HoldsAll():
		return o.Rollout.Available < o.Rollout.Wanted
	}
	return !o.Rollout.IsWhole()
}

// OfEarlierTemplate returns the rollout as if the earlier template were the present one: its controller has gone back to that.
func (r Rollout) OfEarlierTemplate() Rollout {
	r.Updated, r.Outdated = max(r.Outdated, 0), r.Updated
	r.Waits, r.GaveUp = false, false
	return r
}

// OfAnyTemplate returns the rollout as if it did not matter from which template the pods are.
func (r Rollout) OfAnyTemplate() Rollout {
	r.Updated, r.Outdated = r.Updated+max(r.Outdated, 0), 0
	r.Waits, r.GaveUp, r.Course = false, false, RollsOut
	return r
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
	fallenBack, message := condition(d, conditionFallenBack), condition(d, appsv1.DeploymentProgressing).Message
	if rollout.GaveUp && fallenBack.Status == corev1.ConditionTrue && fallenBack.Message == message { // another controller may have left the condition
		rollout.Course = Aborted
		if fallenBack.Reason == reasonLacksImage {
			rollout.Course = AbortedUnstarted
		}
		return rollout
	}
	rollout.noteSteps(d)
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

// without returns the rollout of all pods but so many that keep an earlier template.
func (r Rollout) without(kept int32) Rollout {
	r.Wanted, r.Outdated, r.Available = r.Wanted-kept, max(0, r.Outdated-kept), max(0, r.Available-kept)
	return r
}

// partition returns how many pods of a StatefulSet a restart by its template leaves alone, if there are others, and whether it leaves
// all alone.
func partition(s *appsv1.StatefulSet) (kept int32, isAll bool) {
	rolling := s.Spec.UpdateStrategy.RollingUpdate
	switch {
	case s.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType, rolling == nil, rolling.Partition == nil, *rolling.Partition <= 0:
		return 0, false
	case *rolling.Partition >= wanted(s.Spec.Replicas):
		return 0, true
	}
	return *rolling.Partition, false
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
