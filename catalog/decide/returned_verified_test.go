package decide

import (
	"testing"

	"kubernetes-deployment-restart-controller/catalog/objecttest"
)

// What the pods were found to be fine about is over.

// verify decides about the pods, which must come to nothing.
func (s *story) verify(t *testing.T, pods ...Pod) {
	t.Helper()
	view, _ := s.catalog.View(objecttest.DeploymentRef("web"))
	if got := ByPods(view, pods); got.Outcome != Keep || !got.Verified || got.Reason != "no pod is known to have read other content" {
		t.Fatalf("%+v, want that the pods are verified", got)
	}
	s.catalog.ObserveKept(view)
}

func TestAMarkSaysNothingOfWhatWasBeforeThePodsWereVerified(t *testing.T) {
	for name, contradict := range map[string]func(*story){
		"a watch showed how it began": func(s *story) { s.config("web", objecttest.Data{"a": "2"}, 60) },
		"nobody saw how it began": func(s *story) {
			s.restartController(objecttest.ConfigMap("web", objecttest.Data{"a": "2"}))
			view, _ := s.catalog.View(objecttest.DeploymentRef("web"))
			s.catalog.ObserveContradicted(view, objecttest.NoonPlus(60))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := begin(objecttest.Deployment(objecttest.ReadsAll("web", false)))
			s.listed(objecttest.ConfigMap("web", objecttest.Data{"a": "1"}))
			s.recorded(10)
			contradict(s)
			s.config("web", objecttest.Data{"a": "1"}, 110)
			s.verify(t, startedAt(objecttest.NoonPlus(5)))
			s.config("web", objecttest.Data{"a": "3"}, 10000)
			view, _ := s.catalog.View(objecttest.DeploymentRef("web"))
			since := Decide(view).Contradicted
			if !since.At.Equal(objecttest.NoonPlus(10000)) {
				t.Errorf("contradicted since %v, want since the last edit", since.At)
			}
			s.marked(t, since.At.Sub(objecttest.Noon).Seconds())
			s.restartController(objecttest.ConfigMap("web", objecttest.Data{"a": "3"}))
			s.config("web", objecttest.Data{"a": "1"}, 10060)
			requireOutcome(t, s, RecordOnly, startedAt(objecttest.NoonPlus(5000)))
			requireOutcome(t, s, Restart, startedAt(objecttest.NoonPlus(10030)))
		})
	}
}

func TestAContradictionThatNobodySawBeginDatesFromAfterThePodsWereVerified(t *testing.T) {
	s := begin(objecttest.Deployment(objecttest.ReadsAll("web", false)))
	s.listed(objecttest.ConfigMap("web", objecttest.Data{"a": "1"}))
	s.recorded(10)
	view, _ := s.catalog.View(objecttest.DeploymentRef("web"))
	s.catalog.ObserveContradicted(view, objecttest.NoonPlus(60))
	s.verify(t, startedAt(objecttest.NoonPlus(5)))
	s.catalog.ObserveContradicted(view, objecttest.NoonPlus(100))
	view, _ = s.catalog.View(objecttest.DeploymentRef("web"))
	if got := view.Workload.Record.Contradicted; !got.Equal(objecttest.NoonPlus(100)) {
		t.Errorf("contradicted since %v, want since second 100", got)
	}
}
