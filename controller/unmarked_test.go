package controller

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/controller/events"
	"kubernetes-deployment-restart-controller/controller/failures"
	"kubernetes-deployment-restart-controller/controller/gate"
)

const deniedByPolicy = `deployments.apps "web" is forbidden: ValidatingAdmissionPolicy 'freeze' with binding 'freeze' denied request: frozen`

// What the gate decides does not depend on a write to the workload.
func TestAHeldRestartThatCannotBeMarkedIsHeldAndSaysSo(t *testing.T) {
	for name, before := range map[string]func(*world){
		"held before the edit":                  func(w *world) { w.changed("a/web", holdIt); w.edited("a/c", "2") },
		"held after its restart was refused":    func(w *world) { w.edited("a/c", "2"); settle(w); time.Sleep(time.Minute); w.changed("a/web", holdIt) },
		"held as an edit comes after a refusal": func(w *world) { w.edited("a/c", "2"); settle(w); w.changed("a/web", holdIt); w.edited("a/c", "3") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := gradual(t, "a/web")
				w.refuse, w.refusedWith = http.StatusForbidden, deniedByPolicy
				told := w.listens()
				began := time.Now()
				before(w)
				settle(w)
				time.Sleep(time.Minute)
				settle(w)
				w.judged(t)
				if held := w.controller.gate.Ledger.Waiting()[gate.Hold]; held != 1 {
					t.Errorf("held: %d", held)
				}
				o := w.overview()
				if o.Held.Total != 1 || o.Pending.Total+o.Retrying.Total+o.Waiting.Total != 0 {
					t.Fatalf("%+v", o)
				}
				e := o.Held.Items[0]
				if !strings.HasPrefix(e.Error, failures.ErrNotMarked.Error()+": ") || !strings.HasSuffix(e.Error, " (failing since "+began.UTC().Format(time.RFC3339)+")") || !strings.Contains(e.Error, "denied request: frozen") || !e.OnlyRecord || strings.Contains(string(e.Remedy), "by hand") {
					t.Errorf("%+v", e)
				}
				recorder := told(events.RestartFailed)
				if last := recorder[len(recorder)-1]; !strings.Contains(last, "cannot write a record, trying again: "+failures.ErrNotMarked.Error()) || strings.Contains(last, "by hand") {
					t.Errorf("%q", last)
				}
				w.refuse = 0
				time.Sleep(time.Minute)
				settle(w)
				if held := w.controller.gate.Ledger.Waiting()[gate.Hold]; held != 1 {
					t.Errorf("held when it is marked: %d", held)
				}
				if events := told(events.Resumed); len(events) != 1 || !strings.Contains(events[0], "the controller may write to this workload again") {
					t.Errorf("when it is marked, it is told %q", events)
				}
				if o = w.overview(); o.Held.Total != 1 || o.Held.Items[0].Error != "" {
					t.Errorf("when it is marked: %+v", o.Held)
				}
				w.changed("a/web", func(d *appsv1.Deployment) { delete(d.Annotations, annotation.HoldAnnotation) })
				settle(w)
				if restarted := w.restarted(); len(restarted) != 1 {
					t.Errorf("released: %q", restarted)
				}
			})
		})
	}
}
