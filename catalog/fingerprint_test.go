package catalog

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestDifferentTemplatesHaveDifferentFingerprints(t *testing.T) {
	container := readsAll("web", false)
	container.Resources.Limits = corev1.ResourceList{"memory": resource.MustParse("1Gi")}
	original := mustWorkload(deployment(container))
	for name, test := range map[string]struct {
		change                    func(*corev1.PodTemplateSpec)
		sameTemplate, samePodSpec bool
	}{
		"nothing changed": {func(*corev1.PodTemplateSpec) {}, true, true},
		"a quantity in another notation": {
			func(p *corev1.PodTemplateSpec) {
				p.Spec.Containers[0].Resources.Limits = corev1.ResourceList{"memory": resource.MustParse("1024Mi")}
			}, true, true,
		},
		"an empty map for none": {func(p *corev1.PodTemplateSpec) { p.Annotations = map[string]string{} }, true, true},
		"our restart timestamp": {
			func(p *corev1.PodTemplateSpec) { p.Annotations = map[string]string{TimestampAnnotation: "now"} }, true, false,
		},
		"our restart timestamp with its cause": {
			func(p *corev1.PodTemplateSpec) {
				p.Annotations = map[string]string{TimestampAnnotation: "now", CauseAnnotation: "an edit"}
			}, true, false,
		},
		"another annotation": {func(p *corev1.PodTemplateSpec) { p.Annotations = map[string]string{"a": "b"} }, false, false},
		"a label":            {func(p *corev1.PodTemplateSpec) { p.Labels["a"] = "b" }, false, false},
		"an image":           {func(p *corev1.PodTemplateSpec) { p.Spec.Containers[0].Image = "web:2" }, false, false},
		"a pod-template-hash of its own": {
			func(p *corev1.PodTemplateSpec) { p.Labels[appsv1.DefaultDeploymentUniqueLabelKey] = "x" }, false, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := deployment(container)
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

	if got := RevisionFingerprint(revision); got != workload.PodTemplate {
		t.Errorf("fingerprint %s, want %s", got, workload.PodTemplate)
	}
	revision.Annotations[TimestampAnnotation] = "before"
	if RevisionFingerprint(revision) == workload.PodTemplate {
		t.Error("a ReplicaSet from before the restart has the same fingerprint")
	}
}

func TestFingerprintsDoNotModifyTheTemplate(t *testing.T) {
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{
		Labels:      map[string]string{appsv1.DefaultDeploymentUniqueLabelKey: "x", "app": "web"},
		Annotations: map[string]string{TimestampAnnotation: "now", "a": "b"},
	}}
	want := template.DeepCopy()
	RevisionFingerprint(&template)
	fingerprints(&template)
	if diff := cmp.Diff(want, &template); diff != "" {
		t.Errorf("template (-want +got):\n%s", diff)
	}
}

func TestAFingerprintIsWrittenAs32Digits(t *testing.T) {
	if got := (Fingerprint{0xaf, 1}).String(); got != "af010000000000000000000000000000" {
		t.Error(got)
	}
}
