package workload_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/catalogtest"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/catalog/record"
)

func TestDifferentTemplatesHaveDifferentFingerprints(t *testing.T) {
	container := objecttest.ReadsAll("web", false)
	container.Resources.Limits = corev1.ResourceList{"memory": resource.MustParse("1Gi")}
	original := catalogtest.MustWorkload(objecttest.Deployment(container))
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
			func(p *corev1.PodTemplateSpec) {
				p.Annotations = map[string]string{annotation.TimestampAnnotation: "now"}
			}, true, false,
		},
		"our restart timestamp with its cause": {
			func(p *corev1.PodTemplateSpec) {
				p.Annotations = map[string]string{annotation.TimestampAnnotation: "now", annotation.CauseAnnotation: "an edit"}
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
			d := objecttest.Deployment(container)
			test.change(&d.Spec.Template)
			changed := catalogtest.MustWorkload(d)
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
	d := objecttest.Deployment(objecttest.ReadsAll("web", false))
	d.Spec.Template.Annotations = map[string]string{annotation.TimestampAnnotation: "now", "a": "b"}
	revision := d.Spec.Template.DeepCopy()
	revision.Labels[appsv1.DefaultDeploymentUniqueLabelKey] = "76b9d5c8f4"
	workload := catalogtest.MustWorkload(d)

	if got := record.RevisionFingerprint(revision); got != workload.PodTemplate {
		t.Errorf("fingerprint %s, want %s", got, workload.PodTemplate)
	}
	revision.Annotations[annotation.TimestampAnnotation] = "before"
	if record.RevisionFingerprint(revision) == workload.PodTemplate {
		t.Error("a ReplicaSet from before the restart has the same fingerprint")
	}
}
