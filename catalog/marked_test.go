package catalog

import (
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func markedConfigMap(name string, content data) *corev1.ConfigMap {
	cm := configMap(name, content)
	cm.Annotations = map[string]string{reloaderMatch: "true"}
	return cm
}

func TestAMarkThatComesOrGoesIsNews(t *testing.T) {
	d := deployment(readsAll("web", false))
	d.Annotations[reloaderSearch] = "true"
	s := begin(d)
	s.listed(configMap("web", data{"key": "1"}))
	for step, test := range []struct {
		cm       *corev1.ConfigMap
		isNews   bool
		recorded string // of what is ignored
	}{
		{configMap("web", data{"key": "1"}), false, "configmap/web"},
		{markedConfigMap("web", data{"key": "1"}), true, ""},
		{markedConfigMap("web", data{"key": "1"}), false, ""},
		{configMap("web", data{"key": "1"}), true, "configmap/web"},
	} {
		if news := s.catalog.ObserveConfig(reducedConfigMap(test.cm), noonPlus(float64(20+10*step))); news != test.isNews {
			t.Errorf("step %d: it is news: %t", step, news)
		}
		view, _ := s.catalog.View(deploymentRef("web"))
		if got := Decide(view).Without; got.Ignored != test.recorded || got.Filter.Marked == 0 {
			t.Errorf("step %d: the record is to lack %+v", step, got)
		}
	}
}

// beginUnmarked begins with a Deployment that only wants marked configs, and whose record lacks the one that it reads.
func beginUnmarked() *story {
	d := deployment(readsAll("web", false))
	d.Annotations[reloaderSearch] = "true"
	s := begin(d)
	s.listed(configMap("web", data{"key": "1"}))
	view, _ := s.catalog.View(deploymentRef("web"))
	decision := Decide(view)
	writeRecordWithout(s.deployment, decision.Checksums, decision.Without, noonPlus(10))
	s.catalog.ObserveWorkload(s.reduced())
	return s
}

// Whoever writes new content along with the mark wants the content to count, unless a list shows both.
func TestAnEditThatComesWithTheMarkCounts(t *testing.T) {
	for name, test := range map[string]struct {
		listed bool
		want   Outcome
	}{"in one event": {false, Restart}, "in a list": {true, RecordOnly}} {
		s := beginUnmarked()
		after := reducedConfigMap(markedConfigMap("web", data{"key": "2"}))
		if test.listed {
			listConfigs(s.catalog, ConfigMap, "", listOf(after), noonPlus(60), false)
		} else {
			s.catalog.ObserveConfig(after, noonPlus(60))
		}
		view, _ := s.catalog.View(deploymentRef("web"))
		decision := Decide(view)
		if decision.Outcome == AskPods {
			decision = DecideByPods(view, []Pod{startedAt(noonPlus(5))})
		}
		if decision.Outcome != test.want {
			t.Errorf("%s: %+v", name, decision)
		}
	}
}

// Nothing is recorded meanwhile, so that the record has the filter that comes back.
func TestAnEditThatCountedByAFormerFilterCountsAlthoughTheMarkCameLater(t *testing.T) {
	s := beginUnmarked()
	filter := func(annotation, value string) {
		delete(s.deployment.Annotations, reloaderSearch)
		delete(s.deployment.Annotations, IgnoreAnnotation)
		s.deployment.Annotations[annotation] = value
		s.catalog.ObserveWorkload(s.reduced())
	}
	filter(IgnoreAnnotation, "configmap/none")
	s.config("web", data{"key": "2"}, 20)
	filter(IgnoreAnnotation, "configmap/other")
	s.catalog.ObserveConfig(reducedConfigMap(markedConfigMap("web", data{"key": "2"})), noonPlus(30))
	filter(reloaderSearch, "true")
	if got := s.decide(t, startedAt(noonPlus(5))); got.Outcome != Restart {
		t.Errorf("%+v", got)
	}
}

func TestAnEditOfAConfigThatWasMarkedWhileNobodyWatchedCountsAlthoughTheFilterGoes(t *testing.T) {
	s := beginUnmarked()
	s.restartController(markedConfigMap("web", data{"key": "1"}))
	s.catalog.ObserveConfig(reducedConfigMap(markedConfigMap("web", data{"key": "2"})), noonPlus(20))
	delete(s.deployment.Annotations, reloaderSearch)
	s.catalog.ObserveWorkload(s.reduced())
	if got := s.decide(t, startedAt(noonPlus(5))); got.Outcome != Restart {
		t.Errorf("%+v", got)
	}
}

func TestAMarkThatCameWhileTheRecordWasWrittenIsLaterThanTheRecord(t *testing.T) {
	d := deployment(readsAll("web", false))
	d.Annotations[reloaderSearch] = "true"
	s := begin(d)
	s.listed(configMap("web", data{"key": "1"}))
	view, _ := s.catalog.View(deploymentRef("web"))
	decision := Decide(view)
	mark := func(content string, seconds float64) {
		s.catalog.ObserveConfig(reducedConfigMap(markedConfigMap("web", data{"key": content})), noonPlus(seconds))
	}
	mark("1", 9)
	writeRecordWithout(s.deployment, decision.Checksums, decision.Without, noonPlus(10))
	s.catalog.ObserveWritten(s.reduced(), view.Sequence)
	mark("2", 20)
	delete(s.deployment.Annotations, reloaderSearch)
	s.deployment.Annotations[OnlyAnnotation] = "configmap/web"
	s.catalog.ObserveWorkload(s.reduced())
	if got := s.decide(t, startedAt(noonPlus(5))); got.Outcome != Restart {
		t.Errorf("%+v", got)
	}
}

func TestAnEditFromBeforeAMarkAndAnotherFilterDoesNotCount(t *testing.T) {
	for _, filterFirst := range []bool{true, false} {
		s := beginUnmarked()
		s.config("web", data{"key": "2"}, 20)
		filter := func() {
			s.deployment.Annotations["configmaps.exclude.reloader.stakater.com/reload"] = "other"
			s.catalog.ObserveWorkload(s.reduced())
		}
		if filterFirst {
			filter()
		}
		s.catalog.ObserveConfig(reducedConfigMap(markedConfigMap("web", data{"key": "2"})), noonPlus(60))
		if !filterFirst {
			filter()
		}
		if got := s.decide(t, startedAt(noonPlus(5))); got.Outcome != RecordOnly {
			t.Errorf("the filter changes first: %t: %+v", filterFirst, got)
		}
	}
}

// Another config is gone that only the former filter covers, so the record stays by that filter.
func TestAConfigThatWasIgnoredForWantOfAMarkStaysSoInARecordByTheFormerFilter(t *testing.T) {
	d := deployment(corev1.Container{Name: "app", EnvFrom: append(readsAll("web", false).EnvFrom, readsAll("z", false).EnvFrom...)})
	d.Annotations[reloaderSearch] = "true"
	s := begin(d)
	s.listed(configMap("web", data{"key": "1"}), markedConfigMap("z", data{"a": "1", "b": "1"}))
	s.recorded(10)
	s.restartController(configMap("web", data{"key": "1"}))
	s.config("web", data{"key": "2"}, 20)
	s.catalog.ObserveConfig(reducedConfigMap(markedConfigMap("web", data{"key": "2"})), noonPlus(30))
	delete(s.deployment.Annotations, reloaderSearch)
	s.deployment.Annotations[IgnoreAnnotation] = "configmap/z:a,configmap/web:other"
	s.catalog.ObserveWorkload(s.reduced())
	s.recorded(40)
	if got := s.decide(t, startedAt(noonPlus(5))); got.Outcome == Restart {
		t.Errorf("%+v", got)
	}
}

// The record lacks the config because it ignored itself, and not for want of a mark.
func TestAnEditOfAMarkedConfigThatIsIgnoredNoLongerCountsAlthoughTheFilterGoes(t *testing.T) {
	d := deployment(readsAll("web", false))
	d.Annotations[reloaderSearch] = "true"
	s := begin(d)
	s.listed(configMap("web", data{"key": "1"}))
	show := func(content, ignored string) {
		cm := markedConfigMap("web", data{"key": content})
		cm.Annotations[IgnoreAnnotation] = ignored
		s.catalog.ObserveConfig(reducedConfigMap(cm), noonPlus(20))
	}
	show("1", "true")
	view, _ := s.catalog.View(deploymentRef("web"))
	decision := Decide(view)
	writeRecordWithout(s.deployment, decision.Checksums, decision.Without, noonPlus(30))
	s.catalog.ObserveWritten(s.reduced(), view.Sequence)
	show("1", "false")
	show("2", "false")
	delete(s.deployment.Annotations, reloaderSearch)
	s.catalog.ObserveWorkload(s.reduced())
	if got := s.decide(t, startedAt(noonPlus(5))); got.Outcome != Restart {
		t.Errorf("%+v", got)
	}
}

func TestTheKindsThatNeedAMarkAreInTheRecord(t *testing.T) {
	for kinds, want := range map[Kinds]string{0: "{}", bothKinds: `{"marked":true}`, 1 << ConfigMap: `{"marked":"configmap"}`, 1 << Secret: `{"marked":"secret"}`} {
		encoded, err := json.Marshal(Filter{Marked: kinds})
		if err != nil || string(encoded) != want {
			t.Errorf("encoded %s, %v, want %s", encoded, err, want)
		}
		var decoded Filter
		if err := json.Unmarshal(encoded, &decoded); err != nil || decoded.Marked != kinds {
			t.Errorf("%s: decoded %+v, %v", encoded, decoded, err)
		}
	}
	for _, other := range []string{`"secretproviderclass"`, `"x"`, `""`, "1", "{}"} {
		var decoded Filter
		if err := json.Unmarshal([]byte(`{"marked":`+other+`}`), &decoded); err == nil {
			t.Errorf("%s: decoded %+v", other, decoded)
		}
	}
}
