package workload_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/policy"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

const (
	waits  = "It waits at step 1 of 2."
	goesOn = "It is progressing. To abort it, do so."
)

// stepping is a Deployment of 4 pods, one of them new, with these conditions.
func stepping(step, progressing appsv1.DeploymentCondition) *appsv1.Deployment {
	step.Type, progressing.Type = "WaitsAtStep", appsv1.DeploymentProgressing
	return &appsv1.Deployment{
		Spec: appsv1.DeploymentSpec{Replicas: new(int32(4))},
		Status: appsv1.DeploymentStatus{
			Replicas: 4, UpdatedReplicas: 1, AvailableReplicas: 4, Conditions: []appsv1.DeploymentCondition{step, progressing},
		},
	}
}

func TestTheConditionsSayWhichRolloutTakesStepsAndWhetherItWaits(t *testing.T) {
	paused := appsv1.DeploymentCondition{Status: corev1.ConditionUnknown, Reason: "DeploymentPaused", Message: waits}
	progressing := appsv1.DeploymentCondition{Status: corev1.ConditionTrue, Reason: "ReplicaSetUpdated", Message: "It is progressing."}
	step := func(status corev1.ConditionStatus, reason, message string) appsv1.DeploymentCondition {
		return appsv1.DeploymentCondition{Status: status, Reason: reason, Message: message}
	}
	for name, test := range map[string]struct {
		d      *appsv1.Deployment
		course workload.Course
		waits  bool
		atStep string
	}{
		"a release waits":               {stepping(step("True", "Release", waits), paused), workload.ReleaseTakesSteps, true, waits},
		"a restart waits":               {stepping(step("True", "Restart", waits), paused), workload.RestartTakesSteps, true, waits},
		"it waits, and a pod is down":   {stepping(step("False", "Release", waits), paused), workload.ReleaseTakesSteps, false, waits},
		"it goes on":                    {stepping(step("False", "Restart", goesOn), progressing), workload.RestartTakesSteps, false, ""},
		"a restart was aborted":         {stepping(step("True", "Restart", waits), appsv1.DeploymentCondition{Status: "False", Reason: "ProgressDeadlineExceeded", Message: waits}), workload.RestartAborted, false, waits},
		"another controller left it":    {stepping(step("True", "Release", waits), progressing), workload.RollsOut, false, ""},
		"it took steps, and has failed": {fallenAtStep(), workload.Aborted, false, ""},
	} {
		parts := workload.PartsOfDeployment(test.d)
		if got := parts.Rollout; got.Course != test.course || got.Waits != test.waits || parts.AtStep != test.atStep || (parts.Stepping != "") != test.course.TakesSteps() {
			t.Errorf("%s: %+v, at %q, %q", name, got, parts.AtStep, parts.Stepping)
		}
	}
	complete := stepping(step("False", "Release", goesOn), progressing)
	complete.Status.UpdatedReplicas = 4
	if got := workload.PartsOfDeployment(complete).Rollout.Course; got != workload.RollsOut {
		t.Errorf("no earlier pod is left, and its course is %d", got)
	}
}

// fallenAtStep is a Deployment whose release has failed, with a condition that is left.
func fallenAtStep() *appsv1.Deployment {
	failed := appsv1.DeploymentCondition{Status: corev1.ConditionFalse, Reason: "ProgressDeadlineExceeded", Message: "It has failed."}
	d := stepping(appsv1.DeploymentCondition{Status: corev1.ConditionTrue, Reason: "Release", Message: waits}, failed)
	d.Status.Conditions = append(d.Status.Conditions, appsv1.DeploymentCondition{Type: "FallenBack", Status: corev1.ConditionTrue, Message: "It has failed."})
	return d
}

func TestOnlyAReleaseThatTakesStepsChangesTheMethod(t *testing.T) {
	for course, want := range map[workload.Course]policy.Method{
		workload.ReleaseTakesSteps: policy.ByEviction, workload.RestartTakesSteps: policy.ByTemplate, workload.RestartAborted: policy.ByTemplate, workload.RollsOut: policy.ByTemplate,
	} {
		o := workload.Object{Ref: names.WorkloadRef{Kind: names.Deployment}, Rollout: workload.Rollout{Course: course}}
		if got := o.Method(); got != want {
			t.Errorf("%d: %s", course, got)
		}
		const held = "its release takes steps, and pods of an earlier one run, which only evictions restart, for which the controller needs the flag --evict"
		if got := o.MethodHold(false); (got == held) != (want == policy.ByEviction) || o.MethodHold(true) != "" {
			t.Errorf("%d: held by %q, with the flag by %q", course, got, o.MethodHold(true))
		}
	}
}
