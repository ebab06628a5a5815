package catalog

import "testing"

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
	if got.Outcome != Keep || got.Verified || !got.Contradicts || !got.Contradicted.At.Equal(noonPlus(100)) {
		t.Errorf("%+v, want that the record is kept, and contradicted since the edit", got)
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
