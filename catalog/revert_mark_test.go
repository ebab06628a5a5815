package catalog

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// keptReverted is the story of a Deployment that reads the ConfigMaps x and y. Its restart at second
// 65 was reverted while x is gone, and then y was edited. All its pods have read what y has now.
func keptReverted(t *testing.T) *story {
	t.Helper()
	s := readsOptionalXAndY()
	s.config("y", data{"a": "2"}, 60)
	s.restart(65)
	s.deleted("x", 70)
	s.rewind("")
	s.config("y", data{"a": "3"}, 100)
	return s
}

func TestAnEditAfterARevertedRestartContradictsTheRecordThatIsKeptWhileAConfigIsGone(t *testing.T) {
	s := keptReverted(t)
	view, _ := s.catalog.View(deploymentRef("web"))
	got := DecideByPods(view, []Pod{startedAt(noonPlus(110))})
	if got.Outcome != Keep || got.Verified || !got.Contradicts || !got.Contradicted.At.Equal(noonPlus(70)) {
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
			y := configMap("y", data{"a": "3"})
			s.restartController(y)
			s.config("y", data{"a": "2"}, 200)
			requireOutcome(t, s, test.want, startedAt(noonPlus(110)))
			s.created("x", data{"a": "1"}, 300)
			if test.mark {
				requireOutcome(t, s, Restart, startedAt(noonPlus(110)))
				requireOutcome(t, s, RecordOnly, startedAt(noonPlus(310)))
			}
		})
	}
}

func TestAMarkedRecordThatIsKeptAfterARevertIsStillKeptByTheNextLeader(t *testing.T) {
	s := keptReverted(t)
	s.marked(t, 100)
	s.restartController(configMap("y", data{"a": "3"}))
	requireOutcome(t, s, Keep, startedAt(noonPlus(110)))
	s.created("x", data{"a": "1"}, 300)
	requireOutcome(t, s, RecordOnly, startedAt(noonPlus(310)))
}

func TestAMarkCoversTheAbsenceOfAConfigThatContainersStartWithout(t *testing.T) {
	s := keptReverted(t)
	view, _ := s.catalog.View(deploymentRef("web"))
	since := DecideByPods(view, []Pod{startedAt(noonPlus(110))}).Contradicted
	if !since.At.Equal(noonPlus(70)) {
		t.Errorf("contradicted since %v, want since the deletion", since.At)
	}
	s.marked(t, since.At.Sub(noon).Seconds())
	s.restartController(configMap("y", data{"a": "3"}))
	s.config("y", data{"a": "2"}, 200)
	s.created("x", data{"a": "1"}, 300)
	for _, started := range []float64{80, 110} {
		requireOutcome(t, s, Restart, startedAt(noonPlus(started)))
	}
}

// The lists of the kinds can come long after each other, such as when one of them is forbidden.
func TestWhatAWatchShowsBeforeAllKindsAreListedDoesNotEndAMarkedInterval(t *testing.T) {
	secret := func(content string) Config {
		return NewSecret(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web"}, Data: map[string][]byte{"a": []byte(content)}})
	}
	for name, shown := range map[string]func(*story){
		"creation": func(s *story) {
			s.listed(configMap("z", data{"a": "1"}))
			s.created("x", data{"a": "1"}, 260)
		},
		"edit": func(s *story) {
			s.listed(configMap("z", data{"a": "1"}), configMap("x", data{"a": "1"}))
			s.config("z", data{"a": "2"}, 255)
			s.config("z", data{"a": "1"}, 260)
		},
	} {
		t.Run(name, func(t *testing.T) {
			container := corev1.Container{Name: "app", EnvFrom: append(readsAll("x", true).EnvFrom, readsAll("z", false).EnvFrom...)}
			container.EnvFrom = append(container.EnvFrom, corev1.EnvFromSource{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "web"}}})
			s := begin(deployment(container))
			s.catalog.SetKey(testKey)
			listConfigs(s.catalog, Secret, "", listOf(secret("1")), noon, true)
			s.listed(configMap("x", data{"a": "1"}), configMap("z", data{"a": "1"}))
			s.recorded(10)
			s.catalog.ObserveConfig(secret("2"), noonPlus(60))
			s.marked(t, 60)
			s.deleted("x", 100)
			s.catalog = New()
			s.catalog.SetKey(testKey)
			shown(s)
			listConfigs(s.catalog, Secret, "", listOf(secret("1")), noonPlus(300), true) // as recorded since second 290
			requireOutcome(t, s, Restart, startedAt(noonPlus(270)))
		})
	}
}
