package controller

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/tools/record"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/controller/objecttest"
	"kubernetes-deployment-restart-controller/controller/tracker"
	"kubernetes-deployment-restart-controller/internal/quarantine"
)

// editedUnder edits the config: the leader acts, and its successor watches.
func editedUnder(leader, next *world) {
	for _, w := range []*world{next, leader} {
		w.edited("a/c", "2")
	}
	settle(leader)
}

// A former leader restarts the first reader of a config, which then breaks, and the watch of its successor is
// behind.
func TestARestartOfAFormerLeaderCountsHoweverLateItShows(t *testing.T) {
	for name, show := range map[string]func(*world){
		"in an event": func(w *world) {
			w.show("deployments", w.deployments["a/web"])
			settle(w)
		},
		"in a list": func(w *world) {
			list(w, "deployments", w.deployments)
			settle(w)
		},
		"in the answer to a conflict": settle,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				leader, next := gradual(t, "a/web"), gradual(t, "a/web")
				next.deployments, next.version = leader.deployments, 1000
				list(next, "deployments", next.deployments)
				time.Sleep(time.Minute)
				editedUnder(leader, next)
				show(next)
				if underWay := next.controller.gate.Ledger.UnderWay(); underWay != 1 {
					t.Fatalf("%d restarts are under way, want that of the former leader", underWay)
				}
				next.runs("a/other", nil, "c")
				next.fails(t, "a/web")
				if halts := next.controller.gate.ActiveHalts(); len(halts) != 1 {
					t.Errorf("there are the halts %v, want one", halts)
				}
			})
		})
	}
}

func TestAWorkloadWhoseRestartCannotBeTakenOverKeepsNoLeaderFromBeginning(t *testing.T) {
	w := gradual(t, "a/web", "a/other")
	w.edited("a/c", "2")
	settle(w)
	w.show("deployments", w.deployments[w.restarted()[0]])
	d := w.controller.deliveries
	d.Table.UpdateAll(func(row *tracker.Row) { row.Rolling = nil })
	queue := d.Queue
	d.Queue = nil // so that following it panics
	w.controller.beginToLead()
	d.Queue = queue
	if underWay, followed := w.controller.gate.Ledger.UnderWay(), rowsThat(d.Table, isFollowed); underWay != 0 || len(followed) > 0 {
		t.Errorf("others wait for %d restarts, and %v are followed", underWay, followed)
	}
	w.controller.requirePanics(t, quarantine.Delivery, 1, "[!] 1 object left alone")
}

// Whoever may write to a workload can make it look like one that a leader has just restarted.
func TestARestartThatNoFormerLeaderCanHaveMadeKeepsNobodyWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		forger, w := gradual(t, "a/web"), gradual(t, "a/web")
		for _, one := range []*world{forger, w} {
			one.controller.gate.FanOut.Groups = []names.ConfigRef{gate.GroupOf(names.ConfigMap, "c")}
		}
		w.edited("b/c", "1")
		w.runs("b/web", nil, "c")
		settle(w)
		time.Sleep(time.Hour)
		for _, one := range []*world{forger, w} {
			one.edited("a/c", "2")
		}
		settle(forger)
		forged := forger.deployments["a/web"]
		forged.ResourceVersion = w.nextVersion()
		w.deployments["a/web"] = forged
		w.show("deployments", forged)
		settle(w)
		w.edited("b/c", "2")
		settle(w)
		if restarted := w.restarted(); !slices.Equal(restarted, []string{"a/web", "b/web"}) {
			t.Errorf("%q restarted, and what waits is %v", restarted, w.controller.gate.Ledger.Waiting())
		}
	})
}

// The watch shows the controller's own restart before the answer to the patch arrives, and again after it. With
// a limit of one, following it as that of a former leader would free its place.
func TestARestartThatShowsBeforeItsAnswerIsNotThatOfAFormerLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := gradual(t, "a/web", "a/other")
		w.controller.gate.FanOut.Limit = 1
		w.controller.beginToLead()
		w.controller.gate.SetHaltsTried()
		w.controller.gate.SetHaltsKnown(true)
		time.Sleep(time.Minute)
		var followed int
		w.patched = func() {
			w.show("deployments", w.deployments[w.restarted()[0]])
			followed = w.controller.gate.Ledger.UnderWay()
		}
		w.edited("a/c", "2")
		settle(w)
		if restarted := w.restarted(); followed != 0 || len(restarted) != 1 {
			t.Errorf("%d restarts were followed before the answer, and %q were restarted", followed, restarted)
		}
	})
}

