package decide

import (
	"testing"

	"kubernetes-deployment-restart-controller/catalog/catalogtest"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
)

func TestARecordThatHasOtherConfigsTooIsReplaced(t *testing.T) {
	s := begin(objecttest.Deployment(objecttest.ReadsAll("web", false)))
	s.listed(objecttest.ConfigMap("web", objecttest.Data{"a": "1"}))
	view, _ := s.catalog.View(objecttest.DeploymentRef("web"))
	checksums := Decide(view).Checksums
	checksums[objecttest.ConfigMapRef("other")] = 1
	catalogtest.WriteRecord(s.deployment, checksums, objecttest.NoonPlus(10))
	s.catalog.ObserveWorkload(s.reduced())
	if got := s.decide(t); got.Outcome != RecordOnly {
		t.Errorf("decision %+v", got)
	}
	s.recorded(20)
	if got := s.decide(t); got.Outcome != Keep {
		t.Errorf("decision after that %+v", got)
	}
}
