package catalog

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestAnAnnotationOnlyThatNamesNothingThatTheTemplateReadsIsAMistake(t *testing.T) {
	for name, test := range map[string]struct {
		annotations map[string]string
		readsNone   bool
		isMistake   bool
	}{
		"a typo":                     {map[string]string{OnlyAnnotation: "configmap/setings"}, false, true},
		"a key that nothing reads":   {map[string]string{OnlyAnnotation: "configmap/settings:OTHER"}, false, true},
		"a glob without a match":     {map[string]string{OnlyAnnotation: "configmap/web-*"}, false, true},
		"a typo besides an ignore":   {map[string]string{OnlyAnnotation: "configmap/setings", IgnoreAnnotation: "configmap/a"}, false, true},
		"what it reads":              {map[string]string{OnlyAnnotation: "configmap/settings"}, false, false},
		"one of two":                 {map[string]string{OnlyAnnotation: "configmap/setings,configmap/settings"}, false, false},
		"what it reads, but ignores": {map[string]string{OnlyAnnotation: "configmap/settings", IgnoreAnnotation: "configmap/settings"}, false, false},
		"everything ignored":         {map[string]string{IgnoreAnnotation: "configmap/*"}, false, false},
		"what also adds":             {map[string]string{OnlyAnnotation: "configmap/none", AlsoAnnotation: "configmap/api"}, false, false},
		"of what reads nothing":      {map[string]string{OnlyAnnotation: "configmap/setings"}, true, false},
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
		w, err := NewWorkload(Deployment, &parts)
		if err != nil {
			t.Fatal(err)
		}
		isMistake := w.Policy != nil && strings.HasPrefix(w.Policy.Problem, "annotation "+OnlyAnnotation+": ") && strings.Contains(w.Policy.Problem, "so no edit restarts this workload")
		if isMistake != test.isMistake {
			t.Errorf("%s: the policy is %+v, %d references", name, w.Policy, len(w.References))
		}
	}
}

func TestAnAnnotationOnlyThatNamesNothingNamesWhatIsProbablyMeant(t *testing.T) {
	for only, want := range map[string]string{
		"configmap/setings":         "so no edit restarts this workload; configmap/settings is probably meant",
		"configmap/web-db,secret/x": "so no edit restarts this workload; secret/web-db is probably meant",
		"configmap/settings:OTHER":  "so no edit restarts this workload; it reads other keys of configmap/settings",
		"configmap/elsewhere":       "so no edit restarts this workload",
		"configmap/b":               "so no edit restarts this workload",
		"configmap/web-*":           "so no edit restarts this workload",
	} {
		d := deployment(corev1.Container{Name: "main", Env: []corev1.EnvVar{
			{Name: "A", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "a"}, Key: "A"}}},
			{Name: "B", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}, Key: "B"}}},
			{Name: "C", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "web-db"}, Key: "C"}}},
		}})
		d.Annotations[OnlyAnnotation] = only
		if w := mustWorkload(d); w.Policy == nil || !strings.HasSuffix(w.Policy.Problem, want) {
			t.Errorf("%s: %+v, want %s", only, w.Policy, want)
		}
	}
}