// A leader dies while the first reader is stuck, and its successor takes over when the rollout has just been given
// up.
func TestARestartThatFailsBetweenTwoLeadersHaltsTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		leader, next := gradual(t, "a/web"), gradual(t, "a/web")
		next.deployments, next.version = leader.deployments, 1000
		list(next, "deployments", next.deployments)
		next.controller.role.Leading.Store(false)
		time.Sleep(time.Minute)
		editedUnder(leader, next)
		time.Sleep(10*time.Minute + 10*time.Second)
		next.changed("a/web", failed)
		next.controller.beginToLead()
		next.controller.gate.SetHaltsKnown(true)
		next.controller.deliveries.Look(t.Context(), objecttest.DeploymentNamed("a/web"))
		if halts := next.controller.gate.ActiveHalts(); len(halts) != 1 {
			t.Errorf("there are the halts %v, want one", halts)
		}
	})
}

func TestALateRestartByEvictionOfAFormerLeaderIsFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		leader, next := gradual(t, "a/web"), gradual(t, "a/web")
		for _, w := range []*world{leader, next} {
			w.controller.gate.Evicts = true
		}
		leader.changed("a/web", func(d *appsv1.Deployment) { d.Annotations[annotation.MethodAnnotation] = "evict" })
		settle(leader)
		next.deployments, next.version = leader.deployments, 1000
		list(next, "deployments", next.deployments)
		settle(next)
		time.Sleep(time.Minute)
		editedUnder(leader, next)
		if leader.controller.gate.Ledger.UnderWay() != 1 {
			t.Fatal("the leader restarts nothing")
		}
		next.show("deployments", next.deployments["a/web"])
		settle(next)
		if underWay := next.controller.gate.Ledger.UnderWay(); underWay != 1 {
			t.Errorf("%d restarts are under way, want that of the former leader", underWay)
		}
	})
}

// A leader takes over long after the canary has failed. The others have been held since then, and the failure is no news.
func TestANewLeaderKnowsSinceWhenAHaltHoldsAndDoesNotReportTheFailureAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		leader, next := gradual(t, "a/web", "a/other"), gradual(t, "a/web", "a/other")
		next.deployments, next.version = leader.deployments, 1000
		list(next, "deployments", next.deployments)
		next.controller.role.Leading.Store(false)
		time.Sleep(time.Minute)
		editedUnder(leader, next)
		broken := leader.restarted()[0]
		leader.fails(t, broken)
		settle(leader)
		halts := leader.controller.gate.ActiveHalts()
		if len(halts) != 1 || halts[0].Evidence.Pod == "" || halts[0].Evidence.Container != "app" {
			t.Fatalf("the halts are %+v", halts)
		}
		time.Sleep(2 * time.Minute)
		list(next, "deployments", next.deployments)
		events := record.NewFakeRecorder(100)
		next.controller.deliveries.Events = events
		next.controller.beginToLead()
		next.controller.deliveries.Look(t.Context(), objecttest.DeploymentNamed(broken))
		written := halts[0].Record()
		kept, ok := written.Halt()
		if !ok || kept.Evidence != halts[0].Evidence {
			t.Fatalf("kept is %+v", kept)
		}
		next.controller.gate.SetHaltsTried()
		next.controller.gate.Restore(kept)
		next.controller.halts.FollowFailed()
		next.controller.gate.SetHaltsKnown(true)
		settle(next)
		overview := next.controller.Overview("", time.Now())
		if held := overview.Held.Items; len(held) != 1 || held[0].Since.Sub(kept.Since).Abs() > time.Second {
			t.Errorf("held are %+v, and the halt began at %s", held, kept.Since)
		}
		if failed := overview.Failed.Items; len(failed) != 1 || len(events.Events) > 0 {
			t.Errorf("failed are %+v, with %d Events", failed, len(events.Events))
		}
	})
}
