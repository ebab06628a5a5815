package decide

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/catalog/catalogtest"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
)

// A replica takes over whose watch of configs shows late what happened before the record.

// showsLate shows a ConfigMap whose keys were last written at the given second, some time after that.
func (s *story) showsLate(state objecttest.Data, written, seconds float64) {
	cm := objecttest.ConfigMap("web", state)
	cm.ManagedFields = []metav1.ManagedFieldsEntry{objecttest.Owns("kubectl", objecttest.NoonPlus(written), "f:data/f:a", "f:data/f:b")}
	s.catalog.ObserveConfig(content.NewConfigMap(cm), objecttest.NoonPlus(seconds))
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
