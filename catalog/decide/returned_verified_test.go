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
