package decide

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/catalogtest"
	"kubernetes-deployment-restart-controller/catalog/dialect"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
)

func markedConfigMap(name string, content objecttest.Data) *corev1.ConfigMap {
	cm := objecttest.ConfigMap(name, content)
	cm.Annotations = map[string]string{dialect.ReloaderMatch: "true"}
	return cm
}

func TestAMarkThatComesOrGoesIsNews(t *testing.T) {
	d := objecttest.Deployment(objecttest.ReadsAll("web", false))
	d.Annotations[dialect.ReloaderSearch] = "true"
	s := begin(d)
	s.listed(objecttest.ConfigMap("web", objecttest.Data{"key": "1"}))
	for step, test := range []struct {
		cm       *corev1.ConfigMap
		isNews   bool
		recorded string // of what is ignored
	}{
		{objecttest.ConfigMap("web", objecttest.Data{"key": "1"}), false, "configmap/web"},
		{markedConfigMap("web", objecttest.Data{"key": "1"}), true, ""},
		{markedConfigMap("web", objecttest.Data{"key": "1"}), false, ""},
		{objecttest.ConfigMap("web", objecttest.Data{"key": "1"}), true, "configmap/web"},
	} {
		if news := s.catalog.ObserveConfig(reducedConfigMap(test.cm), objecttest.NoonPlus(float64(20+10*step))); news != test.isNews {
			t.Errorf("step %d: it is news: %t", step, news)
		}
		view, _ := s.catalog.View(objecttest.DeploymentRef("web"))
		if got := Decide(view).Without; got.Ignored != test.recorded || got.Filter.Marked == 0 {
			t.Errorf("step %d: the record is to lack %+v", step, got)
		}
	}
}

func TestAMarkThatCameWhileTheRecordWasWrittenIsLaterThanTheRecord(t *testing.T) {
	d := objecttest.Deployment(objecttest.ReadsAll("web", false))
	d.Annotations[dialect.ReloaderSearch] = "true"
	s := begin(d)
	s.listed(objecttest.ConfigMap("web", objecttest.Data{"key": "1"}))
	view, _ := s.catalog.View(objecttest.DeploymentRef("web"))
	decision := Decide(view)
	mark := func(content string, seconds float64) {
		s.catalog.ObserveConfig(reducedConfigMap(markedConfigMap("web", objecttest.Data{"key": content})), objecttest.NoonPlus(seconds))
	}
	mark("1", 9)
	catalogtest.WriteRecordWithout(s.deployment, decision.Checksums, decision.Without, objecttest.NoonPlus(10))
	s.catalog.ObserveWritten(s.reduced(), view.Sequence)
	mark("2", 20)
	delete(s.deployment.Annotations, dialect.ReloaderSearch)
	s.deployment.Annotations[annotation.OnlyAnnotation] = "configmap/web"
	s.catalog.ObserveWorkload(s.reduced())
	if got := s.decide(t, startedAt(objecttest.NoonPlus(5))); got.Outcome != Restart {
		t.Errorf("%+v", got)
	}
}

// Another config is gone that only the former filter covers, so the record stays by that filter.
func TestAConfigThatWasIgnoredForWantOfAMarkStaysSoInARecordByTheFormerFilter(t *testing.T) {
	d := objecttest.Deployment(corev1.Container{Name: "app", EnvFrom: append(objecttest.ReadsAll("web", false).EnvFrom, objecttest.ReadsAll("z", false).EnvFrom...)})
	d.Annotations[dialect.ReloaderSearch] = "true"
	s := begin(d)
	s.listed(objecttest.ConfigMap("web", objecttest.Data{"key": "1"}), markedConfigMap("z", objecttest.Data{"a": "1", "b": "1"}))
	s.recorded(10)
	s.restartController(objecttest.ConfigMap("web", objecttest.Data{"key": "1"}))
	s.config("web", objecttest.Data{"key": "2"}, 20)
	s.catalog.ObserveConfig(reducedConfigMap(markedConfigMap("web", objecttest.Data{"key": "2"})), objecttest.NoonPlus(30))
	delete(s.deployment.Annotations, dialect.ReloaderSearch)
	s.deployment.Annotations[annotation.IgnoreAnnotation] = "configmap/z:a,configmap/web:other"
	s.catalog.ObserveWorkload(s.reduced())
	s.recorded(40)
	if got := s.decide(t, startedAt(objecttest.NoonPlus(5))); got.Outcome == Restart {
		t.Errorf("%+v", got)
	}
}

// The record lacks the config because it ignored itself, and not for want of a mark.
func TestAnEditOfAMarkedConfigThatIsIgnoredNoLongerCountsAlthoughTheFilterGoes(t *testing.T) {
	d := objecttest.Deployment(objecttest.ReadsAll("web", false))
	d.Annotations[dialect.ReloaderSearch] = "true"
	s := begin(d)
	s.listed(objecttest.ConfigMap("web", objecttest.Data{"key": "1"}))
	show := func(content, ignored string) {
		cm := markedConfigMap("web", objecttest.Data{"key": content})
		cm.Annotations[annotation.IgnoreAnnotation] = ignored
		s.catalog.ObserveConfig(reducedConfigMap(cm), objecttest.NoonPlus(20))
	}
	show("1", "true")
	view, _ := s.catalog.View(objecttest.DeploymentRef("web"))
	decision := Decide(view)
	catalogtest.WriteRecordWithout(s.deployment, decision.Checksums, decision.Without, objecttest.NoonPlus(30))
	s.catalog.ObserveWritten(s.reduced(), view.Sequence)
	show("1", "false")
	show("2", "false")
	delete(s.deployment.Annotations, dialect.ReloaderSearch)
	s.catalog.ObserveWorkload(s.reduced())
	if got := s.decide(t, startedAt(objecttest.NoonPlus(5))); got.Outcome != Restart {
		t.Errorf("%+v", got)
	}
}
