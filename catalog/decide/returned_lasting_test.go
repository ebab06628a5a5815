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

func TestAPodThatARestartStartedWhileAnOptionalConfigWasGoneRestartsWhenItIsBack(t *testing.T) {
	s := readsOptionalXAndY()
	s.deleted("x", 50)
	s.config("y", objecttest.Data{"a": "2"}, 60)
	requireOutcome(t, s, Restart)
	s.restart(65)
	s.created("x", objecttest.Data{"a": "1"}, 120)
	requireOutcome(t, s, Restart, startedAt(objecttest.NoonPlus(70)))
	requireOutcome(t, s, Keep, startedAt(objecttest.NoonPlus(130)))
}

func TestAPodThatStartedWhileAnOptionalConfigWasGoneRestartsThoughPodsWereVerifiedMeanwhile(t *testing.T) {
	s := readsOptionalXAndY()
	s.config("y", objecttest.Data{"a": "2"}, 20)
	s.config("y", objecttest.Data{"a": "1"}, 30)
	s.deleted("x", 50)
	view, _ := s.catalog.View(objecttest.DeploymentRef("web"))
	if got := ByPods(view, []Pod{startedAt(objecttest.NoonPlus(5))}); got.Outcome != Keep || !got.Verified {
		t.Fatalf("%+v, want that the pods are verified", got)
	}
	s.catalog.ObserveKept(view)
	s.created("x", objecttest.Data{"a": "1"}, 120)
	requireOutcome(t, s, Restart, startedAt(objecttest.NoonPlus(70)))
	requireOutcome(t, s, Keep, startedAt(objecttest.NoonPlus(5)))
}

func TestAConfigThatWasGoneSinceBeforeTheRecordContradictsItSinceThen(t *testing.T) {
	for _, content := range []string{"1", "2"} {
		s := readsOptionalXAndY()
		s.deleted("x", 50)
		s.config("y", objecttest.Data{"a": "2"}, 60)
		s.restart(65)
		s.created("x", objecttest.Data{"a": content}, 120)
		view, _ := s.catalog.View(objecttest.DeploymentRef("web"))
		got := Decide(view)
		if !got.Contradicts || !got.Contradicted.At.Equal(objecttest.NoonPlus(50)) || got.Contradicted.Seen == 0 {
			t.Errorf("made again with the content %s: contradicted %t since %v, want since the deletion", content, got.Contradicts, got.Contradicted)
		}
	}
}

func TestARecordThatIsShownAfterTheNextEditIsContradictedByIt(t *testing.T) {
	s := begin(objecttest.Deployment(objecttest.ReadsAll("web", false)))
	s.listed(objecttest.ConfigMap("web", objecttest.Data{"a": "1"}))
	s.recorded(10)
	s.restartController(objecttest.ConfigMap("web", objecttest.Data{"a": "1"})) // from here on this is a standby
	s.config("web", objecttest.Data{"a": "2"}, 60)
	view, _ := s.catalog.View(objecttest.DeploymentRef("web"))
	checksums := Decide(view).Checksums
	s.config("web", objecttest.Data{"a": "3"}, 65) // after the leader's decision, before its patch
	objecttest.SetTimestamp(s.deployment, objecttest.NoonPlus(65).Format(time.RFC3339Nano))
	catalogtest.WriteRecord(s.deployment, checksums, objecttest.NoonPlus(65))
	s.catalog.ObserveWorkload(s.reduced())
	s.config("web", objecttest.Data{"a": "2"}, 69)
	requireOutcome(t, s, Restart, startedAt(objecttest.NoonPlus(67)))
	requireOutcome(t, s, Keep, startedAt(objecttest.NoonPlus(72)))
}

