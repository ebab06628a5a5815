package controller

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/tools/record"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/events"
	"kubernetes-deployment-restart-controller/controller/halts"
	"kubernetes-deployment-restart-controller/controller/objecttest"
	"kubernetes-deployment-restart-controller/controller/tracker"
	"kubernetes-deployment-restart-controller/internal/status"
)

// twoLeaders returns the worlds of a leader and of a standby, which watch the same Deployments.
func twoLeaders(t *testing.T, names ...string) (leader, standby *world) {
	standby = gradual(t, names...)
	time.Sleep(time.Second) // so that no record seems to be its own
	leader = gradual(t, names...)
	standby.controller.role.Leading.Store(false)
	list(standby, "configmaps", standby.configMaps)
	list(standby, "deployments", leader.deployments)
	time.Sleep(time.Minute)
	return leader, standby
}

// twoLeadersOfACanary returns the worlds of a leader that has restarted the first of a/web and a/other, and of a standby.
func twoLeadersOfACanary(t *testing.T) (leader, standby *world, canary string) {
	leader, standby = twoLeaders(t, "a/web", "a/other")
	for _, w := range []*world{leader, standby} {
		w.edited("a/c", "2")
	}
	settle(leader)
	return leader, standby, leader.restarted()[0]
}

// twoLeadersOfAFailure returns the worlds of a leader that has seen a restart of a/web fail, and of a standby.
func twoLeadersOfAFailure(t *testing.T) (leader, standby *world) {
	leader, standby = twoLeaders(t, "a/web")
	for _, w := range []*world{leader, standby} {
		w.edited("a/c", "2")
	}
	settle(leader)
	time.Sleep(time.Minute)
	leader.fails(t, "a/web")
	return leader, standby
}

// succeed lets a standby lead after a leader. The first function that it returns lets time pass, the second one takes the
// Events of a reason on workloads, and those of configs behind "on the config: ".
func succeed(t *testing.T, leader, standby *world) (pass func(time.Duration), told func(reason string) []string) {
	halts := make(map[string]string)
	leader.controller.halts.WriteTo(halts, make(map[string]string))
	standby.deployments, standby.version = leader.deployments, leader.version+1000
	list(standby, "deployments", standby.deployments)
	events := record.NewFakeRecorder(1000)
	standby.controller.restarter.Events, standby.controller.deliveries.Events = events, events
	wait := standby.takeOver(t, &objecttest.HaltServer{}, halts)
	pass = func(d time.Duration) {
		for range 4 {
			wait(d / 4)
			settle(standby)
			for name := range standby.deployments {
				standby.controller.deliveries.Look(t.Context(), objecttest.DeploymentNamed(name))
			}
			standby.controller.reports.LookAtFanOuts(time.Now())
		}
	}
	return pass, func(reason string) (messages []string) {
		for len(events.Events) > 0 {
			if _, message, isOne := strings.Cut(<-events.Events, " "+reason+" "); isOne {
				messages = append(messages, message)
			}
		}
		for _, message := range standby.eventsOf(reason) {
			messages = append(messages, "on the config: "+message)
		}
		return messages
	}
}

// runAll shows that all pods run of the Deployments that were restarted.
func (w *world) runAll() {
	for _, name := range w.restarted() {
		w.changed(name, wholeStatus)
	}
}

func TestTheLastWordOnAWorkloadThatFailedIsThatItRunsWhoeverLeads(t *testing.T) {
	const known, unknown = ". A restart before had failed", ". Whether a restart before had failed, under a former leader, is not known"
	for name, test := range map[string]struct {
		wave, fixed func(leader, standby *world)
		ends        string
	}{
		"the next leader restarts it": {fixed: func(_, standby *world) { standby.edited("a/c", "3") }, ends: known},
		"nobody leads at the fix": {wave: func(_, standby *world) {
			standby.edited("a/c", "3")
			time.Sleep(20 * time.Minute)
		}, ends: known},
		"the former leader restarts it": {wave: func(leader, standby *world) {
			time.Sleep(time.Second)
			leader.edited("a/c", "3")
			standby.edited("a/c", "3")
			settle(leader)
		}, ends: unknown},
		"the halt is forgotten": {wave: func(leader, _ *world) {
			leader.controller.gate.Reset()
			time.Sleep(20 * time.Minute)
		}, fixed: func(_, standby *world) { standby.edited("a/c", "3") }, ends: unknown},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				leader, standby := twoLeadersOfAFailure(t)
				if test.wave != nil {
					test.wave(leader, standby)
				}
				pass, told := succeed(t, leader, standby)
				pass(time.Minute)
				if test.fixed != nil {
					test.fixed(leader, standby)
				}
				pass(time.Minute)
				if early := told(events.Recovered); len(early) > 0 {
					t.Errorf("before it runs: %q", early)
				}
				standby.runAll()
				pass(2 * time.Minute)
				if events := told(events.Recovered); len(events) != 1 || !strings.HasPrefix(events[0], "runs") || !strings.HasSuffix(events[0], test.ends) {
					t.Errorf("in the end: %q", events)
				}
				standby.edited("a/c", "4")
				pass(time.Minute)
				standby.runAll()
				pass(2 * time.Minute)
				if events := told(events.Recovered); len(events) > 0 {
					t.Errorf("after another restart: %q", events)
				}
			})
		})
	}
}

