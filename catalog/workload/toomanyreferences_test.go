package workload

import (
	"strings"
	"testing"
	"unsafe"

	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/catalog/template"
)

// There are very many of both. Go allocates in sizes of classes, so one more byte would take 16 or
// 64 more.
func TestAConfigAndAWorkloadFitTheirSizeClasses(t *testing.T) {
	if got := unsafe.Sizeof(content.Config{}); got > 128 {
		t.Errorf("a config has %d bytes", got)
	}
	if got := unsafe.Sizeof(Workload{}); got > 512 {
		t.Errorf("a workload has %d bytes", got)
	}
}

// The API limits neither a subPath, whose first element is the key of a config, nor any name in a custom resource.
func TestNamesOfAnyLengthCountByTheirLength(t *testing.T) {
	const long = 100_000
	spec := corev1.PodSpec{
		Containers: []corev1.Container{{Name: "app", VolumeMounts: []corev1.VolumeMount{{Name: "v", SubPath: strings.Repeat("p", long)}}}},
		Volumes:    []corev1.Volume{objecttest.VolumeOf("web", false)},
	}
	references, _ := template.ReferencesOf("ns", &spec, template.Filter{})
	references = append(references, template.Reference{Config: objecttest.ConfigMapRef("web"), Container: strings.Repeat("c", long)})
	w := Workload{Object: Object{References: references}}
	if got, want := w.Size(), 2*long/BytesPerReference; got < want {
		t.Errorf("it counts like %d references, want %d", got, want)
	}
}
