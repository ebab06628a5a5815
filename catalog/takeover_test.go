package catalog

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A replica takes over whose watch of configs shows late what happened before the record.

// showsLate shows a ConfigMap whose keys were last written at the given second, some time after that.
func (s *story) showsLate(content data, written, seconds float64) {
	cm := configMap("web", content)
	cm.ManagedFields = []metav1.ManagedFieldsEntry{owns("kubectl", noonPlus(written), "f:data/f:a", "f:data/f:b")}
	s.catalog.ObserveConfig(NewConfigMap(cm), noonPlus(seconds))
}

// takesOver is a replica that sees a record, made elsewhere at second 67.17 for content that it
// knows only later.
func takesOver(record func(s *story, seconds float64)) *story {
	s := begin(deployment(readsAll("web", false)))
	s.listed(configMap("web", data{"a": "1", "b": "1"}))
	s.recorded(10)
	s.restartController(configMap("web", data{"a": "1", "b": "1"}))
	elsewhere := begin(s.deployment)
	elsewhere.listed(configMap("web", data{"a": "1", "b": "2"}))
	record(elsewhere, 67.17)
	s.catalog.ObserveWorkload(s.reduced())
	return s
}

func TestContentThatWentBeforeARestartDoesNotMatterHoweverLateTheWatchShowsIt(t *testing.T) {
	s := takesOver((*story).restartedElsewhere)
	s.showsLate(data{"a": "2", "b": "1"}, 56, 69)
	s.showsLate(data{"a": "1", "b": "1"}, 62, 69)
	s.showsLate(data{"a": "1", "b": "2"}, 67, 69)
	requireOutcome(t, s, Keep, startedAt(noonPlus(68)))
}

func TestAConfigThatCameBackBeforeARestartDoesNotMatterHoweverLateTheWatchShowsIt(t *testing.T) {
	s := begin(deployment(readsAll("web", true)))
	s.listed(configMap("web", data{"a": "1"}))
	s.recorded(10)
	s.restartController(configMap("web", data{"a": "1"}))
	elsewhere := begin(s.deployment)
	elsewhere.listed(configMap("web", data{"a": "2"}))
	elsewhere.restartedElsewhere(94.849)
	s.catalog.ObserveWorkload(s.reduced())
	s.deleted("web", 97)
	again := configMap("web", data{"a": "2"})
	again.CreationTimestamp = *stamp(noonPlus(93))
	s.catalog.ObserveConfig(NewConfigMap(again), noonPlus(97))
	requireOutcome(t, s, Keep, startedAt(noonPlus(96)))
}

func TestContentMattersUnlessItSurelyWentBeforeTheRestart(t *testing.T) {
	for name, play := range map[string]func() *story{
		"it went after the restart": func() *story {
			s := takesOver((*story).restartedElsewhere)
			s.showsLate(data{"a": "2", "b": "2"}, 66, 75)
			s.showsLate(data{"a": "1", "b": "2"}, 69, 75)
			return s
		},
		"it went within the second of the restart": func() *story {
			s := takesOver((*story).restartedElsewhere)
			s.showsLate(data{"a": "2", "b": "2"}, 66, 75)
			s.showsLate(data{"a": "1", "b": "2"}, 67, 75)
			return s
		},
		"nothing shows when it went": func() *story {
			s := takesOver((*story).restartedElsewhere)
			s.config("web", data{"a": "2", "b": "2"}, 75)
			s.config("web", data{"a": "1", "b": "2"}, 75)
			return s
		},
		"the key was removed, which leaves no trace": func() *story {
			s := takesOver((*story).restartedElsewhere)
			s.showsLate(data{"a": "1", "b": "2", "c": "1"}, 56, 75)
			s.showsLate(data{"a": "1", "b": "2"}, 56, 75)
			return s
		},
		"pods of the template may be older than the record": func() *story {
			s := takesOver((*story).recordedElsewhere)
			s.showsLate(data{"a": "2", "b": "2"}, 56, 75)
			s.showsLate(data{"a": "1", "b": "2"}, 62, 75)
			return s
		},
		"the restart was reverted": func() *story {
			s := takesOver(func(elsewhere *story, seconds float64) {
				elsewhere.restartedElsewhere(seconds)
				setTimestamp(elsewhere.deployment, "")
			})
			s.showsLate(data{"a": "2", "b": "2"}, 56, 75)
			s.showsLate(data{"a": "1", "b": "2"}, 62, 75)
			return s
		},
	} {
		t.Run(name, func(t *testing.T) { requireOutcome(t, play(), Restart, startedAt(noonPlus(75))) })
	}
}

// recordedElsewhere is the record that another process makes without a restart.
func (s *story) recordedElsewhere(seconds float64) {
	view, _ := s.catalog.View(deploymentRef("web"))
	writeRecord(s.deployment, Decide(view).Checksums, noonPlus(seconds))
}

func TestAMixtureHasGoneWhenAllOfItHas(t *testing.T) {
	early, late, unknown := Past{GoneBy: noonPlus(1)}, Past{GoneBy: noonPlus(2)}, Past{}
	for _, c := range []struct {
		parts []Past
		want  Past
	}{{[]Past{early, late}, late}, {[]Past{late, early}, late}, {[]Past{early, unknown}, unknown}, {[]Past{unknown, late}, unknown}} {
		if got := mix("", c.parts...); !got.GoneBy.Equal(c.want.GoneBy) {
			t.Errorf("%+v have gone by %v", c.parts, got.GoneBy)
		}
	}
}
