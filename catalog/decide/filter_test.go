package decide

import (
	"fmt"
	"testing"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/catalogtest"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/catalog/template"
)

func TestAWorkloadIsNotInTheIndexOfWhatDoesNotCount(t *testing.T) {
	s := begin(objecttest.Deployment(objecttest.ReadsAll("web", false)))
	s.deployment.Annotations[annotation.IgnoreAnnotation] = "configmap/web"
	s.listed(objecttest.ConfigMap("web", objecttest.Data{"key": "1"}))
	if readers := s.catalog.WorkloadsReferencing(objecttest.ConfigMapRef("web")); len(readers) > 0 {
		t.Fatalf("read by %v", catalogtest.RefsOf(readers))
	}
	delete(s.deployment.Annotations, annotation.IgnoreAnnotation)
	if !s.catalog.ObserveWorkload(s.reduced()) || len(s.catalog.WorkloadsReferencing(objecttest.ConfigMapRef("web"))) != 1 {
		t.Fatal("the end of the filter is no news")
	}
}

func TestAChangeOfTheFilterIsRememberedUntilARecordHasWhatCounts(t *testing.T) {
	s := begin(objecttest.Deployment(objecttest.ReadsAll("web", true)))
	s.deployment.Annotations[annotation.OnlyAnnotation] = "configmap/web:a"
	s.listed(objecttest.ConfigMap("web", objecttest.Data{"a": "1", "b": "1"}))
	s.recorded(10)
	for i := range 3 {
		s.deployment.Annotations[annotation.OnlyAnnotation] = fmt.Sprintf("configmap/web:a,configmap/web:b,configmap/other-%d", i)
		s.catalog.ObserveWorkload(s.reduced())
		s.config("web", objecttest.Data{"a": "1", "b": fmt.Sprint(i + 2)}, 20)
	}
	first := s.present().Filtering.Changed
	s.release("web:2")
	s.catalog.ObserveWorkload(s.reduced())
	if changed := s.present().Filtering.Changed; first == 0 || changed != first {
		t.Errorf("it changed at %d, and after a release at %d", first, changed)
	}
	s.recorded(30)
	if changed := s.present().Filtering.Changed; changed != 0 {
		t.Errorf("it changed at %d, before the record", changed)
	}
}

// Nobody knows the keys of the config that counted by the former filter and count by the present one.
func TestNoRestartIsLostForAConfigThatIsGoneWhileTheFilterChanges(t *testing.T) {
	s := begin(objecttest.Deployment(objecttest.ReadsAll("web", false)))
	s.listed(objecttest.ConfigMap("web", objecttest.Data{"a": "1", "b": "1"}))
	s.recorded(10)
	s.restartController()
	s.deployment.Annotations[annotation.IgnoreAnnotation] = "configmap/web:a"
	s.catalog.ObserveWorkload(s.reduced())
	s.recorded(20)
	s.created("web", objecttest.Data{"a": "1", "b": "2"}, 30)
	if got := s.decide(t); got.Outcome != Restart {
		t.Errorf("%+v", got)
	}
	s.recorded(40)
	if got := s.present().Record.Filter(); got != (template.Filter{Ignore: "configmap/web:a"}) {
		t.Errorf("recorded by %+v", got)
	}
}

// A filter that comes back before it was recorded is recorded, so that a later change counts from itself.
func TestAFilterThatCameBackIsRecordedAgain(t *testing.T) {
	d := objecttest.Deployment(objecttest.ReadsAll("web", false))
	s := begin(d)
	d.Annotations[annotation.OnlyAnnotation] = "configmap/web:a"
	s.listed(objecttest.ConfigMap("web", objecttest.Data{"a": "1", "b": "1"}))
	s.recorded(10)
	for _, only := range []string{"configmap/web:a,configmap/web:c", "configmap/web:a"} {
		d.Annotations[annotation.OnlyAnnotation] = only
		s.catalog.ObserveWorkload(s.reduced())
	}
	if got := s.decide(t); got.Outcome != RecordOnly {
		t.Fatalf("the filter is back: %+v", got)
	}
	s.recorded(20)
	s.config("web", objecttest.Data{"a": "1", "b": "2"}, 5000) // does not count
	if got := s.decide(t); got.Outcome != Keep {
		t.Fatalf("after an edit that does not count: %+v", got)
	}
	d.Annotations[annotation.OnlyAnnotation] = "configmap/web:a,configmap/web:b"
	s.catalog.ObserveWorkload(s.reduced())
	if got := s.decide(t, startedAt(objecttest.NoonPlus(5))); got.Outcome != RecordOnly {
		t.Errorf("the key counts from now on: %+v", got)
	}
}
