package origin

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func TestChangesNamesWhatDiffersWithoutValues(t *testing.T) {
	web := func(change func(*corev1.PodTemplateSpec)) *corev1.PodTemplateSpec {
		t := &corev1.PodTemplateSpec{}
		t.Labels, t.Annotations = map[string]string{"app": "web"}, map[string]string{"note": "a"}
		t.Spec.Containers = []corev1.Container{{Name: "web", Image: "registry:5000/shop/web:v1", Env: []corev1.EnvVar{{Name: "PASSWORD", Value: "hunter2"}}}}
		change(t)
		return t
	}
	image := func(name string) func(*corev1.PodTemplateSpec) {
		return func(t *corev1.PodTemplateSpec) { t.Spec.Containers[0].Image = name }
	}
	for name, test := range map[string]struct {
		change func(*corev1.PodTemplateSpec)
		want   string
	}{
		"nothing":              {func(*corev1.PodTemplateSpec) {}, ""},
		"a tag":                {image("registry:5000/shop/web:v2"), "image of web: v1 to v2"},
		"another repository":   {image("registry:5000/web:v1"), "image of web: registry:5000/shop/web:v1 to registry:5000/web:v1"},
		"no tag":               {image("registry:5000/shop/web"), "image of web: registry:5000/shop/web:v1 to registry:5000/shop/web"},
		"a digest":             {image("registry:5000/shop/web@sha256:12"), "image of web: v1 to sha256:12"},
		"a variable":           {func(t *corev1.PodTemplateSpec) { t.Spec.Containers[0].Env[0].Value = "hunter3" }, "env of web"},
		"labels":               {func(t *corev1.PodTemplateSpec) { t.Labels = map[string]string{"tier": "b"} }, "label app, label tier"},
		"an annotation":        {func(t *corev1.PodTemplateSpec) { t.Annotations["note"] = "b" }, "annotation note"},
		"one that is left out": {func(t *corev1.PodTemplateSpec) { t.Annotations["restarted"] = "b" }, ""},
		"containers": {func(t *corev1.PodTemplateSpec) {
			t.Spec.InitContainers = []corev1.Container{{Name: "init"}}
			t.Spec.Containers[0].Name = "app"
		}, "init container init added, container app added, container web removed"},
		"an image after others": {func(t *corev1.PodTemplateSpec) {
			t.Labels["app"], t.Spec.ServiceAccountName, t.Spec.Containers[0].Image = "b", "b", "registry:5000/shop/web:v2"
		}, "image of web: v1 to v2, label app, serviceAccountName"},
		"a quantity in other words": {func(t *corev1.PodTemplateSpec) {
			t.Spec.Overhead = corev1.ResourceList{}
		}, ""},
	} {
		got := strings.Join(Changes(web(func(*corev1.PodTemplateSpec) {}), web(test.change), "restarted"), ", ")
		if got != test.want || strings.Contains(got, "hunter") {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestQuantitiesThatAreEqualAreNoChange(t *testing.T) {
	template := func(cpu string) *corev1.PodTemplateSpec {
		t := &corev1.PodTemplateSpec{}
		t.Spec.Containers = []corev1.Container{{Name: "web", Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}}}}
		return t
	}
	if changes := Changes(template("1"), template("1000m")); len(changes) > 0 {
		t.Errorf("%q", changes)
	}
	if changes := Changes(template("1"), template("2")); !slices.Equal(changes, []string{"resources of web"}) {
		t.Errorf("%q", changes)
	}
}

// Anyone may make a template of any size.
func TestChangesAreFewAndShort(t *testing.T) {
	large := &corev1.PodTemplateSpec{}
	for i := range 1000 {
		large.Spec.Containers = append(large.Spec.Containers, corev1.Container{Name: fmt.Sprint("c", i), Image: strings.Repeat("v", 4000)})
	}
	other := large.DeepCopy()
	for i := range other.Spec.Containers {
		other.Spec.Containers[i].Image += "2"
	}
	changes := Changes(large, other)
	if text := strings.Join(changes, ", "); len(changes) != maxChanges || !strings.HasSuffix(text, ", 993 more") || len(text) > 4096 {
		t.Errorf("%d changes, %d bytes: %q", len(changes), len(text), text)
	}
}
