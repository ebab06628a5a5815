package decide

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/catalogtest"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/catalog/record"
)

func TestAWorkloadThatReadsNothingIsNotSaidToBeUpToDate(t *testing.T) {
	for name, d := range map[string]*appsv1.Deployment{
		"no config": objecttest.Deployment(corev1.Container{Name: "app"}),
		"an ignored one": func() *appsv1.Deployment {
			d := objecttest.Deployment(objecttest.ReadsAll("settings", false))
			d.Annotations[annotation.IgnoreAnnotation] = "configmap/*"
			return d
		}(),
	} {
		s := begin(d)
		s.listed(objecttest.ConfigMap("settings", map[string]string{"k": "1"}))
		view, _ := s.catalog.View(objecttest.DeploymentRef(d.Name))
		decision := Decide(view)
		if decision.Outcome != RecordOnly || decision.Reason != reasonReadsNothing {
			t.Errorf("%s: %s: %s", name, decision.Outcome, decision.Reason)
		}
		catalogtest.WriteRecord(d, record.Checksums{}, objecttest.Noon)
		s.listed(objecttest.ConfigMap("settings", map[string]string{"k": "1"}))
		view, _ = s.catalog.View(objecttest.DeploymentRef(d.Name))
		if reason := Decide(view).Reason; reason != reasonReadsNothing {
			t.Errorf("%s, with a record: %s", name, reason)
		}
	}
}
