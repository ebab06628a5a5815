package controller

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/controller/objecttest"
	"kubernetes-deployment-restart-controller/internal/notes"
)

// BenchmarkOverviewOfLargeWorkloadsThatLackAConfig has more of them in each namespace than notes are kept of.
func BenchmarkOverviewOfLargeWorkloadsThatLackAConfig(b *testing.B) {
	w := gradual(b)
	show := func(name string, references int) {
		d := w.deployment(name, "gone")
		for i := range references {
			d.Spec.Template.Spec.Containers[0].Env = append(d.Spec.Template.Spec.Containers[0].Env, corev1.EnvVar{
				Name: fmt.Sprint("v", i), ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{
					LocalObjectReference: corev1.LocalObjectReference{Name: fmt.Sprint("c-", i)}, Key: "k",
				}},
			})
		}
		wholeStatus(d)
		d.Status.AvailableReplicas = 0
		w.deployments[name] = d
		w.show("deployments", d)
		ref := objecttest.DeploymentNamed(name)
		w.controller.absences.Put(ref, "configmap/gone does not exist", w.controller.role.Began)
		w.controller.Board.Resting.Judge(w.controller.catalog.Workload(ref), w.controller.role.Began)
	}
	for namespace := range 5 {
		for i := range notes.MaxOf {
			show(fmt.Sprintf("n%d/small-%d", namespace, i), 0)
		}
		for i := range 10 {
			show(fmt.Sprintf("n%d/large-%d", namespace, i), 9900)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		if o := w.overview(); o.Lacking.Total != 300 || o.Unready.Total != 0 {
			b.Fatalf("lacking %d, unready %d", o.Lacking.Total, o.Unready.Total)
		}
	}
}
