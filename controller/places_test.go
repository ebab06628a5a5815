package controller

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/tools/record"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/controller/failures"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/controller/objecttest"
	"kubernetes-deployment-restart-controller/controller/run"
	"kubernetes-deployment-restart-controller/controller/tracker"
)

// The watch may show that a workload is gone before the answer to its patch arrives. Nobody follows that restart.
func TestNobodyWaitsForLongForAWorkloadThatIsGoneBeforeItsRestartIsAnswered(t *testing.T) {
	for name, goes := range map[string]func(*world, string){
		"deleted": func(w *world, name string) {
			w.hide("deployments", w.deployments[name])
			delete(w.deployments, name)
		},
		"opted out": func(w *world, name string) {
			w.changed(name, func(d *appsv1.Deployment) { delete(d.Annotations, annotation.EnabledAnnotation) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := gradual(t, "a/web", "a/other")
			w.edited("a/c", "2")
			gone := ""
			w.patched = func() {
				gone = w.restarted()[0]
				goes(w, gone)
			}
			settle(w)
			others := func() []string {
				return slices.DeleteFunc(w.restarted(), func(name string) bool { return name == gone })
			}
			if gone == "" || len(others()) > 0 {
				t.Errorf("%q is gone, %q restarted at once: nobody knows whether the pods ran", gone, others())
			}
			w.tick(w.controller.gate.Deadline)
			settle(w)
			if len(others()) != 1 || w.controller.gate.Ledger.UnderWay() != 1 {
				t.Errorf("%q is gone, %q restarted, %d under way", gone, others(), w.controller.gate.Ledger.UnderWay())
			}
		})
	}
}

// The largest deadline means that a rollout has none. In a group, others would wait for it in all namespaces.
func TestNoNamespaceOfAGroupWaitsForARolloutInAnotherOneThatNeverEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := gradual(t, "a/web")
		w.controller.gate.FanOut.Groups = []names.ConfigRef{gate.GroupOf(names.ConfigMap, "c")}
		ctx, stop := context.WithCancel(t.Context())
		var group sync.WaitGroup
		group.Go(func() { w.controller.deliveries.Run(ctx) })
		w.changed("a/web", func(d *appsv1.Deployment) { d.Spec.ProgressDeadlineSeconds = new(int32(math.MaxInt32)) })
		w.edited("b/c", "1")
		w.runs("b/web", nil, "c")
		settle(w)
		w.edited("a/c", "2")
		settle(w)
		w.edited("b/c", "2")
		settle(w)
		w.changed("a/web", func(d *appsv1.Deployment) { d.Status.AvailableReplicas = 2 })
		time.Sleep(w.controller.deliveries.Policy.Deadline - time.Minute)
		settle(w)
		if restarted := w.restarted(); !slices.Equal(restarted, []string{"a/web"}) {
			t.Errorf("before the deadline of the controller %q restarted", restarted)
		}
		time.Sleep(2 * time.Minute)
		settle(w)
		if restarted := w.restarted(); !slices.Equal(restarted, []string{"a/web", "b/web"}) {
			t.Errorf("in the end only %q restarted, and what waits is %v", restarted, w.controller.gate.Ledger.Waiting())
		}
		stop()
		group.Wait()
	})
}

// The pods of a restart are listed for its verdict, and meanwhile the next restart of that workload begins.
func TestTheVerdictOnARestartDoesNotEndTheNextOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := gradual(t, "a/web", "a/other", "a/third")
		d := w.controller.deliveries
		w.edited("a/c", "2")
		settle(w)
		first := w.restarted()[0]
		w.show("deployments", w.deployments[first])
		d.Look(t.Context(), objecttest.DeploymentNamed(first))
		time.Sleep(d.Policy.Soak + time.Second)
		before := w.deployments[first].Spec.Template.Annotations[annotation.TimestampAnnotation]
		w.meanwhile = func() {
			w.edited("a/c", "bad")
			time.Sleep(time.Second)
			settle(w)
		}
		d.Look(t.Context(), objecttest.DeploymentNamed(first))
		if after := w.deployments[first].Spec.Template.Annotations[annotation.TimestampAnnotation]; after == before {
			t.Fatal("it has not restarted again")
		}
		settle(w)
		if restarted := w.restarted(); len(restarted) != 1 || w.controller.gate.Ledger.UnderWay() != 1 {
			t.Errorf("%q restarted, %d under way, although the second content has been delivered to nobody", restarted, w.controller.gate.Ledger.UnderWay())
		}
	})
}

func TestNobodyWaitsForLongForARestartWhoseJudgementPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := gradual(t, "a/web", "a/other")
		ctx, stop := context.WithCancel(t.Context())
		var group sync.WaitGroup
		group.Go(func() { w.controller.deliveries.Run(ctx) })
		w.edited("a/c", "2")
		settle(w)
		first := w.restarted()[0]
		w.controller.deliveries.Log = slog.New(&bomb{slog.NewTextHandler(io.Discard, nil), "restart failed", "deployment/" + first})
		w.changed(first, failed)
		time.Sleep(time.Minute)
		w.tick(w.controller.gate.Deadline)
		settle(w)
		if restarted := w.restarted(); len(restarted) != 2 || w.controller.deliveries.Of(objecttest.DeploymentNamed(first)) != nil {
			t.Errorf("%q restarted, %d under way", restarted, w.controller.gate.Ledger.UnderWay())
		}
		stop()
		group.Wait()
	})
}

