package controller

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/controller/events"
	"kubernetes-deployment-restart-controller/controller/failures"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/controller/objecttest"
	"kubernetes-deployment-restart-controller/internal/status"
)

// refusals are the retried workloads by their names.
func (w *world) refusals() map[string]status.Entry {
	all := make(map[string]status.Entry)
	for _, e := range w.overview().Retrying.Items {
		all[e.Workload] = e
	}
	return all
}

// While a worker tries to restart one, the other one has to wait for its turn.
func TestARefusalIsAsOldAsItsFirstAttemptWhoeverHasTheTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := gradual(t, "a/one", "a/two")
		w.refuse, w.refusedWith = http.StatusForbidden, objecttest.LackedPermission
		w.edited("a/c", "2")
		settle(w)
		before := w.refusals()
		if len(before) != 2 {
			t.Fatalf("refused: %+v", before)
		}
		w.answer = func(r *http.Request) (int, any) {
			if r.Method == http.MethodPatch && strings.HasSuffix(r.URL.Path, "/one") {
				w.controller.restarter.Work(t.Context(), objecttest.DeploymentNamed("a/two"))
				if e := w.refusals()["deployment/a/two"]; e.Reason != string(gate.SlowStart) || !e.Until.IsZero() {
					t.Errorf("meanwhile: %+v", e)
				}
			}
			return 0, nil
		}
		for range 10 {
			time.Sleep(10 * time.Second)
			settle(w)
			now := w.refusals()
			for name, e := range before {
				if got := now[name]; !got.Since.Equal(e.Since) || got.Attempts < e.Attempts || got.Error == "" || got.Remedy != status.GrantPermission {
					t.Fatalf("%s: %+v, before: %+v", name, got, e)
				}
			}
			if gaps := w.controller.lostPermissions(""); len(gaps) != 1 || !strings.Contains(gaps[0].Text, "(waiting: 2)") {
				t.Errorf("%+v", gaps)
			}
			before = now
		}
		if attempts := before["deployment/a/two"].Attempts; attempts < 10 {
			t.Errorf("counted %d attempts", attempts)
		}
		w.refuse, w.answer = 0, nil
		time.Sleep(time.Minute)
		settle(w)
		for name, e := range w.refusals() {
			if len(w.restarted()) != 1 || e.Reason != string(gate.SlowStart) || e.Attempts != before[name].Attempts {
				t.Errorf("after one success: %q, %+v", w.restarted(), e)
			}
		}
		if gaps := w.controller.lostPermissions(""); len(gaps) > 0 {
			t.Errorf("after one success: %+v", gaps)
		}
		w.delivers(t, w.restarted()[0])
		settle(w)
		if len(w.restarted()) != 2 || len(w.refusals()) > 0 {
			t.Errorf("in the end: %q, %+v", w.restarted(), w.refusals())
		}
	})
}

func TestARefusalIsAsOldAsItsFirstAttemptWhateverIsNotKnownMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := gradual(t, "a/web")
		again := func() status.Entry {
			time.Sleep(time.Minute)
			settle(w)
			return w.refusals()["deployment/a/web"]
		}
		w.refuse, w.refusedWith = http.StatusForbidden, objecttest.LackedPermission
		w.edited("a/c", "2")
		first := again()
		w.controller.restarter.KnowsConfigs = func(string) bool { return false }
		if e := again(); e.Text != failures.ErrConfigsUnknown.Error() || e.Error == "" || !e.Since.Equal(first.Since) {
			t.Errorf("while not all is known: %+v, before: %+v", e, first)
		}
		w.controller.restarter.KnowsConfigs = func(string) bool { return true }
		if e := again(); e.Text != "" || e.Attempts <= first.Attempts || !e.Since.Equal(first.Since) {
			t.Errorf("when all is known again: %+v, before: %+v", e, first)
		}
	})
}

