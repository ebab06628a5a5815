package controller

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/controller/events"
	"kubernetes-deployment-restart-controller/controller/follow"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/controller/halts"
	"kubernetes-deployment-restart-controller/controller/objecttest"
	"kubernetes-deployment-restart-controller/controller/pending"
	"kubernetes-deployment-restart-controller/controller/tracker"
)

// halted returns a world in which the content 2 of a config has broken one Deployment and two others are held, and a
// function that takes the Events of a reason on these.
func halted(t *testing.T) (w *world, broken string, told func(reason string) []string) {
	t.Helper()
	w = gradual(t, "a/one", "a/two", "a/three")
	told = w.listens()
	w.edited("a/c", "2")
	settle(w)
	if broken = strings.Join(w.restarted(), " "); broken == "" || strings.Contains(broken, " ") {
		t.Fatalf("restarted: %q", broken)
	}
	w.fails(t, broken)
	settle(w)
	if held := told(events.Held); len(held) != 2 {
		t.Fatalf("held: %q", held)
	}
	w.eventsOf("")
	return w, broken, told
}

func TestTheEndOfAHaltIsReportedOnTheConfigAndOnThoseThatWereHeld(t *testing.T) {
	for name, test := range map[string]struct {
		end  func(t *testing.T, w *world, broken string)
		why  string
		rest string
	}{
		"another content": {func(_ *testing.T, w *world, _ string) { w.edited("a/c", "3") }, "its content has changed", ""},
		"the former content": {func(_ *testing.T, w *world, _ string) {
			w.edited("a/c", "1")
		}, "its content has changed", ". None is due any more"},
		"the workload runs": {func(t *testing.T, w *world, broken string) { w.delivers(t, broken) }, " runs after all", ""},
		"a person": {func(_ *testing.T, w *world, _ string) {
			w.annotate("a/c", annotation.ResumeAnnotation, w.controller.gate.ActiveHalts()[0].ID)
			w.show("configmaps", w.configMaps["a/c"])
		}, "a person has set " + annotation.ResumeAnnotation + "=", ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, broken, told := halted(t)
				test.end(t, w, broken)
				time.Sleep(time.Second)
				settle(w)
				if events := w.eventsOf(events.Resumed); len(events) != 1 || !strings.HasPrefix(events[0], "resumed: ") || !strings.Contains(events[0], test.why) {
					t.Errorf("on the config: %q", events)
				}
				recorder := told(events.Resumed)
				isWrong := func(e string) bool {
					return !strings.HasPrefix(e, "restart is no longer held by a halt: restarts for configmap/c are resumed, because ") ||
						!strings.Contains(e, test.why) || !strings.HasSuffix(e, test.rest)
				}
				if len(recorder) != 2 || slices.ContainsFunc(recorder, isWrong) {
					t.Errorf("on the workloads: %q", recorder)
				}
				settle(w)
				if events := append(told(events.Resumed), w.eventsOf(events.Resumed)...); len(events) > 0 {
					t.Errorf("again: %q", events)
				}
			})
		})
	}
}

func TestNobodyHearsThatAHaltIsOverWhileItIsNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, broken, told := halted(t)
		for _, name := range []string{"a/one", "a/two", "a/three"} {
			if name != broken {
				w.changed(name, holdIt)
			}
		}
		time.Sleep(time.Second)
		settle(w)
		if events := told(events.Resumed); len(events) > 0 {
			t.Errorf("on the workloads: %q", events)
		}
	})
}

func TestARestartThatWasHeldAndIsNotDueAnyMoreIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := gradual(t, "a/one")
		told := w.listens()
		w.changed("a/one", holdIt)
		w.edited("a/c", "2")
		settle(w)
		if held := told(events.Held); len(held) != 1 {
			t.Fatalf("held: %q", held)
		}
		w.edited("a/c", "1")
		time.Sleep(time.Second)
		settle(w)
		if events := told(events.Resumed); len(events) != 1 || events[0] != "restart is no longer held by a hold. None is due any more" {
			t.Errorf("resumed: %q", events)
		}
	})
}

