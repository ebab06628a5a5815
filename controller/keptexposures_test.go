//go:build !race

package controller

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/controller/objecttest"
)

// What the next leader must know of workloads that may not show what they are exposed to.

// kept returns the entry of the ConfigMap of halts about the readers.
func (r *readers) kept() string { return r.written()[gate.ExposedEntry("a")] }

func TestWhatTheFirstReaderIsExposedToIsKept(t *testing.T) {
	for name, c := range map[string]struct {
		hide, then func(r *readers)
	}{
		"until it is judged": {
			func(r *readers) { r.scale("a/r1", 0) },
			func(r *readers) { r.scale("a/r1", 3); r.pass(time.Minute) },
		},
		"until it is delivered": {
			func(r *readers) { r.set("a/r1", annotation.EnabledAnnotation, "") },
			func(r *readers) {
				r.set("a/r1", annotation.EnabledAnnotation, annotation.Enabled)
				r.edited("a/c", "good")
				r.pass(5 * time.Minute)
			},
		},
		"until the deadline": {
			func(r *readers) { r.set("a/r1", annotation.EnabledAnnotation, "") },
			func(r *readers) { r.pass(21 * time.Minute) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newReaders(t)
				r.edited("a/c", "bad")
				settle(r.world)
				if one := r.canary(); one != "a/r1" {
					t.Fatal(one)
				}
				r.pass(10 * time.Second)
				if kept := r.kept(); strings.Count(kept, `"workload":"deployment/a/r1","config":"configmap/a/c"`) != 1 {
					t.Errorf("before it is proven, kept is %q", kept)
				}
				c.hide(r)
				r.pass(10 * time.Second)
				if kept := r.kept(); strings.Count(kept, `"workload":"deployment/a/r1","config":"configmap/a/c"`) != 1 {
					t.Errorf("kept is %q", kept)
				}
				c.then(r)
				if kept := r.kept(); strings.Contains(kept, "r1") {
					t.Errorf("kept is still %s", kept)
				}
			})
		})
	}
}

func TestAnotherContentIsKeptAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReaders(t)
		isNoted := func() bool {
			select {
			case <-r.controller.halts.Changed:
				return true
			default:
				return false
			}
		}
		for _, content := range []string{"bad", "bad too"} {
			isNoted()
			before := r.kept()
			r.edited("a/c", content)
			settle(r.world)
			if r.kept() == before || !isNoted() {
				t.Errorf("after %q, %s is kept", content, r.kept())
			}
			time.Sleep(2 * time.Second)
		}
	})
}

// Whoever may write to the ConfigMap of halts cannot hold restarts for ever.
func TestWhatIsKeptHoldsNobodyForLongerThanTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReaders(t)
		r.edited("a/c", "2")
		r.controller.gate.RestoreExposure(gate.Exposure{
			Workload: objecttest.DeploymentNamed("a/gone"), Config: aConfig, Keys: []string{"k"}, Content: r.controller.catalog.ContentID(aConfig, []string{"k"}), Until: time.Now().AddDate(100, 0, 0),
		}, time.Now())
		settle(r.world)
		if restarted := r.restarted(); len(restarted) > 0 {
			t.Fatalf("%q restarted beside one that is exposed", restarted)
		}
		r.pass(r.controller.gate.Deadline + time.Minute)
		if len(r.restarted()) == 0 {
			t.Error("nobody has restarted")
		}
	})
}

func TestOfANamespaceABoundedNumberIsKept(t *testing.T) {
	w := gradual(t)
	now := time.Now()
	for i := range 1000 {
		ref := names.WorkloadRef{Kind: names.Deployment, Namespace: "a", Name: strings.Repeat("x", i%200+1)}
		w.controller.gate.RestoreExposure(gate.Exposure{Workload: ref, Config: aConfig, Content: "1", Until: now.Add(time.Minute)}, now)
	}
	if n := len(w.controller.gate.KeptExposures(now)["a"]); n > 32 {
		t.Errorf("%d are kept", n)
	}
	if n := len(w.controller.gate.KeptExposures(now.Add(time.Hour))); n > 0 {
		t.Errorf("those of %d namespaces are kept for ever", n)
	}
}
