package decide

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog/catalogtest"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
)

// What contradicts a record may have begun before the record was made, or before this process
// saw it.

func requireOutcome(t *testing.T, s *story, want Outcome, pods ...Pod) {
	t.Helper()
	if got := s.decide(t, pods...); got.Outcome != want {
		t.Errorf("%+v, want the outcome %q", got, want)
	}
}

// readsOptionalXAndY is a Deployment that starts without the ConfigMap x, but not without y.
func readsOptionalXAndY() *story {
	s := begin(objecttest.Deployment(corev1.Container{Name: "app", EnvFrom: append(objecttest.ReadsAll("x", true).EnvFrom, objecttest.ReadsAll("y", false).EnvFrom...)}))
	s.listed(objecttest.ConfigMap("x", objecttest.Data{"a": "1"}), objecttest.ConfigMap("y", objecttest.Data{"a": "1"}))
	s.recorded(10)
	return s
}

// A record is the same one as long as it says when it was written.

func TestAReleaseThatIsTakenBackForgetsNothingOfTheRecord(t *testing.T) {
	s := begin(objecttest.Deployment(objecttest.ReadsAll("web", false)))
	s.listed(objecttest.ConfigMap("web", objecttest.Data{"a": "1"}))
	s.recorded(10)
	s.config("web", objecttest.Data{"a": "2"}, 60)
	before, _ := s.catalog.View(objecttest.DeploymentRef("web"))
	s.release("v2")
	s.release("")
	after, _ := s.catalog.View(objecttest.DeploymentRef("web"))
	if got, want := after.Workload, before.Workload; got.RecordSeen != want.RecordSeen || !got.OwnRecord || !got.Record.Trusted {
		t.Errorf("a record of moment %d, own: %t, want the one of %d", got.RecordSeen, got.OwnRecord, want.RecordSeen)
	}
	s.config("web", objecttest.Data{"a": "1"}, 80)
	requireOutcome(t, s, Restart, startedAt(objecttest.NoonPlus(70)))
}

func TestAReleaseThatDropsAConfigAndIsTakenBackForgetsNothingOfTheOthers(t *testing.T) {
	s := readsOptionalXAndY()
	both := s.deployment.Spec.Template.Spec.Containers
	s.config("y", objecttest.Data{"a": "2"}, 60)
	s.deployment.Spec.Template.Spec.Containers = []corev1.Container{objecttest.ReadsAll("y", false)}
	s.catalog.ObserveWorkload(s.reduced())
	s.deployment.Spec.Template.Spec.Containers = both
	s.catalog.ObserveWorkload(s.reduced())
	s.config("y", objecttest.Data{"a": "1"}, 80)
	requireOutcome(t, s, Restart, startedAt(objecttest.NoonPlus(70)))
}

// A standby's watch of workloads may be behind, so that it shows the record of the leader last.

// restartedElsewhere is the restart that another process makes after what this one has seen of the
// configs. Nothing of it is shown yet.
func (s *story) restartedElsewhere(seconds float64) {
	view, _ := s.catalog.View(objecttest.DeploymentRef("web"))
	objecttest.SetTimestamp(s.deployment, objecttest.NoonPlus(seconds).Format(time.RFC3339Nano))
	catalogtest.WriteRecord(s.deployment, Decide(view).Checksums, objecttest.NoonPlus(seconds))
}
