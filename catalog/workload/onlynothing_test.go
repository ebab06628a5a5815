package workload

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/names"
)

func TestAnAnnotationOnlyThatNamesNothingThatTheTemplateReadsIsAMistake(t *testing.T) {
	for name, test := range map[string]struct {
		annotations map[string]string
		readsNone   bool
		isMistake   bool
	}{
		"a typo":                     {map[string]string{annotation.OnlyAnnotation: "configmap/setings"}, false, true},
		"a key that nothing reads":   {map[string]string{annotation.OnlyAnnotation: "configmap/settings:OTHER"}, false, true},
		"a glob without a match":     {map[string]string{annotation.OnlyAnnotation: "configmap/web-*"}, false, true},
		"a typo besides an ignore":   {map[string]string{annotation.OnlyAnnotation: "configmap/setings", annotation.IgnoreAnnotation: "configmap/a"}, false, true},
		"what it reads":              {map[string]string{annotation.OnlyAnnotation: "configmap/settings"}, false, false},
		"one of two":                 {map[string]string{annotation.OnlyAnnotation: "configmap/setings,configmap/settings"}, false, false},
		"what it reads, but ignores": {map[string]string{annotation.OnlyAnnotation: "configmap/settings", annotation.IgnoreAnnotation: "configmap/settings"}, false, false},
		"everything ignored":         {map[string]string{annotation.IgnoreAnnotation: "configmap/*"}, false, false},
		"what also adds":             {map[string]string{annotation.OnlyAnnotation: "configmap/none", annotation.AlsoAnnotation: "configmap/api"}, false, false},
		"of what reads nothing":      {map[string]string{annotation.OnlyAnnotation: "configmap/setings"}, true, false},
	} {
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", Annotations: test.annotations}}
		d.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
		container := corev1.Container{Name: "main"}
		if !test.readsNone {
			container.Env = []corev1.EnvVar{{Name: "LEVEL", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{
				LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}, Key: "LEVEL",
			}}}}
		}
		d.Spec.Template.Spec.Containers = []corev1.Container{container}
		parts := PartsOfDeployment(d)
		w, err := NewWorkload(names.Deployment, &parts)
		if err != nil {
			t.Fatal(err)
		}
		isMistake := w.Policy != nil && strings.HasPrefix(w.Policy.Problem, "annotation "+annotation.OnlyAnnotation+": ") && strings.Contains(w.Policy.Problem, "so no edit restarts this workload")
		if isMistake != test.isMistake {
			t.Errorf("%s: the policy is %+v, %d references", name, w.Policy, len(w.References))
		}
	}
}
