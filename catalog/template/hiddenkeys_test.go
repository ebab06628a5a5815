package template

import (
	"fmt"
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog/objecttest"
)

// Anyone may write such templates.
func TestManyHiddenKeysCostLittle(t *testing.T) {
	container := corev1.Container{Name: "app", Env: objecttest.ManyLiterals(MaxHidden)}
	prefixed := corev1.Container{Name: "prefixed", Env: objecttest.ManyLiterals(MaxHidden)}
	var volume corev1.ProjectedVolumeSource
	for i := range 3000 {
		source := objecttest.ReadsAll(fmt.Sprint("web-", i%1500), false).EnvFrom[0]
		container.EnvFrom = append(container.EnvFrom, source)
		source.Prefix = objecttest.KeyNamed(i)[:i%9]
		prefixed.EnvFrom = append(prefixed.EnvFrom, source)
		name := corev1.LocalObjectReference{Name: source.ConfigMapRef.Name}
		volume.Sources = append(volume.Sources, corev1.VolumeProjection{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: name}},
			corev1.VolumeProjection{Secret: &corev1.SecretProjection{LocalObjectReference: name, Items: []corev1.KeyToPath{{Key: "k", Path: fmt.Sprint(i)}}}})
	}
	container.VolumeMounts = []corev1.VolumeMount{{Name: "v"}}
	spec := corev1.PodSpec{
		Containers: []corev1.Container{container, prefixed},
		Volumes:    []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{Projected: &volume}}},
	}
	m := mentions{namespace: "ns"}
	if m.references(&spec, Filter{}); m.hidings != maxHidings {
		t.Errorf("%d selections leave something out", m.hidings)
	}
	lists := map[*string]int{}
	for _, reference := range m.list {
		if reference.Keys.ByRules {
			lists[&reference.Keys.Names[0]] = len(reference.Keys.Names)
		}
	}
	kept := 0
	for n := range maps.Values(lists) {
		kept += n
	}
	if len(lists) > maxHidings || kept > MaxReferences {
		t.Errorf("%d lists of %d keys are kept", len(lists), kept)
	}
}
