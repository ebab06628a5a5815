package workload

import (
	"encoding/json"

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

// readsOf returns the spec by which the pods read their configs: that of the earlier release, as far as it is known.
func readsOf(d *appsv1.Deployment) *corev1.PodSpec {
	encoded := []byte(podtemplate.EncodedReads(d.Annotations[podtemplate.RunsAnnotation]))
	spec := &corev1.PodSpec{}
	if template.CheckQuantities(encoded) != nil || json.Unmarshal(encoded, spec) != nil {
		return &d.Spec.Template.Spec
	}
	return spec
}
