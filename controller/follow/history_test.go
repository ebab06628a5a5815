package follow

import (
	"fmt"
	"testing"
	"time"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/controller/objecttest"
	"kubernetes-deployment-restart-controller/internal/status"
)

func TestTheFirstRestartsForAConfigSinceATimeAreFound(t *testing.T) {
	h, now := &History{}, time.Now().Truncate(time.Second)
	config := names.ConfigRef{Kind: names.ConfigMap, Namespace: "a", Name: "c"}
	other, elsewhere := config, config
	other.Name, elsewhere.Namespace = "other", "b"
	for i := range 70 {
		h.Begin(objecttest.DeploymentNamed(fmt.Sprintf("a/web-%02d", i)), "id", "", now.Add(time.Duration(69-i)*time.Second), other, config) // the latest one first
		h.Begin(objecttest.DeploymentNamed(fmt.Sprintf("b/web-%02d", i)), "id", "", now, elsewhere)
	}
	h.Begin(objecttest.DeploymentNamed("a/unclear"), "id", "", now.Add(time.Minute))
	h.End(objecttest.DeploymentNamed("a/web-49"), "id", status.Delivered, "", now.Add(time.Minute))
	found := h.For(config, now.Add(10*time.Second))
	if found.Total != 60 || len(found.Items) != status.Limit || found.Items[0].Workload != "deployment/a/web-59" || found.Items[49].Workload != "deployment/a/web-10" {
		t.Errorf("found: %+v", found)
	}
	if r := found.Items[10]; r.Workload != "deployment/a/web-49" || r.Outcome != status.Delivered {
		t.Errorf("the eleventh is %+v", r)
	}
	if found := h.For(config, now.Add(time.Hour)); found.Total != 0 {
		t.Errorf("found: %+v", found)
	}
}
