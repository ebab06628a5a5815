package decide

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/catalogtest"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
)

// The lists of the kinds can come long after each other, such as when one of them is forbidden.
func TestWhatAWatchShowsBeforeAllKindsAreListedDoesNotEndAMarkedInterval(t *testing.T) {
	secret := func(state string) content.Config {
		return content.NewSecret(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web"}, Data: map[string][]byte{"a": []byte(state)}})
	}
	for name, shown := range map[string]func(*story){
		"creation": func(s *story) {
			s.listed(objecttest.ConfigMap("z", objecttest.Data{"a": "1"}))
			s.created("x", objecttest.Data{"a": "1"}, 260)
		},
		"edit": func(s *story) {
			s.listed(objecttest.ConfigMap("z", objecttest.Data{"a": "1"}), objecttest.ConfigMap("x", objecttest.Data{"a": "1"}))
			s.config("z", objecttest.Data{"a": "2"}, 255)
			s.config("z", objecttest.Data{"a": "1"}, 260)
		},
	} {
		t.Run(name, func(t *testing.T) {
			container := corev1.Container{Name: "app", EnvFrom: append(objecttest.ReadsAll("x", true).EnvFrom, objecttest.ReadsAll("z", false).EnvFrom...)}
			container.EnvFrom = append(container.EnvFrom, corev1.EnvFromSource{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "web"}}})
			s := begin(objecttest.Deployment(container))
			s.catalog.SetKey(catalogtest.TestKey)
			listConfigs(s.catalog, names.Secret, "", objecttest.ListOf(secret("1")), objecttest.Noon, true)
			s.listed(objecttest.ConfigMap("x", objecttest.Data{"a": "1"}), objecttest.ConfigMap("z", objecttest.Data{"a": "1"}))
			s.recorded(10)
			s.catalog.ObserveConfig(secret("2"), objecttest.NoonPlus(60))
			s.marked(t, objecttest.NoonPlus(60), false)
			s.deleted("x", 100)
			s.catalog = catalog.New()
			s.catalog.SetKey(catalogtest.TestKey)
			shown(s)
			listConfigs(s.catalog, names.Secret, "", objecttest.ListOf(secret("1")), objecttest.NoonPlus(300), true) // as recorded since second 290
			requireOutcome(t, s, Restart, startedAt(objecttest.NoonPlus(270)))
		})
	}
}
