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
