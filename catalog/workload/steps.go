package workload

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// A rollout of a Deployment may take steps: the deployment engine sees to that. While a release does, pods of two releases run, and
// only evicted ones all read their configs again. A restart goes on with the step of the one before it.

// conditionAtStep is a condition of the deployment engine's during such a rollout, and reasonRestart its reason if that is a restart.
// While the rollout waits, it has the same message as Progressing, and is true while all pods of the step are available.
const (
	conditionAtStep = "WaitsAtStep"
	reasonRestart   = "Restart"
)

// waitsAtStep returns what a Deployment waits for at a step, in the words of the deployment engine; empty if it does not wait.
func waitsAtStep(d *appsv1.Deployment) string {
	c, progressing := condition(d, conditionAtStep), condition(d, appsv1.DeploymentProgressing)
	if progressing.Status != corev1.ConditionTrue && c.Message == progressing.Message {
		return c.Message
	}
	return ""
}

// condition returns a condition of a Deployment, the zero value if it has none.
func condition(d *appsv1.Deployment, of appsv1.DeploymentConditionType) appsv1.DeploymentCondition {
	i := slices.IndexFunc(d.Status.Conditions, func(c appsv1.DeploymentCondition) bool { return c.Type == of })
	if i < 0 {
		return appsv1.DeploymentCondition{}
	}
	return d.Status.Conditions[i]
}

// noteSteps notes which steps a Deployment takes. Another controller, which takes none, may have left the condition: then it is out of
// date at the latest when no earlier pods are left.
func (r *Rollout) noteSteps(d *appsv1.Deployment) {
	c, waits := condition(d, conditionAtStep), waitsAtStep(d) != ""
	switch {
	case c.Type == "", !waits && (c.Status == corev1.ConditionTrue || r.Outdated == 0):
		return
	case c.Reason != reasonRestart:
		r.Course = ReleaseTakesSteps
	case r.GaveUp && waits:
		r.Course = RestartAborted
	default:
		r.Course = RestartTakesSteps
	}
	r.Waits = waits && !r.GaveUp && c.Status == corev1.ConditionTrue
}
