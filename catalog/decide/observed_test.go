package decide

import (
	"testing"

	"kubernetes-deployment-restart-controller/catalog/objecttest"
)

func TestAnAnnotationMakesNoWorkloadLookAsIfPodsWereMissing(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*story)
		wanted int32
		want   bool
	}{
		"an annotation": {func(s *story) { s.deployment.Annotations["note"] = "x" }, 3, true},
		"a release":     {func(s *story) { s.deployment.Spec.Template.Spec.Containers[0].Image = "app:2" }, 3, false},
		"more replicas": {func(*story) {}, 4, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := begin(objecttest.Deployment(objecttest.ReadsAll("web", false)))
			s.listed(objecttest.ConfigMap("web", objecttest.Data{"a": "1"}))
			first := s.reduced()
			first.Rollout = whole
			s.catalog.ObserveWorkload(first)
			test.change(s)
			written := s.reduced()
			written.Rollout = whole // the status of before
			written.Rollout.Wanted, written.Rollout.Observed = test.wanted, false
			s.catalog.ObserveWorkload(written)
			if got := s.catalog.Workload(objecttest.DeploymentRef("web")).Rollout.IsWhole(); got != test.want {
				t.Errorf("whole: %t, want %t", got, test.want)
			}
		})
	}
}