func TestAReleaseThatBringsHaltedOrHeldContentIsReported(t *testing.T) {
	release := func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "v2" }
	const after = ". New ones read the content that it was to bring, so none is due any more"
	synctest.Test(t, func(t *testing.T) {
		w, broken, told := halted(t)
		name := "a/one"
		if name == broken {
			name = "a/two"
		}
		w.changed(name, release)
		time.Sleep(time.Second)
		settle(w)
		want := "another rollout replaces the pods while a restart was held because restarts for configmap/c are halted" + after
		if events := told(events.Resumed); len(events) != 1 || events[0] != want {
			t.Errorf("amid a halt: %q", events)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		w := gradual(t, "a/one")
		told := w.listens()
		w.changed("a/one", holdIt)
		w.edited("a/c", "2")
		settle(w)
		told(events.Held)
		w.changed("a/one", release)
		time.Sleep(time.Second)
		settle(w)
		if events := told(events.Resumed); len(events) != 1 || events[0] != "another rollout replaces the pods while a restart was held"+after {
			t.Errorf("amid a hold: %q", events)
		}
	})
}

func TestAHaltOfAFormerLeaderEndsOnlyWhenTheWorkloadsAreKnownThatGoFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := gradual(t, "a/web", "a/other")
		server := &objecttest.HaltServer{}
		data := w.formerHalt(t)
		w.edited("a/c", "2")
		var knows atomic.Bool
		w.controller.gate.KnowsWorkloads = func(string) bool { return knows.Load() }
		pass := w.takeOver(t, server, data)
		pass(5 * time.Second)
		w.requireHalts(t, server, "former")
		knows.Store(true)
		pass(2 * halts.Period)
		w.requireHalts(t, server)
		if events := w.eventsOf(events.Resumed); len(events) != 1 || events[0] != "resumed: its content has changed" {
			t.Errorf("on the config: %q", events)
		}
	})
}

func holdIt(d *appsv1.Deployment) { d.Annotations[annotation.HoldAnnotation] = "wait" }

func TestAWorkloadThatHadFailedSaysOnceThatItRunsAgain(t *testing.T) {
	for content, want := range map[string]string{"3": "runs again, ", "2": "runs after all, "} {
		synctest.Test(t, func(t *testing.T) {
			w, broken, told := halted(t)
			if content != "2" {
				w.edited("a/c", content)
				time.Sleep(time.Second)
				settle(w)
			}
			if early := told(events.Recovered); len(early) > 0 {
				t.Errorf("before it runs: %q", early)
			}
			w.delivers(t, broken)
			settle(w)
			if events := told(events.Recovered); len(events) != 1 || !strings.HasPrefix(events[0], want) {
				t.Errorf("with the content %s: %q", content, events)
			}
			for _, name := range w.restarted() {
				w.delivers(t, name)
			}
			settle(w)
			if events := told(events.Recovered); len(events) > 0 {
				t.Errorf("again, or of others: %q", events)
			}
		})
	}
}

// A worker may see that the record has changed, and no longer follow what failed, before the next restart is followed. Any
// number of workloads of other tenants may restart meanwhile.
func TestAWorkloadWhoseFailureIsNoLongerFollowedSaysThatItRunsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, broken, told := halted(t)
		d := w.controller.deliveries
		d.Finish(objecttest.DeploymentNamed(broken), d.Of(objecttest.DeploymentNamed(broken)))
		for i := range 2 * follow.MaxHistory {
			d.History.Begin(objecttest.DeploymentNamed(fmt.Sprintf("b/other-%d", i)), "id", "", time.Now())
		}
		w.changed(broken, wholeStatus)
		w.edited("a/c", "3")
		time.Sleep(time.Second)
		settle(w)
		w.delivers(t, broken)
		settle(w)
		if events := told(events.Recovered); len(events) != 1 || !strings.HasPrefix(events[0], "runs again, ") {
			t.Errorf("%q", events)
		}
		if left := rowsThat(d.Table, isUnmended); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	})
}

func TestAFailureIsForgottenWithItsWorkload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, broken, _ := halted(t)
		d, ref := w.controller.deliveries, objecttest.DeploymentNamed(broken)
		w.controller.intake.ForgetWorkload(ref)
		d.NoteFailed(ref) // by a worker that does not know that yet
		if left := rowsThat(d.Table, isUnmended); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	})
}

