package restart_test

import (
	"errors"
	"testing"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/template"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/controllertest"
	"kubernetes-deployment-restart-controller/controller/failures"
	"kubernetes-deployment-restart-controller/controller/objecttest"
	"kubernetes-deployment-restart-controller/controller/restart"
	"kubernetes-deployment-restart-controller/controller/tracker"
)

func TestAWorkloadThatReadsASecretWaitsForTheKey(t *testing.T) {
	c := catalog.New()
	w := workload.Workload{Object: workload.Object{Ref: objecttest.Web, ResourceVersion: "1", References: []template.Reference{{Config: names.ConfigRef{Kind: names.Secret, Namespace: "ns", Name: "tls"}}}}}
	c.ObserveWorkload(w)
	r := restart.NewRestarter(restart.Parts{Catalog: c, Gate: controllertest.OpenGate(c), Table: tracker.New(), KnowsConfigs: func(string) bool { return true }}, nil)
	if err := r.Handle(t.Context(), objecttest.Web); !errors.Is(err, failures.ErrKeyUnknown) {
		t.Errorf("handled: %v", err)
	}
}