// What refused it may be gone.
func TestARestartThatPeopleHoldAfterItWasRefusedSaysOnlyThatItIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := gradual(t, "a/web")
		w.refuse, w.refusedWith = http.StatusForbidden, objecttest.LackedPermission
		w.edited("a/c", "2")
		settle(w)
		time.Sleep(time.Minute)
		w.refuse = 0
		w.changed("a/web", holdIt)
		time.Sleep(time.Minute)
		settle(w)
		if o := w.overview(); o.Retrying.Total != 0 || o.Held.Total != 1 || o.Held.Items[0].Error != "" || o.Held.Items[0].Remedy != "" || o.Held.Items[0].Text == "" {
			t.Errorf("retrying %+v, held %+v", o.Retrying, o.Held)
		}
		w.refuse = http.StatusForbidden
		w.changed("a/web", func(d *appsv1.Deployment) { delete(d.Annotations, annotation.HoldAnnotation) })
		time.Sleep(time.Minute)
		settle(w)
		if e := w.refusals()["deployment/a/web"]; e.Error == "" || e.Attempts < 2 || e.Remedy != status.GrantPermission {
			t.Errorf("refused again: %+v", e)
		}
	})
}

// Otherwise each that asks while another one is being refused would be tried at once, again and again.
func TestRestartsThatAreAllRefusedAreTriedLessAndLessOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := gradual(t, "a/v", "a/w", "a/x", "a/y", "a/z")
		settle(w)
		var refused atomic.Int64
		w.answer = func(r *http.Request) (int, any) {
			if r.Method != http.MethodPatch {
				return 0, nil
			}
			refused.Add(1)
			time.Sleep(20 * time.Millisecond)
			return http.StatusForbidden, metav1.Status{
				TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: http.StatusForbidden, Message: "denied by a policy",
			}
		}
		w.edited("a/c", "2")
		time.Sleep(2 * time.Second)
		for _, change := range w.takeChanges() {
			w.controller.due(change)
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		if err := w.controller.restarter.Run(ctx, func(names.WorkloadRef) {}); err != nil {
			t.Error(err)
		}
		if n := refused.Load(); n < 20 || n > 200 {
			t.Errorf("five workloads were tried %d times in a minute", n)
		}
	})
}

// Nothing restarts for the edit of a workload without pods, but its record is to be written.
func TestARecordThatIsRefusedIsNoRestart(t *testing.T) {
	for name, before := range map[string]func(*world){
		"a workload without pods": func(w *world) {
			w.changed("a/web", func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32) })
			settle(w)
			w.refuse = http.StatusForbidden
			w.edited("a/c", "2")
		},
		"one that is scaled down after its restart was refused": func(w *world) {
			w.refuse = http.StatusForbidden
			w.edited("a/c", "2")
			settle(w)
			time.Sleep(time.Minute)
			w.changed("a/web", func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32) })
		},
		"one whose edit was undone after its restart was refused": func(w *world) {
			w.refuse = http.StatusForbidden
			w.edited("a/c", "2")
			settle(w)
			time.Sleep(time.Minute)
			w.edited("a/c", "1")
			w.changed("a/web", objecttest.Removed)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := gradual(t, "a/web")
				w.refusedWith = objecttest.LackedPermission
				told := w.listens()
				before(w)
				changed := time.Now()
				settle(w)
				time.Sleep(30 * time.Second)
				settle(w)
				w.judged(t)
				e := w.refusals()["deployment/a/web"]
				if !strings.HasPrefix(e.Error, failures.ErrOnlyRecord.Error()) || e.Attempts < 2 || !e.Since.Equal(changed) {
					t.Errorf("%+v, changed at %s", e, changed)
				}
				if gaps := w.controller.lostPermissions(""); len(gaps) != 1 || !strings.Contains(gaps[0].Text, "to write the records of workloads of the kind Deployment (waiting: 1), no pods of which wait") {
					t.Errorf("%+v", gaps)
				}
				if events := told(events.RestartFailed); len(events) == 0 || !strings.Contains(events[len(events)-1], failures.ErrOnlyRecord.Error()) {
					t.Errorf("%q", events)
				}
				if stale := w.controller.staleness.Namespaces; len(stale) > 0 {
					t.Errorf("stale: %v", stale)
				}
			})
		})
	}
}
