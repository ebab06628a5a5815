package workload

import (
	"encoding/json"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog/template"
	"kubernetes-deployment-restart-controller/internal/podtemplate"
)

// A Deployment whose release has failed may run the pods of an earlier one: the deployment engine sees to that. Then its configs
// are those that these pods read, and only evicted pods read them again.

// conditionFallenBack is a condition of the deployment engine's, with the same message as Progressing, and reasonLacksImage a
// reason of it.
const (
	conditionFallenBack = "FallenBack"
	reasonLacksImage    = "ReleaseLacksImage"
)

// fallenBack returns the condition of a Deployment that runs an earlier release.
func fallenBack(d *appsv1.Deployment) *appsv1.DeploymentCondition {
	i := slices.IndexFunc(d.Status.Conditions, func(c appsv1.DeploymentCondition) bool { return c.Type == conditionFallenBack })
	return &d.Status.Conditions[i]
}

// readsOf returns the spec by which the pods read their configs: that of the earlier release, as far as it is known.
func readsOf(d *appsv1.Deployment) *corev1.PodSpec {
	encoded := []byte(podtemplate.EncodedReads(d.Annotations[podtemplate.RunsAnnotation]))
	spec := &corev1.PodSpec{}
	if template.CheckQuantities(encoded) != nil || json.Unmarshal(encoded, spec) != nil {
		return &d.Spec.Template.Spec
	}
	return spec
}
