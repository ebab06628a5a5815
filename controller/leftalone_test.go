//go:build !race

package controller

import (
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/catalog/optin"
	"kubernetes-deployment-restart-controller/controller/kinds"
	"kubernetes-deployment-restart-controller/controller/objecttest"
	"kubernetes-deployment-restart-controller/internal/notes"
	"kubernetes-deployment-restart-controller/internal/quarantine"
	"kubernetes-deployment-restart-controller/internal/status"
)

// selecting lets the watch show a Deployment with a selector of so many bytes, which may be too many.
func (w *world) selecting(name string, bytes int) {
	w.changed(name, func(d *appsv1.Deployment) {
		labels := make(map[string]string)
		for i := range bytes / 100 {
			labels[fmt.Sprintf("%046d", i)] = fmt.Sprintf("%053d", i)
		}
		d.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	})
}

func TestAnEnabledWorkloadThatIsLeftAloneIsListedWithWhyAndNeverSettled(t *testing.T) {
	name := kinds.NameOfWorkload(objecttest.DeploymentNamed("a/web"))
	for problem, test := range map[string]struct {
		begin, end func(*world)
		text       string // the beginning of what is shown
		isGap      bool
	}{
		"its pod template has too many references": {
			begin: func(w *world) { w.runsWith("a/web", references("web", 10_001)) },
			text:  "its pod template has more than 10000 references to ConfigMaps and Secrets. Use ",
		},
		"its namespace has too many": {
			begin: func(w *world) {
				w.runsWith("a/web", references("web", 9_990))
				for i := range 10 {
					w.runsWith(fmt.Sprint("a/other-", i), references(fmt.Sprint("other-", i), 9_900+i))
				}
			},
			end:  func(w *world) { w.removes("a/other-1") },
			text: "the workloads of its namespace together have more than 100000 references to ConfigMaps and Secrets, and those with the most are left alone. Use ",
		},
		"its selector is too long": {
			begin: func(w *world) { w.selecting("a/web", 20_000) },
			end:   func(w *world) { w.selecting("a/web", 100) },
			text:  "its .spec.selector is longer than 16384 bytes. Change that, or ",
		},
		"an internal error when it was taken in": {
			begin: func(w *world) {
				w.controller.restarter.Quarantine.Try(quarantine.Intake, name, func() { panic("canary") })
			},
			text: "internal error: the controller tries again when the workload changes. ", isGap: true,
		},
		"internal errors at two places": {
			begin: func(w *world) {
				for _, place := range []quarantine.Place{quarantine.Queue, quarantine.Decision} {
					w.controller.restarter.Quarantine.Try(place, name, func() { panic("canary") })
				}
			},
			text: "internal error: the controller tries again when the workload changes. ", isGap: true,
		},
		"an internal error when it was decided about": {
			begin: func(w *world) {
				w.controller.restarter.Quarantine.Try(quarantine.Decision, name, func() { panic("canary") })
			},
			end:  func(w *world) { w.controller.restarter.Quarantine.Try(quarantine.Decision, name, func() {}) },
			text: "internal error: the controller tries again when the workload changes. ", isGap: true,
		},
	} {
		t.Run(problem, func(t *testing.T) {
			w := ruled(t, optin.Rules{})
			w.readsAgain()
			look := func() (*status.Overview, *status.Workload) {
				settle(w)
				w.judged(t)
				return w.overview(), w.controller.ExplainWorkload("deployment/a/web", time.Now())
			}
			w.runsWith("a/web", []string{"c"})
			if o, e := look(); o.LeftAlone.Total != 0 || e.State == status.LeftAlone {
				t.Fatalf("before: %s, %+v", e.State, o.LeftAlone)
			}
			test.begin(w)
			o, e := look()
			if o.LeftAlone.Total != 1 || len(o.LeftAlone.Items) != 1 {
				t.Fatalf("the list is %+v", o.LeftAlone)
			}
			row := o.LeftAlone.Items[0]
			if row.Workload != "deployment/a/web" || row.State != status.LeftAlone || !strings.HasPrefix(row.Text, test.text) || row.Since.IsZero() {
				t.Errorf("the row is %+v", row)
			}
			if e == nil || e.State != status.LeftAlone || e.Text != row.Text || !e.Since.Equal(row.Since) || e.Decision.Outcome != string(decide.Keep) && !test.isGap {
				t.Errorf("it is explained by %+v", e)
			}
			if gaps := w.controller.Gaps("a"); len(gaps) > 0 != test.isGap || len(w.controller.Gaps("b")) > 0 {
				t.Errorf("the gaps are %+v", gaps)
			}
			if elsewhere := w.controller.Overview("b", time.Now()).LeftAlone; elsewhere.Total != 0 {
				t.Errorf("in another namespace: %+v", elsewhere)
			}
			if test.end == nil {
				test.end = func(w *world) { w.removes("a/web") }
			}
			test.end(w)
			if o, _ := look(); o.LeftAlone.Total != 0 {
				t.Errorf("after its end: %+v", o.LeftAlone)
			}
		})
	}
}

func TestAllWorkloadsThatAreLeftAloneCountHoweverManyTheyAre(t *testing.T) {
	w := ruled(t, optin.Rules{})
	for i := range notes.MaxOf + 20 {
		name := fmt.Sprint("a/web-", i)
		w.runsWith(name, []string{"c"})
		w.selecting(name, 20_000)
	}
	settle(w)
	w.judged(t)
	list := w.overview().LeftAlone
	if list.Total != notes.MaxOf+20 || len(list.Items) != status.Limit {
		t.Errorf("%d of %d are shown", len(list.Items), list.Total)
	}
	for _, name := range []string{"web-0", fmt.Sprint("web-", notes.MaxOf+19)} {
		if e := w.controller.ExplainWorkload("deployment/a/"+name, time.Now()); e == nil || e.State != status.LeftAlone || e.Text == "" {
			t.Errorf("%s is explained by %+v", name, e)
		}
	}
}
