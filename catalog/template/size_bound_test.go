//go:build !race

package template_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog/catalogtest"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/catalog/template"
)

// Each event of a workload reads it anew.
func BenchmarkReadAWorkloadOfManyHiddenKeys(b *testing.B) {
	d := objecttest.Deployment(corev1.Container{})
	d.Spec.Template.Spec = *objecttest.HidingSpec(16, template.MaxHidden, 1, "a", 18)
	b.ReportAllocs()
	for b.Loop() {
		catalogtest.MustWorkload(d)
	}
}
