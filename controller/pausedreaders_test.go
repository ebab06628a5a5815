//go:build !race

package controller

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/controller/objecttest"
)

// pauses pauses readers.
func (r *readers) pauses(names ...string) {
	for _, name := range names {
		r.ifThere(name, func(d *appsv1.Deployment) { d.Spec.Paused = true; d.Generation++ })
		r.report(name)
	}
}

// A pipeline pauses three of four readers for a moment, while a config is edited badly. Whoever resumes them restarts them; the
// controller restarts nobody else.
func TestReadersThatRollOnceTheyAreNotPausedAreJudged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReaders(t)
		paused := []string{"a/r1", "a/r2", "a/r3"}
		r.pauses(paused...)
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

func TestNobodyWaitsForAPausedReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReaders(t)
		r.pauses("a/r1")
		settle(r.world)
		r.edited("a/c", "2")
		settle(r.world)
		r.pass(9 * time.Minute)
		if restarted := r.restarted(); len(restarted) != 4 {
			t.Errorf("%q restarted", restarted)
		}
	})
}

// Between the moment in which the gate learns that a restart has begun and that in which it is followed, a look sees the one before roll.
func TestThatAnEarlierRestartRollsDoesNotHideTheNextFromTheGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReaders(t)
		r.pauses("a/r1")
		settle(r.world)
		r.edited("a/c", "2")
		settle(r.world)
		r.pass(20 * time.Second)
		r.changed("a/r1", func(d *appsv1.Deployment) {
			d.Spec.Paused = false
			d.Generation++
			d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: 4, UpdatedReplicas: 1, AvailableReplicas: 3}
		})
		ref := objecttest.DeploymentNamed("a/r1")
		r.controller.gate.Begun(&gate.Request{Workload: ref, ID: "next", Standing: gate.Well, Causes: []gate.Cause{{Config: aConfig, Keys: []string{"k"}, IsGradual: true}}}, time.Now())
		r.controller.deliveries.Look(t.Context(), ref)
		if id, _ := r.controller.gate.Ledger.Current(ref); id != "next" {
			t.Errorf("the gate follows %q", id)
		}
	})
}
