package decide

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/catalogtest"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
)

// keptReverted is the story of a Deployment that reads the ConfigMaps x and y. Its restart at second
// 65 was reverted while x is gone, and then y was edited. All its pods have read what y has now.
func keptReverted(t *testing.T) *story {
	t.Helper()
	s := readsOptionalXAndY()
	s.config("y", objecttest.Data{"a": "2"}, 60)
	s.restart(65)
	s.deleted("x", 70)
	s.rewind("")
	s.config("y", objecttest.Data{"a": "3"}, 100)
	return s
}

func TestAnEditAfterARevertedRestartContradictsTheRecordThatIsKeptWhileAConfigIsGone(t *testing.T) {
	s := keptReverted(t)
	view, _ := s.catalog.View(objecttest.DeploymentRef("web"))
	got := ByPods(view, []Pod{startedAt(objecttest.NoonPlus(110))})
	if got.Outcome != Keep || got.Verified || !got.Contradicts || !got.Contradicted.At.Equal(objecttest.NoonPlus(70)) {
		t.Errorf("%+v, want that the record is kept, and contradicted since the config is gone", got)
	}
}

func TestTheMarkOfARecordThatIsKeptAfterARevertRevealsAnEditThatIsUndoneUnderTheNextLeader(t *testing.T) {
	for name, test := range map[string]struct {
		mark bool
		want Outcome
	}{
		"marked":   {true, Restart},
		"unmarked": {false, Keep}, // the pods have the 3
	} {
		t.Run(name, func(t *testing.T) {
			s := keptReverted(t)
			if test.mark {
				s.marked(t, 100)
			}
			y := objecttest.ConfigMap("y", objecttest.Data{"a": "3"})
			s.restartController(y)
			s.config("y", objecttest.Data{"a": "2"}, 200)
			requireOutcome(t, s, test.want, startedAt(objecttest.NoonPlus(110)))
			s.created("x", objecttest.Data{"a": "1"}, 300)
			if test.mark {
				requireOutcome(t, s, Restart, startedAt(objecttest.NoonPlus(110)))
				requireOutcome(t, s, RecordOnly, startedAt(objecttest.NoonPlus(310)))
			}
		})
	}
}

func TestAMarkedRecordThatIsKeptAfterARevertIsStillKeptByTheNextLeader(t *testing.T) {
	s := keptReverted(t)
	s.marked(t, 100)
	s.restartController(objecttest.ConfigMap("y", objecttest.Data{"a": "3"}))
	requireOutcome(t, s, Keep, startedAt(objecttest.NoonPlus(110)))
	s.created("x", objecttest.Data{"a": "1"}, 300)
	requireOutcome(t, s, RecordOnly, startedAt(objecttest.NoonPlus(310)))
}

func TestAMarkCoversTheAbsenceOfAConfigThatContainersStartWithout(t *testing.T) {
	s := keptReverted(t)
	view, _ := s.catalog.View(objecttest.DeploymentRef("web"))
	since := ByPods(view, []Pod{startedAt(objecttest.NoonPlus(110))}).Contradicted
	if !since.At.Equal(objecttest.NoonPlus(70)) {
		t.Errorf("contradicted since %v, want since the deletion", since.At)
	}
	s.marked(t, since.At.Sub(objecttest.Noon).Seconds())
	s.restartController(objecttest.ConfigMap("y", objecttest.Data{"a": "3"}))
	s.config("y", objecttest.Data{"a": "2"}, 200)
	s.created("x", objecttest.Data{"a": "1"}, 300)
	for _, started := range []float64{80, 110} {
		requireOutcome(t, s, Restart, startedAt(objecttest.NoonPlus(started)))
	}
}

// The lists of the kinds can come long after each other, such as when one of them is forbidden.
func TestWhatAWatchShowsBeforeAllKindsAreListedDoesNotEndAMarkedInterval(t *testing.T) {
	secret := func(state string) content.Config {
		return content.NewSecret(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web"}, Data: map[string][]byte{"a": []byte(state)}})
	}
	for name, shown := range map[string]func(*story){
		"creation": func(s *story) {
			s.listed(objecttest.ConfigMap("z", objecttest.Data{"a": "1"}))
			s.created("x", objecttest.Data{"a": "1"}, 260)
		},
		"edit": func(s *story) {
			s.listed(objecttest.ConfigMap("z", objecttest.Data{"a": "1"}), objecttest.ConfigMap("x", objecttest.Data{"a": "1"}))
			s.config("z", objecttest.Data{"a": "2"}, 255)
			s.config("z", objecttest.Data{"a": "1"}, 260)
		},
	} {
		t.Run(name, func(t *testing.T) {
			container := corev1.Container{Name: "app", EnvFrom: append(objecttest.ReadsAll("x", true).EnvFrom, objecttest.ReadsAll("z", false).EnvFrom...)}
			container.EnvFrom = append(container.EnvFrom, corev1.EnvFromSource{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "web"}}})
			s := begin(objecttest.Deployment(container))
			s.catalog.SetKey(catalogtest.TestKey)
			listConfigs(s.catalog, names.Secret, "", objecttest.ListOf(secret("1")), objecttest.Noon, true)
			s.listed(objecttest.ConfigMap("x", objecttest.Data{"a": "1"}), objecttest.ConfigMap("z", objecttest.Data{"a": "1"}))
			s.recorded(10)
			s.catalog.ObserveConfig(secret("2"), objecttest.NoonPlus(60))
			s.marked(t, 60)
			s.deleted("x", 100)
			s.catalog = catalog.New()
			s.catalog.SetKey(catalogtest.TestKey)
			shown(s)
			listConfigs(s.catalog, names.Secret, "", objecttest.ListOf(secret("1")), objecttest.NoonPlus(300), true) // as recorded since second 290
			requireOutcome(t, s, Restart, startedAt(objecttest.NoonPlus(270)))
		})
	}
}
