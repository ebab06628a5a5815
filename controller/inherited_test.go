package controller

import (
	"math"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/controller/objecttest"
	"kubernetes-deployment-restart-controller/internal/status"
)

// takenOver returns a world whose controller begins to lead now. It has stood by for a week, in which a former leader has
// restarted a/web for an edit. Another edit followed so long ago, of which the former leader knew nothing.
func takenOver(t *testing.T, ago time.Duration) (w *world, edited time.Time) {
	leader, next := gradual(t, "a/web"), gradual(t, "a/web")
	next.deployments, next.version = leader.deployments, 1000
	list(next, "deployments", next.deployments)
	time.Sleep(3 * 24 * time.Hour)
	editedUnder(leader, next)
	wholeStatus(leader.deployments["a/web"])
	next.show("deployments", leader.deployments["a/web"])
	time.Sleep(4 * 24 * time.Hour)
	edited = time.Now()
	next.edited("a/c", "3")
	time.Sleep(ago)
	next.leads()
	return next, edited
}

// startedLate returns a world whose controller has just started and leads, and a workload that should have restarted before.
func startedLate(t *testing.T, dated bool) *world {
	former, next := gradual(t, "a/web"), gradual(t)
	time.Sleep(time.Minute)
	next.deployments, next.version = former.deployments, 1000
	next.edited("a/c", "2")
	if dated {
		next.configMaps["a/c"].ManagedFields = []metav1.ManagedFieldsEntry{{
			Manager: "kubectl", Operation: metav1.ManagedFieldsOperationUpdate, Time: new(metav1.Now()), FieldsType: "FieldsV1",
			FieldsV1: metav1.NewFieldsV1(`{"f:data":{"f:k":{}}}`),
		}}
	}
	time.Sleep(time.Minute)
	next.leads()
	list(next, "configmaps", next.configMaps)
	list(next, "deployments", next.deployments)
	return next
}

func (w *world) leads() {
	w.controller.beginToLead()
	w.controller.gate.SetHaltsTried()
	w.controller.gate.SetHaltsKnown(true)
}

func TestAWaitAfterATakeoverCountsFromTheEdit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, edited := takenOver(t, 42*time.Second)
		w.refuse, w.refusedWith = http.StatusForbidden, objecttest.LackedPermission
		settle(w)
		w.requireSince(t, status.Retrying, edited, false)
		w.requireWait(t, 42*time.Second)
		time.Sleep(time.Minute)
		w.requireWait(t, 102*time.Second)

		w.refuse = 0
		time.Sleep(time.Minute)
		w.controller.restarter.Queue.Add(objecttest.DeploymentNamed("a/web"), names.ConfigRef{})
		settle(w)
		w.requireWait(t, 0)
		for _, histogram := range []prometheus.Histogram{w.controller.restarter.Metrics.ChangeToPatch, w.controller.restarter.Metrics.DueToPatch} {
			var got dto.Metric
			if err := histogram.Write(&got); err != nil || math.Round(got.GetHistogram().GetSampleSum()) != 162 {
				t.Errorf("%s has a sum of %v (%v)", histogram.Desc(), got.GetHistogram().GetSampleSum(), err)
			}
		}
	})
}

// The former leader has put the restart off, too.
func TestARestartThatIsHeldAfterATakeoverIsHeldSinceItWasDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, edited := takenOver(t, 42*time.Second)
		w.controller.gate.HoldEverything("an incident")
		settle(w)
		w.requireSince(t, status.Held, edited, false)
		if fanOuts := w.overview().FanOuts.Items; len(fanOuts) != 1 || fanOuts[0].AtLeast || !fanOuts[0].Since.Equal(edited) {
			t.Errorf("the fan-out has not begun with the edit: %+v", fanOuts)
		}
		w.requireWait(t, 0)
	})
}

func TestAWaitOfWhichNoWatchShowedTheEditCountsFromWhenTheLeaderSawIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := startedLate(t, false)
		w.refuse, w.refusedWith = http.StatusForbidden, objecttest.LackedPermission
		began := time.Now()
		settle(w)
		time.Sleep(5 * time.Second)
		w.requireSince(t, status.Retrying, began, true)
		if gaps := w.controller.Gaps(""); len(gaps) != 1 || !gaps[0].AtLeast {
			t.Errorf("the permission may have been lost earlier: %+v", gaps)
		}
		if fanOuts := w.overview().FanOuts.Items; len(fanOuts) != 1 || !fanOuts[0].AtLeast {
			t.Errorf("the fan-out may have begun earlier: %+v", fanOuts)
		}
		w.requireWait(t, 5*time.Second)
	})
}

