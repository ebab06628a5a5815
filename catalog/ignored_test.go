package catalog

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// ignoredConfigMap is a ConfigMap with the annotation that lets its changes restart nobody.
func ignoredConfigMap(name string, content data) *corev1.ConfigMap {
	cm := configMap(name, content)
	cm.Annotations = map[string]string{IgnoreAnnotation: "true"}
	return cm
}

func TestOnlyTheValueTrueLetsAConfigBeIgnored(t *testing.T) {
	for value, want := range map[string]string{
		"true": "",
		"":     `annotation com.xing.deployment-restart.ignore: "" is not "true", so changes of the config count`,
		"TRUE": `annotation com.xing.deployment-restart.ignore: "TRUE" is not "true", so changes of the config count`,
	} {
		cm := configMap("web", nil)
		cm.Annotations = map[string]string{IgnoreAnnotation: value}
		if policy := NewConfigMap(cm).Policy; policy.Problem != want || policy.Ignored != (want == "") {
			t.Errorf("%q: %+v", value, policy)
		}
	}
}

func TestIgnoringAConfigAndTheEndOfThatAreNews(t *testing.T) {
	s := begin(deployment(readsAll("web", false)))
	s.listed(configMap("web", data{"key": "1"}))
	s.recorded(10)
	for step, test := range []struct {
		cm     *corev1.ConfigMap
		isNews bool
	}{
		{ignoredConfigMap("web", data{"key": "1"}), true},
		{ignoredConfigMap("web", data{"key": "1"}), false},
		{configMap("web", data{"key": "1"}), true},
		{configMap("web", data{"key": "1"}), false},
	} {
		if news := s.catalog.ObserveConfig(NewConfigMap(test.cm), noonPlus(float64(20+10*step))); news != test.isNews {
			t.Errorf("step %d: %t", step, news)
		}
	}
}

// Whoever writes new content and ends the annotation at once wants the content to count, unless a list
// after a gap shows both: then nobody knows what came first.
func TestAnEditThatComesWithTheEndOfIgnoringCounts(t *testing.T) {
	for name, test := range map[string]struct {
		listed bool
		want   Outcome
	}{"in one event": {false, Restart}, "in a list": {true, RecordOnly}} {
		s := begin(deployment(readsAll("web", false)))
		s.listed(ignoredConfigMap("web", data{"key": "1"}))
		view, _ := s.catalog.View(deploymentRef("web"))
		decision := Decide(view)
		if decision.Without.Ignored != "configmap/web" || len(decision.Checksums) > 0 {
			t.Fatalf("%+v", decision)
		}
		writeRecordWithout(s.deployment, decision.Checksums, decision.Without, noonPlus(10))
		s.catalog.ObserveWorkload(s.reduced())
		after := configMap("web", data{"key": "2"})
		if test.listed {
			listConfigs(s.catalog, ConfigMap, "", listOf(NewConfigMap(after)), noonPlus(60), false)
		} else {
			s.catalog.ObserveConfig(NewConfigMap(after), noonPlus(60))
		}
		view, _ = s.catalog.View(deploymentRef("web"))
		if decision = Decide(view); decision.Outcome == AskPods {
			decision = DecideByPods(view, []Pod{startedAt(noonPlus(5))})
		}
		if decision.Outcome != test.want {
			t.Errorf("%s: %+v", name, decision)
		}
	}
}

func TestChangesOfAnIgnoredConfigAreNotVisible(t *testing.T) {
	w := mustWorkload(deployment(readsAll("web", false)))
	before, after := NewConfigMap(configMap("web", data{"key": "1"})), NewConfigMap(configMap("web", data{"key": "2"}))
	ignored := NewConfigMap(ignoredConfigMap("web", data{"key": "2"}))
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
		container.EnvFrom = append(container.EnvFrom, readsAll(name, true).EnvFrom...)
		configs = append(configs, ignoredConfigMap(name, data{"key": "1"}))
	}
	s := begin(deployment(container))
	s.listed(configs...)
	view, _ := s.catalog.View(deploymentRef("web"))
	decision := Decide(view)
	if text := decision.Without.Ignored; len(text) > maxIgnored || !strings.HasSuffix(text, ",*") {
		t.Fatalf("recorded: %q", text)
	}
	writeRecordWithout(s.deployment, decision.Checksums, decision.Without, noonPlus(10))
	s.catalog.ObserveWorkload(s.reduced())
	for _, name := range []string{"config-000", "config-099"} {
		s.catalog.ObserveConfig(NewConfigMap(configMap(name, data{"key": "1"})), noonPlus(60))
		view, _ = s.catalog.View(deploymentRef("web"))
		if decision := Decide(view); decision.Outcome != RecordOnly {
			t.Errorf("%s counts again: %+v", name, decision)
		}
	}
}