func TestTheEndOfAHoldOrAnAbsenceIsReportedOnceToThoseWhoHeardOfIt(t *testing.T) {
	hold := func(w *world, on string) {
		w.changed("a/one", func(d *appsv1.Deployment) { delete(d.Annotations, annotation.HoldAnnotation) })
		w.annotate("a/c", annotation.HoldAnnotation, on)
		w.show("configmaps", w.configMaps["a/c"])
	}
	synctest.Test(t, func(t *testing.T) {
		w := gradual(t, "a/one")
		told := w.listens()
		w.changed("a/one", holdIt)
		w.edited("a/c", "2")
		settle(w)
		hold(w, "approval") // in place of that of the workload
		time.Sleep(time.Second)
		settle(w)
		if held, ended := told(events.Held), told(events.Resumed); len(held) != 1 || len(ended) > 0 {
			t.Errorf("held: %q, no longer: %q", held, ended)
		}
		delete(w.configMaps["a/c"].Annotations, annotation.HoldAnnotation)
		w.show("configmaps", w.configMaps["a/c"])
		time.Sleep(time.Second)
		settle(w)
		if ended := told(events.Resumed); !slices.Equal(ended, []string{"restart is no longer held by a hold"}) || len(w.restarted()) != 1 {
			t.Errorf("no longer held: %q", ended)
		}
		settle(w)
		if ended := told(events.Resumed); len(ended) > 0 {
			t.Errorf("again: %q", ended)
		}
	})
}

// What holds a restart after the first halt may be another one, of which nobody is told for a while.
func TestTheEndOfAHaltIsToldOfTheLastOne(t *testing.T) {
	now, later := time.Now(), time.Now().Add(time.Minute)
	answer := func(name string) gate.Answer {
		return gate.Answer{Reason: gate.Halted, Halt: &gate.Halt{Config: names.ConfigRef{Kind: names.ConfigMap, Namespace: "ns", Name: name}}}
	}
	b := tracker.NewBacklogs(tracker.New())
	b.Note(pending.ObservedChange{Workload: objecttest.Web, Since: now, Due: now, Count: 1})
	b.PutOff(objecttest.Web, nil, answer("first"), now)
	if _, isNews := b.PutOff(objecttest.Web, nil, answer("second"), later); isNews {
		t.Error("the second halt is told at once")
	}
	for _, reason := range []gate.Reason{gate.Hold, gate.Halted} {
		if _, hasEnded := b.TakeEnded(objecttest.Web, reason); hasEnded {
			t.Errorf("it ends with the answer %s", reason)
		}
	}
	if told, hasEnded := b.TakeEnded(objecttest.Web, gate.Window); !hasEnded || told.On.Name != "second" {
		t.Errorf("%t: %v", hasEnded, told)
	}
	if _, hasEnded := b.TakeEnded(objecttest.Web, ""); hasEnded {
		t.Error("it ends twice")
	}
}

// A failure that nobody follows, because its config restarts all at once, says nothing about restarts much later.
func TestAWorkloadThatRanAgainByItselfSaysNothingOfItAtTheNextRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := gradual(t, "a/web")
		told := w.listens()
		edit := func(content string) {
			w.annotate("a/c", annotation.FanOutAnnotation, "all-at-once")
			w.configMaps["a/c"].Data = map[string]string{"k": content}
			w.show("configmaps", w.configMaps["a/c"])
			time.Sleep(time.Hour)
			settle(w)
		}
		edit("2")
		w.fails(t, "a/web")
		if failed := told(events.NotDelivered); len(failed) != 1 {
			t.Fatalf("failed: %q", failed)
		}
		w.delivers(t, "a/web")
		told(events.Restarting)
		edit("3")
		w.delivers(t, "a/web")
		settle(w)
		if restarts, recovered := told(events.Restarting), told(events.Recovered); len(restarts) == 0 || len(recovered) > 0 {
			t.Errorf("restarts: %q, recovered: %q", restarts, recovered)
		}
	})
}

func TestTheEndOfAWrongMethodIsNotCalledThatOfAHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := gradual(t, "a/one")
		told := w.listens()
		w.changed("a/one", func(d *appsv1.Deployment) { d.Annotations[annotation.MethodAnnotation] = "evikt" })
		w.edited("a/c", "2")
		settle(w)
		const why = "the annotation com.xing.deployment-restart.method cannot be read: \"evikt\""
		if held := told(events.Held); len(held) != 1 || !strings.HasPrefix(held[0], "restart is held: "+why) {
			t.Fatalf("held: %q", held)
		}
		w.changed("a/one", func(d *appsv1.Deployment) { delete(d.Annotations, annotation.MethodAnnotation) })
		time.Sleep(time.Second)
		settle(w)
		if ended := told(events.Resumed); !slices.Equal(ended, []string{"restart is no longer held for this reason: " + why}) || len(w.restarted()) != 1 {
			t.Errorf("no longer held: %q", ended)
		}
	})
}
