package workload

import (
	"strings"
	"testing"

	"kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/catalog/policy"
	"kubernetes-deployment-restart-controller/catalog/record"
)

func TestWhatKeepsAWorkloadFromRollingOutDoesNotKeepItFromReplacingPods(t *testing.T) {
	whole := Rollout{Wanted: 2, Updated: 2, Available: 2, Observed: true}
	waits := Rollout{Wanted: 2, Updated: 1, Outdated: 1, Available: 2, Observed: true}
	unseen := Rollout{Wanted: 2, Updated: 2, Available: 2}
	for _, hold := range []Hold{Paused, OnDelete, Partitioned} {
		for rollout, want := range map[Rollout]bool{whole: false, waits: true, unseen: true} {
			w := Workload{Object: Object{Hold: hold, Rollout: rollout, Policy: &policy.WorkloadPolicy{Method: policy.ByEviction}}}
			w.keepTemplate()
			if w.Hold != NoHold || w.AwaitsRollout() != want || (w.MethodHold(true) != "") != want {
				t.Errorf("%d, %+v: hold %d, awaits its rollout: %t, held: %q", hold, rollout, w.Hold, w.AwaitsRollout(), w.MethodHold(true))
			}
		}
	}
	rolling := Workload{Object: Object{Rollout: waits, Policy: &policy.WorkloadPolicy{Method: policy.ByEviction}}}
	if rolling.keepTemplate(); rolling.AwaitsRollout() {
		t.Error("a workload that rolls out by itself awaits its rollout")
	}
}

func TestAWorkloadThatRestartsItselfIsHeldWhileItsControllerDoesNothing(t *testing.T) {
	for own, want := range map[OwnRestart]string{
		NoOwnRestart: "do not restart by eviction", ReplacesPods: "", HasReplacedPods: "", ReplacesNothing: "it is paused",
	} {
		w := restartsItself(own, 0)
		w.Rollout.Outdated = 1 // between two steps
		why := w.MethodHold(false)
		if (why == "") != (want == "") || !strings.Contains(why, want) {
			t.Errorf("%d: held because %q, want %q", own, why, want)
		}
		if got := w.AwaitsRollout(); got != (own == ReplacesNothing) {
			t.Errorf("%d: awaits its rollout: %t", own, got)
		}
		w.Policy = nil
		if w.RestartsItself() || w.MethodHold(false) != "" || w.ScheduledRestart(objecttest.Noon) != "" {
			t.Errorf("%d: without the method, it does not restart by its template", own)
		}
	}
}

func TestAStatefulSetThatRunsFromItsPartitionUpIsProof(t *testing.T) {
	w := Workload{Object: Object{Hold: PartlyPartitioned, Rollout: Rollout{Wanted: 3, Updated: 3, Available: 3, Observed: true}}, Record: record.Record{Trusted: true}}
	if !w.IsProof() {
		t.Error("it does not count after a takeover")
	}
}
