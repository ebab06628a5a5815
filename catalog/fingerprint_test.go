package catalog

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestFingerprintsTellTemplatesApart(t *testing.T) {
	original := mustWorkload(deployment(readsAll("web", false)))
	for name, test := range map[string]struct {
		change                    func(*corev1.PodTemplateSpec)
		sameTemplate, samePodSpec bool
	}{
		"nothing changed":       {func(*corev1.PodTemplateSpec) {}, true, true},
		"an empty map for none": {func(p *corev1.PodTemplateSpec) { p.Annotations = map[string]string{} }, true, true},
		"our restart timestamp": {
			func(p *corev1.PodTemplateSpec) { p.Annotations = map[string]string{TimestampAnnotation: "now"} }, true, false,
		},
		"another annotation": {func(p *corev1.PodTemplateSpec) { p.Annotations = map[string]string{"a": "b"} }, false, false},
		"a label":            {func(p *corev1.PodTemplateSpec) { p.Labels["a"] = "b" }, false, false},
		"an image":           {func(p *corev1.PodTemplateSpec) { p.Spec.Containers[0].Image = "web:2" }, false, false},
		"a pod-template-hash of its own": {
			func(p *corev1.PodTemplateSpec) { p.Labels[appsv1.DefaultDeploymentUniqueLabelKey] = "x" }, false, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := deployment(readsAll("web", false))
			test.change(&d.Spec.Template)
			changed := mustWorkload(d)
			if got := changed.Template == original.Template; got != test.sameTemplate {
				t.Errorf("same Template: %v, want %v", got, test.sameTemplate)
			}
			if got := changed.PodTemplate == original.PodTemplate; got != test.samePodSpec {
				t.Errorf("same PodTemplate: %v, want %v", got, test.samePodSpec)
			}
		})
	}
}

func TestAReplicaSetOfTheTemplateHasItsFingerprint(t *testing.T) {
	d := deployment(readsAll("web", false))
	d.Spec.Template.Annotations = map[string]string{TimestampAnnotation: "now", "a": "b"}
	revision := d.Spec.Template.DeepCopy()
	revision.Labels[appsv1.DefaultDeploymentUniqueLabelKey] = "76b9d5c8f4"
	workload := mustWorkload(d)

	got, err := RevisionFingerprint(revision)
	if err != nil || got != workload.PodTemplate {
		t.Errorf("fingerprint %s, %v, want %s", got, err, workload.PodTemplate)
	}
	revision.Annotations[TimestampAnnotation] = "before"
	if got, err = RevisionFingerprint(revision); err != nil || got == workload.PodTemplate {
		t.Errorf("a ReplicaSet from before the restart has the same fingerprint (%v)", err)
	}
}

func TestFingerprintsDoNotModifyTheTemplate(t *testing.T) {
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{
		Labels:      map[string]string{appsv1.DefaultDeploymentUniqueLabelKey: "x", "app": "web"},
		Annotations: map[string]string{TimestampAnnotation: "now", "a": "b"},
	}}
	want := template.DeepCopy()
	_, err1 := RevisionFingerprint(&template)
	_, err2 := fingerprint(&template, TimestampAnnotation, "a")
	if err1 != nil || err2 != nil {
		t.Error(err1, err2)
	}
	if diff := cmp.Diff(want, &template); diff != "" {
		t.Errorf("template (-want +got):\n%s", diff)
	}
}

func TestAFingerprintIsWrittenAs16Digits(t *testing.T) {
	if got := Fingerprint(0xaf).String(); got != "00000000000000af" {
		t.Error(got)
	}
}
