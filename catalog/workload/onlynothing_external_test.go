package workload_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/catalogtest"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
)

func TestAnAnnotationOnlyThatNamesNothingNamesWhatIsProbablyMeant(t *testing.T) {
	for only, want := range map[string]string{
		"configmap/setings":         "so no edit restarts this workload; configmap/settings is probably meant",
		"configmap/web-db,secret/x": "so no edit restarts this workload; secret/web-db is probably meant",
		"configmap/settings:OTHER":  "so no edit restarts this workload; it reads other keys of configmap/settings",
		"configmap/elsewhere":       "so no edit restarts this workload",
		"configmap/b":               "so no edit restarts this workload",
		"configmap/web-*":           "so no edit restarts this workload",
	} {
		d := objecttest.Deployment(corev1.Container{Name: "main", Env: []corev1.EnvVar{
			{Name: "A", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "a"}, Key: "A"}}},
			{Name: "B", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}, Key: "B"}}},
			{Name: "C", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "web-db"}, Key: "C"}}},
		}})
		d.Annotations[annotation.OnlyAnnotation] = only
		if w := catalogtest.MustWorkload(d); w.Policy == nil || !strings.HasSuffix(w.Policy.Problem, want) {
			t.Errorf("%s: %+v, want %s", only, w.Policy, want)
		}
	}
}