// Two waves begin to matter while the record of another workload is written. That workload seems to wait still.
func TestAWaveDoesNotWaitForAWorkloadThatHasJustBeenDecidedAbout(t *testing.T) {
	w := gradual(t, "a/web")
	w.edited("a/d", "1")
	w.runs("a/later", nil, "d")
	settle(w)
	w.patched = func() {
		w.changed("a/later", func(d *appsv1.Deployment) { d.Annotations[annotation.WaveAnnotation] = "5" })
	}
	w.runs("a/recorded", nil, "c")
	settle(w)
	if w.patched != nil {
		t.Fatal("nothing was recorded")
	}
	for _, d := range w.deployments {
		w.show("deployments", d)
	}
	settle(w)
	w.edited("a/d", "2") // which only the later wave reads
	settle(w)
	if restarted := w.restarted(); !slices.Equal(restarted, []string{"a/later"}) {
		t.Errorf("%q restarted, and what waits is %v", restarted, w.controller.gate.Ledger.Waiting())
	}
}

func TestAWorkloadThatWaitsLongForAnEarlierWaveSaysWhomItWaitsFor(t *testing.T) {
	for name, test := range map[string]struct {
		annotations map[string]string
		want        string
	}{
		"that rolls":   {map[string]string{annotation.WaveAnnotation: "-1"}, "wave -1 is not over: deployment/early rolls, or is about to"},
		"that is held": {map[string]string{annotation.WaveAnnotation: "-1", annotation.HoldAnnotation: "x"}, "wave -1 is not over: deployment/early waits for its hold"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := gradual(t)
				w.runs("a/early", test.annotations, "c")
				w.runs("a/later", nil, "c")
				settle(w)
				w.edited("a/c", "2")
				settle(w)
				events := record.NewFakeRecorder(100)
				w.controller.restarter.Events = events
				time.Sleep(tracker.LastingWait)
				if settle(w); len(events.Events) > 0 {
					t.Fatalf("%q although that is normal", <-events.Events)
				}
				for range 5 {
					time.Sleep(tracker.LongestWait)
					settle(w)
				}
				if len(events.Events) != 1 {
					t.Fatalf("%d Events", len(events.Events))
				}
				if e := <-events.Events; !strings.Contains(e, "RestartHeld restart is held: "+test.want+". It is due because") {
					t.Errorf("%q", e)
				}
			})
		})
	}
}

func TestNamespacesThatAreGoneLeaveNothingInTheGate(t *testing.T) {
	w := gradual(t)
	for i := range 100 {
		name := fmt.Sprintf("namespace-%d/web", i)
		w.runs(name, map[string]string{annotation.WaveAnnotation: "1"}, "c")
		w.runs(name+"-2", nil, "c")
		settle(w)
		w.hide("deployments", w.deployments[name])
		if !w.controller.gate.UsesWavesIn(objecttest.DeploymentNamed(name).Namespace) {
			t.Fatal("the namespace is forgotten although a workload remains")
		}
		w.hide("deployments", w.deployments[name+"-2"])
	}
	if n := len(w.controller.gate.UsesWaves); n > 0 {
		t.Errorf("%d namespaces are left", n)
	}
}

// A webhook may let the record wait for half a minute.
func TestAWaveDoesNotWaitForTheAnswerToARecord(t *testing.T) {
	w := gradual(t, "a/later")
	w.edited("a/d", "1")
	w.runs("a/early", map[string]string{annotation.WaveAnnotation: "-1"}, "d")
	settle(w)
	var meanwhile []string
	w.patched = func() {
		w.edited("a/c", "2")
		settle(w)
		meanwhile = w.restarted()
	}
	w.changed("a/early", func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "released" })
	settle(w)
	if !slices.Equal(meanwhile, []string{"a/later"}) {
		t.Errorf("%q restarted before the answer, and what waits is %v", meanwhile, w.controller.gate.Ledger.Waiting())
	}
}

func TestWaitingForTheHaltsOfFormerLeadersIsNoFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := gradual(t, "a/web")
		events := record.NewFakeRecorder(100)
		w.controller.restarter.Events = events
		log := w.log()
		w.controller.gate.Reset()
		w.edited("a/c", "2")
		for range 2 * failures.PassingFailures {
			time.Sleep(run.MaxBackoff) // until it is tried again
			settle(w)
		}
		if restarted := w.restarted(); len(restarted)+len(events.Events)+log.Len() > 0 {
			t.Errorf("%q restarted, %d Events, and the log:\n%s", restarted, len(events.Events), log)
		}
		w.controller.gate.SetHaltsTried()
		w.controller.gate.SetHaltsKnown(true)
		time.Sleep(run.MaxBackoff)
		settle(w)
		if len(w.restarted()) != 1 {
			t.Error("it did not restart")
		}
	})
}
