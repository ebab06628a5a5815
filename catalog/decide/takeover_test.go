package decide

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/catalog/catalogtest"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
)

// A replica takes over whose watch of configs shows late what happened before the record.

// showsLate shows a ConfigMap whose keys were last written at the given second, some time after that.
func (s *story) showsLate(state objecttest.Data, written, seconds float64) {
	cm := objecttest.ConfigMap("web", state)
	cm.ManagedFields = []metav1.ManagedFieldsEntry{objecttest.Owns("kubectl", objecttest.NoonPlus(written), "f:data/f:a", "f:data/f:b")}
	s.catalog.ObserveConfig(content.NewConfigMap(cm), objecttest.NoonPlus(seconds))
}

// takesOver is a replica that sees a record, made elsewhere at second 67.17 for content that it
// knows only later.
func takesOver(record func(s *story, seconds float64)) *story {
	s := standsBy(false, objecttest.Data{"a": "1", "b": "1"})
	s.seesRecord(objecttest.Data{"a": "1", "b": "2"}, record, 67.17)
	return s
}

// standsBy is a replica that knows the ConfigMap as it was at the record of second 10.
func standsBy(optional bool, content objecttest.Data) *story {
	s := begin(objecttest.Deployment(objecttest.ReadsAll("web", optional)))
	s.listed(objecttest.ConfigMap("web", content))
	s.recorded(10)
	s.restartController(objecttest.ConfigMap("web", content))
	return s
}

// seesRecord shows a record that another process makes for this content.
func (s *story) seesRecord(content objecttest.Data, record func(*story, float64), seconds float64) {
	elsewhere := begin(s.deployment)
	elsewhere.listed(objecttest.ConfigMap("web", content))
	record(elsewhere, seconds)
	s.catalog.ObserveWorkload(s.reduced())
}

func TestPodsThatStartedAfterAContentHadGoneDoNotRestartHoweverLateTheWatchShowsIt(t *testing.T) {
	for name, record := range map[string]func(*story, float64){"restarted": (*story).restartedElsewhere, "recorded": (*story).recordedElsewhere} {
		t.Run(name, func(t *testing.T) {
			s := takesOver(record)
			s.showsLate(objecttest.Data{"a": "2", "b": "1"}, 56, 72)
			s.showsLate(objecttest.Data{"a": "1", "b": "1"}, 62, 72)
			s.showsLate(objecttest.Data{"a": "1", "b": "2"}, 67, 72)
			for _, started := range []float64{54, 65, 68, 75} {
				requireOutcome(t, s, Keep, startedAt(objecttest.NoonPlus(started)))
			}
			if name == "restarted" { // which leaves no older pods
				return
			}
			for _, started := range []float64{55, 56, 62, 64} {
				requireOutcome(t, s, Restart, startedAt(objecttest.NoonPlus(started)))
			}
		})
	}
}

func TestPodsThatStartedAfterAConfigCameBackDoNotRestartHoweverLateTheWatchShowsIt(t *testing.T) {
	s := standsBy(true, objecttest.Data{"a": "1"})
	s.seesRecord(objecttest.Data{"a": "2"}, (*story).restartedElsewhere, 94.849)
	s.deleted("web", 97)
	again := objecttest.ConfigMap("web", objecttest.Data{"a": "2"})
	again.CreationTimestamp = *objecttest.Stamp(objecttest.NoonPlus(93))
	s.catalog.ObserveConfig(content.NewConfigMap(again), objecttest.NoonPlus(97))
	requireOutcome(t, s, Keep, startedAt(objecttest.NoonPlus(96)))
	requireOutcome(t, s, Restart, startedAt(objecttest.NoonPlus(95)))
}

