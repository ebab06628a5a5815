//go:build !race

package controller

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
)

// lackingAPod returns a world with one workload that lacks a pod.
func lackingAPod(t *testing.T, grace time.Duration) *world {
	w := gradual(t)
	w.controller.intake.Grace, w.controller.restarter.Grace = grace, grace
	w.runs("a/web", nil, "c")
	settle(w)
	w.changed("a/web", func(d *appsv1.Deployment) { d.Status.AvailableReplicas = 2 })
	settle(w)
	return w
}

func TestAWorkloadThatLacksAPodRestartsWhileItsConfigKeepsChanging(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := lackingAPod(t, 5*time.Second)
		for second := range 60 {
			w.edited("a/c", fmt.Sprint("v", second))
			time.Sleep(time.Second)
			changes, _ := w.controller.changes.TakeDue(time.Now(), time.Hour)
			for _, change := range changes {
				w.controller.due(change)
			}
			for w.work() {
			}
			if w.deployments["a/web"].Spec.Template.Annotations[annotation.TimestampAnnotation] != "" {
				return
			}
		}
		t.Error("it has not restarted in a minute")
	})
}

func TestThatAWorkloadLeavesTheFirstTurnToOthersIsNoReasonToMarkIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := lackingAPod(t, time.Second)
		text := w.log()
		w.edited("a/c", "2")
		for range 5 {
			time.Sleep(time.Second)
			settle(w)
		}
		if len(w.restarted()) != 1 || strings.Contains(text.String(), "marked the record") {
			t.Errorf("%q restarted, with the log\n%s", w.restarted(), text.String())
		}
	})
}

// All wait for the approval of a person.
func TestAWorkloadThatLacksAPodYieldsAfterAHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var names []string
		for i := range 5 {
			names = append(names, fmt.Sprintf("a/well-%d", i))
		}
		w := gradual(t, names...)
		w.runs("a/lacks", nil, "c")
		settle(w)
		w.changed("a/lacks", func(d *appsv1.Deployment) { d.Status.AvailableReplicas = 2 })
		settle(w)
		w.edited("a/c", "2")
		w.annotate("a/c", annotation.HoldAnnotation, "waits for approval")
		w.show("configmaps", w.configMaps["a/c"])
		settle(w)
		if restarted := w.restarted(); len(restarted) > 0 {
			t.Fatalf("%q restarted while it is held", restarted)
		}
		time.Sleep(time.Hour)
		settle(w)
		w.annotate("a/c", "none", "")
		w.show("configmaps", w.configMaps["a/c"])
		settle(w)
		if restarted := w.restarted(); len(restarted) != 1 || restarted[0] == "a/lacks" {
			t.Errorf("%q restarted first", restarted)
		}
	})
}

// The window of all opens at night.
func TestAWorkloadThatLacksAPodYieldsWhenItsWindowOpens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nightly := map[string]string{annotation.WindowAnnotation: "0 22 * * * 6h"}
		w := gradual(t)
		time.Sleep(12 * time.Hour)
		w.runs("a/lacks", nightly, "c")
		for i := range 5 {
			w.runs(fmt.Sprintf("a/well-%d", i), nightly, "c")
		}
		settle(w)
		w.changed("a/lacks", func(d *appsv1.Deployment) { d.Status.AvailableReplicas = 2 })
		settle(w)
		w.edited("a/c", "2")
		settle(w)
		if restarted := w.restarted(); len(restarted) > 0 {
			t.Fatalf("%q restarted outside of the window", restarted)
		}
		for len(w.restarted()) == 0 {
			time.Sleep(10 * time.Second)
			settle(w)
		}
		if restarted := w.restarted(); len(restarted) != 1 || restarted[0] == "a/lacks" {
			t.Errorf("%q restarted first", restarted)
		}
	})
}
