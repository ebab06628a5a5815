package workload

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/record"
)

func TestFingerprintsDoNotModifyTheTemplate(t *testing.T) {
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{
		Labels:      map[string]string{appsv1.DefaultDeploymentUniqueLabelKey: "x", "app": "web"},
		Annotations: map[string]string{annotation.TimestampAnnotation: "now", "a": "b"},
	}}
	want := template.DeepCopy()
	record.RevisionFingerprint(&template)
	record.Fingerprints(&template)
	if diff := cmp.Diff(want, &template); diff != "" {
		t.Errorf("template (-want +got):\n%s", diff)
	}
}

func TestAFingerprintIsWrittenAs32Digits(t *testing.T) {
	if got := (record.Fingerprint{0xaf, 1}).String(); got != "af010000000000000000000000000000" {
		t.Error(got)
	}
}
