package controller

import (
	"testing"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/controller/gate"
)

func TestAWorkloadIsAsWellAsItWasBeforeItsControllerLooksAgain(t *testing.T) {
	d := followed(catalog.New())
	whole := catalog.Rollout{Wanted: 2, Updated: 2, Available: 2}
	lacking := catalog.Rollout{Wanted: 2, Updated: 2, Available: 1}
	observed := func(r catalog.Rollout) catalog.Rollout {
		r.Observed = true
		return r
	}
	for rollout, want := range map[catalog.Rollout]gate.Standing{
		whole: gate.Well, observed(whole): gate.Well, lacking: gate.Unwell, observed(lacking): gate.Unwell,
	} {
		if got := d.standingOf(&catalog.Workload{Ref: web, Rollout: rollout}); got != want {
			t.Errorf("%+v is %d, want %d", rollout, got, want)
		}
	}
}