func TestAnEditThatTheWorkloadDoesNotSeeDoesNotKeepAGoneConfigFromBeingDecidedAbout(t *testing.T) {
	s := begin(objecttest.Deployment(corev1.Container{Name: "app", Env: objecttest.ReadsKey("x", "a", true).Env, EnvFrom: objecttest.ReadsAll("y", true).EnvFrom}))
	s.listed(objecttest.ConfigMap("x", objecttest.Data{"a": "1", "b": "1"}))
	s.config("x", objecttest.Data{"a": "1", "b": "2"}, 5)
	s.recorded(10)
	s.config("x", objecttest.Data{"a": "1", "b": "3"}, 20)
	s.deleted("x", 30)
	s.created("y", objecttest.Data{"a": "1"}, 40)
	requireOutcome(t, s, RecordOnly, startedAt(objecttest.NoonPlus(50)))
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

func TestThePastIsKeptForARecordWhosePodTemplateMayReturn(t *testing.T) {
	s := begin(objecttest.Deployment(objecttest.ReadsAll("web", false)))
	s.listed(objecttest.ConfigMap("web", objecttest.Data{"a": "1"}))
	s.recorded(10)
	s.config("web", objecttest.Data{"a": "2"}, 60)
	s.config("web", objecttest.Data{"a": "1"}, 80)
	s.release("v2")
	s.config("web", objecttest.Data{"a": "3"}, 300)
	s.config("web", objecttest.Data{"a": "1"}, 310)
	s.release("")
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

// behindWithOptionalXAndY is a standby that has seen how y was edited and how the optional x was
// gone and came back, and only then the restart that the leader made in the meantime.
func behindWithOptionalXAndY() *story {
	s := readsOptionalXAndY()
	s.restartController(objecttest.ConfigMap("x", objecttest.Data{"a": "1"}), objecttest.ConfigMap("y", objecttest.Data{"a": "1"}))
	s.deleted("x", 50)
	s.config("y", objecttest.Data{"a": "2"}, 60)
	s.restartedElsewhere(65)
	return s
}

func TestAStandbyKnowsWhatCameAfterARecordThatItSawLast(t *testing.T) {
	s := behindWithOptionalXAndY()
	s.created("x", objecttest.Data{"a": "1"}, 120)
	s.catalog.ObserveWorkload(s.reduced())
	requireOutcome(t, s, Restart, startedAt(objecttest.NoonPlus(70)))
	requireOutcome(t, s, Keep, startedAt(objecttest.NoonPlus(130)))
}

func TestAStandbyDoesNotForgetWhatCameAfterARecordThatItSawLast(t *testing.T) {
	s := behindWithOptionalXAndY()
	s.created("x", objecttest.Data{"a": "1"}, 120)
	s.catalog.ObserveWorkload(s.reduced())
	s.config("x", objecttest.Data{"a": "2"}, 300)
	s.config("x", objecttest.Data{"a": "1"}, 310)
	requireOutcome(t, s, Restart, startedAt(objecttest.NoonPlus(70)))
}

func TestThePodsDecideOnceAboutARecordThatAStandbySawLast(t *testing.T) {
	s := behindWithOptionalXAndY()
	s.created("x", objecttest.Data{"a": "1"}, 120)
	s.catalog.ObserveWorkload(s.reduced())
	s.verify(t, startedAt(objecttest.NoonPlus(130)))
	if got := s.decide(t); got.Asked {
		t.Errorf("%+v, want no look at the pods after they were verified", got)
	}
}

func TestContentFromBeforeARecordThatAStandbySawLastDoesNotMatter(t *testing.T) {
	s := behindWithOptionalXAndY()
	s.created("x", objecttest.Data{"a": "1"}, 63.9)
	s.catalog.ObserveWorkload(s.reduced())
	if got := s.decide(t); got.Asked || got.Outcome != Keep {
		t.Errorf("%+v, want nothing done without a look at the pods", got)
	}
}

func TestAContradictionOfARecordThatAStandbySawLastKeepsItsStart(t *testing.T) {
	for _, content := range []string{"1", "2"} {
		s := behindWithOptionalXAndY()
		s.created("x", objecttest.Data{"a": content}, 120)
		s.catalog.ObserveWorkload(s.reduced())
		view, _ := s.catalog.View(objecttest.DeploymentRef("web"))
		got := Decide(view)
		if !got.Contradicts || !got.Contradicted.At.Equal(objecttest.NoonPlus(50)) || got.Contradicted.Seen == 0 {
			t.Errorf("made again with the content %s: contradicted %t since %v, want since the deletion", content, got.Contradicts, got.Contradicted)
		}
	}
}
