package follow_test

import (
	"io"
	"net/http"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/delivery"
	"kubernetes-deployment-restart-controller/controller/follow"
	"kubernetes-deployment-restart-controller/controller/objecttest"
	"kubernetes-deployment-restart-controller/controller/tracker"
)

func idleDeliveries(t *testing.T) *follow.Deliveries {
	return deliveriesOf(t, func(*http.Request) (*http.Response, error) {
		return objecttest.Respond(http.StatusOK, &appsv1.ReplicaSetList{})
	}, io.Discard)
}

// 2 of 3 pods ran. The restart for a failed; one for b followed, and now a is reverted.
func TestARevertIsJudgedByThePodsThatRanBeforeTheFailure(t *testing.T) {
	of := func(name string) decide.Decision {
		return decide.Decision{Outcome: decide.Restart, Causes: []decide.Cause{{Config: names.ConfigRef{Kind: names.ConfigMap, Namespace: "default", Name: name}, Keys: []string{"k"}, Moments: []names.Sequence{1}}}}
	}
	a, b, revert := of("a"), of("b"), of("a")
	d := idleDeliveries(t)
	w := &workload.Workload{Object: workload.Object{Ref: webRef, Rollout: workload.Rollout{Wanted: 3, Updated: 3, Observed: true}}}
	failed := &tracker.RollingRestart{Restart: &delivery.Restart{Ran: record.AllBut(1)}, HasFailed: true, Decision: a}
	next := &tracker.RollingRestart{Restart: &delivery.Restart{}, Decision: b, BrokenBy: failed.BrokenAfter(&b), BrokenRan: failed.RanBeforeFailure()}
	for name, restart := range map[string]*tracker.RollingRestart{"at once": failed, "after another restart": next} {
		d.Table.Update(webRef, func(row *tracker.Row) { row.Rolling = restart })
		if got := d.RanAfter(w, &revert); got != record.AllBut(1) {
			t.Errorf("%s: %d", name, got)
		}
	}
}

func TestTheNextRestartBesideADeadNodeIsJudgedAsTheLastOne(t *testing.T) {
	d := idleDeliveries(t)
	w := &workload.Workload{Object: workload.Object{Ref: webRef, Rollout: workload.Rollout{Wanted: 5, Updated: 4, Outdated: 1, Available: 4, Observed: true}}}
	w.Record.Trusted, w.Record.Ran = true, record.AllBut(1)
	if got := d.RanAfter(w, &decide.Decision{Outcome: decide.Restart}); got != record.AllBut(1) {
		t.Errorf("%d, want one missing", got)
	}
	w.Rollout.Outdated, w.Rollout.Updated = 3, 2 // by a release
	if got := d.RanAfter(w, &decide.Decision{Outcome: decide.Restart}); got != 0 {
		t.Errorf("%d pods ran, but they are being replaced", got)
	}
	w.Record.Ran = record.AllRan
	if got := d.RanAfter(w, &decide.Decision{Outcome: decide.Restart}); got != 0 {
		t.Errorf("%d pods ran, but all did before the last restart", got)
	}
}

// The restart for a failed while 2 of 3 pods ran before, one for b is inconclusive, and then 2 pods run.
func TestAFailureIsFollowedOnByThePodsThatRanBeforeIt(t *testing.T) {
	d := idleDeliveries(t)
	w := workload.Workload{Object: workload.Object{Ref: webRef, UID: "web-uid", ResourceVersion: "1", Hold: workload.OnDelete, Rollout: workload.Rollout{Wanted: 3, Updated: 3, Available: 2, Observed: true}}}
	d.Catalog.ObserveWorkload(w)
	broken := []decide.Cause{{Config: names.ConfigRef{Kind: names.ConfigMap, Namespace: "default", Name: "a"}, Keys: []string{"k"}}}
	next := &tracker.RollingRestart{Restart: delivery.Begin(&w, 0, time.Now()), BrokenBy: broken, BrokenRan: record.AllBut(1)}
	d.Table.Update(webRef, func(row *tracker.Row) { row.Rolling = next })
	d.Look(t.Context(), webRef)
	if followed := d.Of(webRef); followed == nil || !followed.HasFailed || !followed.RunsAsBefore(&w) {
		t.Errorf("followed is %+v", followed)
	}
}