func TestAWaitOfWhichTheAPIServerDatesTheEditCountsFromThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := startedLate(t, true)
		w.refuse, w.refusedWith = http.StatusForbidden, objecttest.LackedPermission
		edited := time.Now().Add(-time.Minute)
		settle(w)
		w.requireSince(t, status.Retrying, edited, true)
		w.requireWait(t, time.Minute)
		if fanOuts := w.overview().FanOuts.Items; len(fanOuts) != 1 || !fanOuts[0].AtLeast || fanOuts[0].Since.Sub(edited).Abs() > time.Second {
			t.Errorf("the fan-out began with the edit: %+v", fanOuts)
		}
	})
}

func TestAWaitForAnEditThatTheLeaderSawCountsFromTheEdit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := gradual(t, "a/web")
		time.Sleep(time.Hour)
		w.refuse, w.refusedWith = http.StatusForbidden, objecttest.LackedPermission
		edited := time.Now()
		w.edited("a/c", "2")
		settle(w)
		time.Sleep(time.Minute)
		w.requireSince(t, status.Retrying, edited, false)
		w.requireWait(t, time.Minute)
	})
}

// A new leader finds a restart refused, and then somebody holds it.
func TestARestartThatWasRefusedFirstIsHeldSinceTheHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, edited := takenOver(t, 42*time.Second)
		w.refuse, w.refusedWith = http.StatusForbidden, objecttest.LackedPermission
		settle(w)
		w.requireSince(t, status.Retrying, edited, false)
		time.Sleep(time.Hour)
		w.controller.gate.HoldEverything("an incident")
		settle(w)
		w.requireSince(t, status.Held, time.Now(), false)
	})
}

// requireWait requires how long the workloads of the namespace have waited at most.
func (w *world) requireWait(t *testing.T, want time.Duration) {
	t.Helper()
	got := w.controller.restarter.Table.Load(time.Now()).Waits["a"]
	if got > want || got < want-time.Second {
		t.Errorf("the longest wait is %s, want %s", got, want)
	}
}

// requireSince requires that one workload is in a state, and since when.
func (w *world) requireSince(t *testing.T, state status.State, since time.Time, atLeast bool) {
	t.Helper()
	e := w.controller.Board.Explain(objecttest.DeploymentNamed("a/web"), time.Now()).Entry
	if e.State != state || e.Since.Sub(since).Abs() > time.Second || e.AtLeast != atLeast {
		t.Errorf("it is %s since %v (at least: %t), want %s since %v (%t)", e.State, e.Since, e.AtLeast, state, since, atLeast)
	}
}

// The edit is old, but there was nothing to restart before.
func TestAWorkloadThatIsEnabledLongAfterAnEditWaitsSinceThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := gradual(t, "a/web")
		web := w.deployments["a/web"].DeepCopy()
		off := web.DeepCopy()
		delete(off.Annotations, annotation.EnabledAnnotation)
		w.show("deployments", off)
		time.Sleep(time.Hour)
		w.edited("a/c", "2")
		time.Sleep(72 * time.Hour)
		w.refuse, w.refusedWith = http.StatusForbidden, objecttest.LackedPermission
		w.show("deployments", web)
		enabled := time.Now()
		settle(w)
		time.Sleep(5 * time.Second)
		w.requireSince(t, status.Retrying, enabled, false)
		w.requireWait(t, 5*time.Second)
	})
}

func TestALaterEditOfTheSameKeyDoesNotShortenAWaitAfterATakeover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, edited := takenOver(t, 42*time.Second)
		w.refuse, w.refusedWith = http.StatusForbidden, objecttest.LackedPermission
		settle(w)
		time.Sleep(2 * time.Hour)
		w.edited("a/c", "4")
		settle(w)
		w.requireSince(t, status.Retrying, edited, false)
		w.requireWait(t, 2*time.Hour+42*time.Second)
	})
}

// What a former leader saw as this one does is no older for that.
func TestAWorkloadThatWasEnabledLongAfterAnEditWaitsSinceTheTakeover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := gradual(t, "a/web")
		w.controller.role.Leading.Store(false)
		web := w.deployments["a/web"].DeepCopy()
		off := web.DeepCopy()
		delete(off.Annotations, annotation.EnabledAnnotation)
		w.show("deployments", off)
		w.edited("a/c", "2")
		time.Sleep(72 * time.Hour)
		w.refuse, w.refusedWith = http.StatusForbidden, objecttest.LackedPermission
		w.show("deployments", web)
		time.Sleep(time.Minute)
		w.leads()
		settle(w)
		w.requireSince(t, status.Retrying, time.Now(), true)
		time.Sleep(5 * time.Second)
		w.requireWait(t, 5*time.Second)
	})
}
