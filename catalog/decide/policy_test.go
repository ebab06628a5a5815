package decide

import (
	"testing"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
)

func TestAnotherPolicyCallsForADecision(t *testing.T) {
	s := begin(objecttest.Deployment(objecttest.ReadsAll("web", false)))
	s.listed()
	for _, step := range []struct {
		annotation, value string
		want              bool
	}{
		{annotation.HoldAnnotation, "incident 7", true},
		{"note", "nothing to us", false},
		{annotation.HoldAnnotation, "incident 8", true},
		{annotation.HoldAnnotation, "", true},
		{annotation.WindowAnnotation, "0 22 * * * 6h", true},
		{annotation.WaveAnnotation, "2", true},
		{annotation.WaveAnnotation, "x", true},
		{annotation.WaveAnnotation, "y", true}, // another problem to report
		{annotation.WaveAnnotation, "y", false},
	} {
		s.deployment.Annotations[step.annotation] = step.value
		if got := s.catalog.ObserveWorkload(s.reduced()); got != step.want {
			t.Errorf("%s: %q calls for a decision: %t", step.annotation, step.value, got)
		}
	}
	delete(s.deployment.Annotations, annotation.HoldAnnotation)
	if !s.catalog.ObserveWorkload(s.reduced()) {
		t.Error("the end of a hold calls for no decision")
	}
}
