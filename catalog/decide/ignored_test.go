package decide

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/catalogtest"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/catalog/record"
)

// ignoredConfigMap is a ConfigMap with the annotation that lets its changes restart nobody.
func ignoredConfigMap(name string, content objecttest.Data) *corev1.ConfigMap {
	cm := objecttest.ConfigMap(name, content)
	cm.Annotations = map[string]string{annotation.IgnoreAnnotation: "true"}
	return cm
}

func TestOnlyTheValueTrueLetsAConfigBeIgnored(t *testing.T) {
	for value, want := range map[string]string{
		"true": "",
		"":     `annotation com.xing.deployment-restart.ignore: "" is not "true", so changes of the config count`,
		"TRUE": `annotation com.xing.deployment-restart.ignore: "TRUE" is not "true", so changes of the config count`,
	} {
		cm := objecttest.ConfigMap("web", nil)
		cm.Annotations = map[string]string{annotation.IgnoreAnnotation: value}
		if policy := content.NewConfigMap(cm).Policy; policy.Problem != want || policy.Ignored != (want == "") {
			t.Errorf("%q: %+v", value, policy)
		}
	}
}

func TestIgnoringAConfigAndTheEndOfThatAreNews(t *testing.T) {
	s := begin(objecttest.Deployment(objecttest.ReadsAll("web", false)))
	s.listed(objecttest.ConfigMap("web", objecttest.Data{"key": "1"}))
	s.recorded(10)
	for step, test := range []struct {
		cm     *corev1.ConfigMap
		isNews bool
	}{
		{ignoredConfigMap("web", objecttest.Data{"key": "1"}), true},
		{ignoredConfigMap("web", objecttest.Data{"key": "1"}), false},
		{objecttest.ConfigMap("web", objecttest.Data{"key": "1"}), true},
		{objecttest.ConfigMap("web", objecttest.Data{"key": "1"}), false},
	} {
		if news := s.catalog.ObserveConfig(content.NewConfigMap(test.cm), objecttest.NoonPlus(float64(20+10*step))); news != test.isNews {
			t.Errorf("step %d: %t", step, news)
		}
	}
}

func TestChangesOfAnIgnoredConfigAreNotVisible(t *testing.T) {
	w := catalogtest.MustWorkload(objecttest.Deployment(objecttest.ReadsAll("web", false)))
	before, after := content.NewConfigMap(objecttest.ConfigMap("web", objecttest.Data{"key": "1"})), content.NewConfigMap(objecttest.ConfigMap("web", objecttest.Data{"key": "2"}))
	ignored := content.NewConfigMap(ignoredConfigMap("web", objecttest.Data{"key": "2"}))
	if got := w.VisibleChanges(before.Ref, &before, &after); len(got) != 1 {
		t.Errorf("%v of a config that counts", got)
	}
	if got := w.VisibleChanges(before.Ref, &before, &ignored); len(got) != 0 {
		t.Errorf("%v of an ignored config", got)
	}
}

// The record has room for the names of some ignored configs, and stands for the others without their
// names.
func TestIgnoredConfigsThatDoNotFitAreRecordedWithoutTheirNames(t *testing.T) {
	container := corev1.Container{Name: "app"}
	var configs []*corev1.ConfigMap
	for i := range 100 {
		name := fmt.Sprintf("config-%03d", i)
		container.EnvFrom = append(container.EnvFrom, objecttest.ReadsAll(name, true).EnvFrom...)
		configs = append(configs, ignoredConfigMap(name, objecttest.Data{"key": "1"}))
	}
	s := begin(objecttest.Deployment(container))
	s.listed(configs...)
	view, _ := s.catalog.View(objecttest.DeploymentRef("web"))
	decision := Decide(view)
	if text := decision.Without.Ignored; len(text) > record.MaxIgnored || !strings.HasSuffix(text, ",*") {
		t.Fatalf("recorded: %q", text)
	}
	catalogtest.WriteRecordWithout(s.deployment, decision.Checksums, decision.Without, objecttest.NoonPlus(10))
	s.catalog.ObserveWorkload(s.reduced())
	for _, name := range []string{"config-000", "config-099"} {
		s.catalog.ObserveConfig(content.NewConfigMap(objecttest.ConfigMap(name, objecttest.Data{"key": "1"})), objecttest.NoonPlus(60))
		view, _ = s.catalog.View(objecttest.DeploymentRef("web"))
		if decision := Decide(view); decision.Outcome != RecordOnly {
			t.Errorf("%s counts again: %+v", name, decision)
		}
	}
}
