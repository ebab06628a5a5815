package wording_test

import (
	"testing"
	"time"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/controllertest"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/controller/objecttest"
)

// Nobody waits for a workload whose pods do not restart by themselves, but that one is not even patched.
func TestAWorkloadThatCannotBeRestartedIsDue(t *testing.T) {
	g := controllertest.OpenGate(catalog.New())
	for hold, want := range map[workload.Hold]bool{workload.InPlace: false, workload.Paused: true, workload.NoHold: false} {
		w := &workload.Workload{Object: workload.Object{Ref: objecttest.DeploymentNamed("a/web"), Hold: hold}}
		if got := g.Request(w, &decide.Decision{}, 0, gate.Well, time.Now()); got.CannotRoll != want {
			t.Errorf("%v: nobody waits for it: %t", hold, got.CannotRoll)
		}
	}
}