func TestTheLastWordOnAFanOutOfAFormerLeader(t *testing.T) {
	for name, test := range map[string]struct {
		before func(leader *world)
		want   string
	}{
		"its only restart is delivered later": {func(*world) {}, "finished: at least 1 delivered"},
		"its only restart was delivered": {func(leader *world) {
			leader.runAll()
			time.Sleep(5 * time.Minute)
		}, "finished: at least 1 delivered"},
		"its only restart is not due any more": {func(leader *world) {
			leader.edited("a/c", "1")
			settle(leader)
		}, "ended: no restart for it is due or under way any more; 1 restarted and lack pods"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				leader, standby := twoLeaders(t, "a/web")
				for _, w := range []*world{leader, standby} {
					w.edited("a/c", "2")
				}
				settle(leader)
				test.before(leader)
				pass, told := succeed(t, leader, standby)
				pass(time.Minute)
				if !strings.HasPrefix(test.want, "finished") {
					standby.changed("a/web", failed)
					pass(20 * time.Minute)
				}
				standby.runAll()
				pass(2 * time.Minute)
				if events := told(events.FanOut); len(events) != 1 || events[0] != "on the config: "+test.want {
					t.Errorf("%q", events)
				}
			})
		})
	}
}

// The next leader has yet to find out that the second restart is due.
func TestAFanOutOfAFormerLeaderIsNotOverBeforeAllIsDecided(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		leader, standby := twoLeaders(t, "a/web", "a/other")
		for _, w := range []*world{leader, standby} {
			w.edited("a/c", "2")
		}
		settle(leader)
		leader.runAll()
		time.Sleep(time.Minute)
		pass, told := succeed(t, leader, standby)
		standby.controller.reports.LookAtFanOuts(time.Now())
		if events := told(events.FanOut); len(events) > 0 {
			t.Errorf("too early: %q", events)
		}
		pass(time.Minute)
		standby.runAll()
		pass(2 * time.Minute)
		if events := told(events.FanOut); strings.Count(strings.Join(events, " "), "finished: at least 2 delivered") != 1 || !strings.Contains(events[len(events)-1], "finished") {
			t.Errorf("%q", events)
		}
	})
}

func TestARestartThatAFormerLeaderHeldIsReportedWhenItIsNotDueAnyMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		leader, standby := twoLeaders(t, "a/web")
		leader.changed("a/web", holdIt)
		for _, w := range []*world{leader, standby} {
			w.edited("a/c", "2")
		}
		settle(leader)
		time.Sleep(time.Hour)
		standby.edited("a/c", "1")
		pass, told := succeed(t, leader, standby)
		pass(time.Minute)
		if events := told(events.Resumed); !slices.Equal(events, []string{"no restart is due any more, whatever held it under a former leader"}) {
			t.Errorf("%q", events)
		}
		pass(time.Minute)
		if events := told(events.Resumed); len(events) > 0 {
			t.Errorf("again: %q", events)
		}
	})
}

func TestARestartThatCouldNotBeMadeAndIsNotDueAnyMoreIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := gradual(t, "a/web")
		told := w.listens()
		w.refuse, w.refusedWith = http.StatusForbidden, objecttest.LackedPermission
		w.edited("a/c", "2")
		settle(w)
		if events := told(events.RestartFailed); len(events) == 0 {
			t.Fatal("nothing failed")
		}
		w.refuse = 0
		w.edited("a/c", "1")
		time.Sleep(time.Minute)
		settle(w)
		if events := told(events.Resumed); !slices.Equal(events, []string{"no restart is due any more, and nothing is left to apply"}) {
			t.Errorf("%q", events)
		}
	})
}