// The API server says nothing, or something that is out of date, about when a content went.
func TestWithoutATimeFromTheAPIServerAContentCountsUntilTheWatchShowsThatItWent(t *testing.T) {
	for name, play := range map[string]func(s *story){
		"no managedFields": func(s *story) {
			s.config("web", objecttest.Data{"a": "2", "b": "2"}, 60)
			s.config("web", objecttest.Data{"a": "1", "b": "2"}, 75)
		},
		"the key was removed": func(s *story) {
			s.showsLate(objecttest.Data{"a": "1", "b": "2", "c": "1"}, 56, 60)
			s.showsLate(objecttest.Data{"a": "1", "b": "2"}, 56, 75)
		},
		"the key was removed, and a former owner still has it": func(s *story) {
			applied := objecttest.ConfigMap("web", objecttest.Data{"a": "1", "b": "2", "c": "1"})
			applied.ManagedFields = []metav1.ManagedFieldsEntry{objecttest.Owns("flux", objecttest.NoonPlus(50), "f:data/f:c")}
			s.catalog.ObserveConfig(content.NewConfigMap(applied), objecttest.NoonPlus(60))
			delete(applied.Data, "c")
			s.catalog.ObserveConfig(content.NewConfigMap(applied), objecttest.NoonPlus(75))
		},
		"a time in the future": func(s *story) {
			s.showsLate(objecttest.Data{"a": "2", "b": "2"}, 56, 60)
			s.showsLate(objecttest.Data{"a": "1", "b": "2"}, 90, 75)
		},
		"a config was made again in a gap, and its key was removed later": func(s *story) {
			s.config("web", objecttest.Data{"a": "1", "b": "2", "c": "1"}, 60)
			s.deleted("web", 61)
			again := objecttest.ConfigMap("web", objecttest.Data{"a": "1", "b": "2"})
			again.CreationTimestamp = *objecttest.Stamp(objecttest.NoonPlus(63))
			listConfigs(s.catalog, names.ConfigMap, "", objecttest.ListOf(content.NewConfigMap(again)), objecttest.NoonPlus(75), false)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := takesOver((*story).restartedElsewhere)
			play(s)
			requireOutcome(t, s, Restart, startedAt(objecttest.NoonPlus(70)))
			requireOutcome(t, s, Keep, startedAt(objecttest.NoonPlus(80)))
		})
	}
}

func TestClocksMayDifferByASecond(t *testing.T) {
	s := begin(objecttest.Deployment(objecttest.ReadsAll("web", false)))
	s.listed(objecttest.ConfigMap("web", objecttest.Data{"a": "1", "b": "1"}))
	s.recorded(10)
	s.config("web", objecttest.Data{"a": "1", "b": "2"}, 60)
	s.restart(67.1)
	s.showsLate(objecttest.Data{"a": "2", "b": "2"}, 66, 67.3) // at 66.4 by the API server's clock
	s.showsLate(objecttest.Data{"a": "1", "b": "2"}, 66, 67.8) // at 66.9
	for _, started := range []float64{67, 68} {
		requireOutcome(t, s, Restart, startedAt(objecttest.NoonPlus(started)))
	}
}

// recordedElsewhere is the record that another process makes without a restart.
func (s *story) recordedElsewhere(seconds float64) {
	view, _ := s.catalog.View(objecttest.DeploymentRef("web"))
	catalogtest.WriteRecord(s.deployment, Decide(view).Checksums, objecttest.NoonPlus(seconds))
}

// A restart follows an edit by the grace period, which may be short, and its pods start at once. A
// replica that takes over within two minutes still knows the content before the edit.
func TestPodsOfARestartDoNotRestartForContentThatWentShortlyBefore(t *testing.T) {
	for name, test := range map[string]struct {
		record  func(*story, float64)
		written float64
		want    Outcome
	}{
		"it went before the restart":            {(*story).restartedElsewhere, 69.52, Keep},
		"it went after the restart":             {(*story).restartedElsewhere, 67.52, Restart},
		"the pods may be older than the record": {(*story).recordedElsewhere, 69.52, Restart},
		"the timestamp is that of somebody else": {func(s *story, seconds float64) {
			objecttest.SetTimestamp(s.deployment, "2030-01-01T00:00:00Z")
			s.recordedElsewhere(seconds)
		}, 69.52, Restart},
	} {
		t.Run(name, func(t *testing.T) {
			s := standsBy(false, objecttest.Data{"a": "1"})
			s.showsLate(objecttest.Data{"a": "2"}, 64, 64.283)
			s.showsLate(objecttest.Data{"a": "3"}, 68, 69.9)
			s.seesRecord(objecttest.Data{"a": "3"}, test.record, test.written)
			requireOutcome(t, s, test.want, startedAt(objecttest.NoonPlus(69)))
		})
	}
}

// Several edits can share a second with the restart for the first of them.
func TestContentThatTheRecordOfARestartReplacedDoesNotMatter(t *testing.T) {
	for name, test := range map[string]struct {
		came, went float64 // in whole seconds, as the API server dates them
		want       Outcome
	}{
		"it went in the second of the restart":     {68, 69, Keep},
		"it went later":                            {68, 70, Restart},
		"it came in the second of the restart too": {69, 69, Restart},
	} {
		t.Run(name, func(t *testing.T) {
			s := standsBy(false, objecttest.Data{"a": "1"})
			s.seesRecord(objecttest.Data{"a": "3"}, (*story).restartedElsewhere, 69.77)
			s.showsLate(objecttest.Data{"a": "2"}, test.came, 72)
			s.showsLate(objecttest.Data{"a": "3"}, test.went, 72)
			requireOutcome(t, s, test.want, startedAt(objecttest.NoonPlus(70)))
		})
	}
}
