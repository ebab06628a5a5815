//go:build !race

package controller

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
)

// A pipeline pauses three of four readers for a moment, while a config is edited badly. Whoever resumes them restarts them; the
// controller restarts nobody else.
func TestReadersThatRollOnceTheyAreNotPausedAreJudged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReaders(t)
		paused := []string{"a/r1", "a/r2", "a/r3"}
		for _, name := range paused {
			r.ifThere(name, func(d *appsv1.Deployment) { d.Spec.Paused = true; d.Generation++ })
			r.report(name)
		}
		r.set("a/r4", annotation.HoldAnnotation, "later")
		settle(r.world)
		r.edited("a/c", "bad")
		settle(r.world)
		r.pass(10 * time.Second)
		for _, name := range paused {
			r.ifThere(name, func(d *appsv1.Deployment) { d.Spec.Paused = false; d.Generation++ })
		}
		r.kubelets()
		settle(r.world)
		r.set("a/r4", annotation.HoldAnnotation, "")
		r.pass(5 * time.Minute)
		if restarted := r.restarted(); slices.Contains(restarted, "a/r4") || len(r.controller.gate.ActiveHalts()) != 1 {
			t.Errorf("%q restarted, with the halts %+v", restarted, r.controller.gate.ActiveHalts())
		}
	})
}