func TestAHoldThatIsSetAgainIsTheLastWordAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := gradual(t, "a/web", "a/other")
		w.edited("a/c", "2")
		settle(w)
		told := w.listens()
		for range 2 {
			w.annotate("a/c", annotation.HoldAnnotation, "an incident")
			w.show("configmaps", w.configMaps["a/c"])
			time.Sleep(tracker.LongestWait)
			settle(w)
			recorder := told(events.Held)
			if len(recorder) != 1 || !strings.HasSuffix(recorder[0], ". Release it with: kubectl annotate -n a configmap/c "+annotation.HoldAnnotation+"-") {
				t.Errorf("held: %q", recorder)
			}
			w.configMaps["a/c"].Annotations = nil
			w.show("configmaps", w.configMaps["a/c"])
			time.Sleep(time.Second)
			settle(w)
			if events := told(events.Resumed); len(events) != 1 {
				t.Errorf("no longer held: %q", events)
			}
		}
	})
}

func TestAFailureWhosePodsRunAgainIsToldInThePast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := gradual(t, "a/web")
		w.edited("a/c", "2")
		settle(w)
		w.fails(t, "a/web")
		w.changed("a/web", wholeStatus)
		w.controller.deliveries.Look(t.Context(), objecttest.DeploymentNamed("a/web"))
		const want = "all its pods run now, and it has recovered if they do so for 30s; it failed before: "
		if failed := w.overview().Failed; failed.Total != 1 || !strings.HasPrefix(failed.Items[0].Text, want) {
			t.Errorf("%+v", failed)
		}
	})
}

// The same page says when the halt began.
func TestAFailureIsAsOldAsItWasSeenNotAsTheRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		leader, standby := twoLeaders(t, "a/web", "a/other")
		for _, w := range []*world{leader, standby} {
			w.edited("a/c", "2")
		}
		restarted := time.Now()
		settle(leader)
		time.Sleep(15 * time.Second)
		seen := time.Now()
		leader.fails(t, leader.restarted()[0])
		time.Sleep(12 * time.Second)
		pass, _ := succeed(t, leader, standby)
		pass(time.Second)
		for who, w := range map[string]*world{"the leader": leader, "the next one": standby} {
			overview := w.overview()
			if len(overview.Failed.Items) != 1 || len(overview.Halts.Items) != 1 {
				t.Fatalf("%s: %+v", who, overview)
			}
			e := overview.Failed.Items[0]
			if e.State != status.Failed || !e.Since.Equal(seen) || !overview.Halts.Items[0].Since.Equal(seen) || !e.Restarted.Equal(restarted) {
				t.Errorf("%s: %+v, with the halt %+v; seen at %s, restarted at %s", who, e, overview.Halts.Items[0], seen, restarted)
			}
		}
	})
}

func TestWhatPeopleHeldUnderAFormerLeaderIsNotLate(t *testing.T) {
	for held, want := range map[bool]float64{true: 0, false: 7200} {
		synctest.Test(t, func(t *testing.T) {
			leader, standby := twoLeaders(t, "a/web")
			if held {
				leader.changed("a/web", holdIt)
			} else {
				leader.refuse = http.StatusForbidden
			}
			for _, w := range []*world{leader, standby} {
				w.edited("a/c", "2")
			}
			settle(leader)
			time.Sleep(2 * time.Hour)
			leader.changed("a/web", func(d *appsv1.Deployment) { delete(d.Annotations, annotation.HoldAnnotation) })
			pass, _ := succeed(t, leader, standby)
			pass(time.Second)
			var got dto.Metric
			if err := standby.controller.restarter.Metrics.DueToPatch.Write(&got); err != nil || len(standby.restarted()) != 1 {
				t.Fatalf("%q restarted (%v)", standby.restarted(), err)
			}
			if late := got.GetHistogram().GetSampleSum(); late < want || late > want+10 {
				t.Errorf("held: %t: it was %v seconds late, want %v", held, late, want)
			}
		})
	}
}

func TestAHoldThatPeopleCannotRemoveNamesNoCommand(t *testing.T) {
	w := gradual(t, "a/web")
	inPlace := *w.controller.catalog.Workload(objecttest.DeploymentNamed("a/web"))
	inPlace.Hold = workload.InPlace
	w.controller.gate.HoldEverything("an incident")
	for want, of := range map[string]*workload.Workload{"": &inPlace, "the entry hold": w.controller.catalog.Workload(objecttest.DeploymentNamed("a/web"))} {
		if got := w.controller.gate.Release(of, &decide.Decision{}); !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// The watch of the standby shows the annotations, and it does not know of halts.
func TestAWrongResumeIsToldByTheNextLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		leader, standby := twoLeaders(t, "a/web", "a/other")
		for _, w := range []*world{leader, standby} {
			w.edited("b/c", "1")
			w.edited("a/c", "2")
		}
		settle(leader)
		leader.fails(t, leader.restarted()[0])
		id := leader.controller.gate.ActiveHalts()[0].ID
		for _, w := range []*world{leader, standby} {
			for _, name := range []string{"a/c", "b/c"} { // of which the other one has no halt
				w.annotate(name, annotation.ResumeAnnotation, "wrong")
				w.show("configmaps", w.configMaps[name])
			}
		}
		seen := time.Now()
		time.Sleep(time.Minute)
		heard := standby.hearing()
		if list := standby.overview().Mistakes; list.Total > 0 {
			t.Errorf("while it stands by, it lists %+v", list)
		}
		pass, _ := succeed(t, leader, standby)
		pass(time.Minute)
		list := standby.overview().Mistakes
		if diff := cmp.Diff(leader.overview().Mistakes, list); diff != "" || list.Total != 1 || !list.Items[0].Since.Equal(seen) || !strings.Contains(list.Items[0].Problem, id) {
			t.Errorf("the list (-the former leader +the next one):\n%s", diff)
		}
		if events := heard(); len(events) != 1 || !strings.Contains(events[0], id) {
			t.Errorf("the Events are %q", events)
		}
		if noted := standby.controller.intake.Mistakes.Known.Size(); noted != 1 {
			t.Errorf("%d are noted", noted)
		}
		standby.annotate("a/c", annotation.ResumeAnnotation, id)
		standby.show("configmaps", standby.configMaps["a/c"])
		if list := standby.overview().Mistakes; list.Total > 0 || len(standby.controller.gate.ActiveHalts()) > 0 {
			t.Errorf("with the right id: %+v", list)
		}
	})
}

func TestTheEndOfAFanOutIsToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := gradual(t, "a/one", "a/two")
		settle(w)
		w.edited("a/c", "2")
		for range 10 {
			settle(w)
			w.controller.reports.LookAtFanOuts(time.Now())
			time.Sleep(time.Minute)
			for _, name := range w.restarted() {
				w.changed(name, wholeStatus)
				w.controller.deliveries.Look(t.Context(), objecttest.DeploymentNamed(name))
			}
		}
		ends := slices.DeleteFunc(w.eventsOf(events.FanOut), func(event string) bool { return !strings.HasPrefix(event, "finished: ") })
		if len(ends) != 1 {
			t.Errorf("the end is told %d times: %q", len(ends), ends)
		}
	})
}

func TestAWrongResumeIsToldAlsoIfTheHaltsAreReadAfterTheMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := gradual(t, "a/web", "a/other")
		list(w, "configmaps", w.configMaps)
		w.controller.role.Leading.Store(false)
		w.controller.gate.Reset()
		w.annotate("a/c", annotation.ResumeAnnotation, "wrong")
		w.show("configmaps", w.configMaps["a/c"])
		pass := w.takeOver(t, &objecttest.HaltServer{Failures: slices.Repeat([]int{http.StatusServiceUnavailable}, 70)}, w.formerHalt(t))
		pass(halts.Patience + time.Second)
		if active := len(w.controller.gate.ActiveHalts()); active > 0 {
			t.Fatal("the halts were read in time")
		}
		pass(10 * time.Minute)
		if list := w.overview().Mistakes; list.Total != 1 {
			t.Errorf("with %d halts, the list has %+v", len(w.controller.gate.ActiveHalts()), list)
		}
		if n := w.gauge(t, "objects_with_unusable_annotations"); n != 1 {
			t.Errorf("the metric counts %v", n)
		}
	})
}
