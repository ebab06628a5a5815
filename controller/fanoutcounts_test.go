package controller

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"kubernetes-deployment-restart-controller/controller/events"
	"kubernetes-deployment-restart-controller/controller/objecttest"
)

// fanOutSays returns how far the only fan-out has come.
func (w *world) fanOutSays(t *testing.T) string {
	t.Helper()
	all := w.overview().FanOuts.Items
	if len(all) != 1 {
		t.Fatalf("fan-outs: %+v", all)
	}
	return all[0].Progress()
}

func TestAFanOutSaysWhichRestartsAreRefusedAndThatNoneRolls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := gradual(t, "a/one", "a/two", "a/three")
		w.refuse, w.refusedWith = http.StatusForbidden, objecttest.LackedPermission
		attempts := 0
		w.answer = func(r *http.Request) (int, any) {
			if r.Method == http.MethodPatch {
				attempts++
				if says := w.fanOutSays(t); !strings.HasPrefix(says, "0 of ") || !strings.Contains(says, " delivered, 0 rolling, ") {
					t.Errorf("during an attempt: %s", says)
				}
			}
			return 0, nil
		}
		w.edited("a/c", "2")
		for range 5 {
			settle(w)
			time.Sleep(time.Minute)
		}
		const refused = "0 of 3 delivered, 0 rolling, 3 waiting (refused when tried last: 3, see their Events RestartFailed)"
		w.controller.reports.LookAtFanOuts(time.Now())
		if says, events := w.fanOutSays(t), w.eventsOf(events.FanOut); says != refused || len(events) != 1 || !strings.HasSuffix(events[0], refused) || attempts < 3 {
			t.Errorf("after %d attempts: %s, Events %q", attempts, says, events)
		}
		w.changed("a/one", holdIt)
		time.Sleep(time.Minute)
		settle(w)
		if says, want := w.fanOutSays(t), strings.Replace(refused, "last: 3", "last: 2", 1); says != want {
			t.Errorf("while one is held: %s, want %s", says, want)
		}
		w.refuse, w.answer = 0, nil
		time.Sleep(time.Minute)
		settle(w)
		if says, want := w.fanOutSays(t), "0 of 3 delivered, 1 rolling, 2 waiting (refused when tried last: 1, see their Events RestartFailed)"; says != want {
			t.Errorf("once one was made: %s, want %s", says, want)
		}
	})
}

func TestTheNextLeaderCountsAFanOutAsTheFormerOneDid(t *testing.T) {
	for _, fail := range []bool{false, true} {
		t.Run(fmt.Sprintf("one fails: %t", fail), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				leader, standby := twoLeaders(t, "a/v", "a/w", "a/x", "a/y", "a/z")
				for _, w := range []*world{leader, standby} {
					w.edited("a/c", "2")
				}
				settle(leader)
				first := leader.restarted()[0]
				leader.delivers(t, first)
				settle(leader)
				if fail {
					for _, name := range leader.restarted() {
						if name != first {
							leader.fails(t, name)
							break
						}
					}
				}
				settle(leader)
				want := leader.fanOutSays(t)
				pass, told := succeed(t, leader, standby)
				pass(40 * time.Second)
				events := told(events.FanOut)
				if says := standby.fanOutSays(t); says != want || len(events) == 0 || !strings.HasSuffix(events[0], want) {
					t.Errorf("the next leader says %s, and in Events %q, want %s", says, events, want)
				}
			})
		})
	}
}

// Its first report counts for good, so it waits until all is known.
func TestTheNextLeaderCountsAFanOutOnlyWhenItKnowsAllReaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var names []string
		for i := range 12 {
			names = append(names, fmt.Sprintf("a/w%02d", i))
		}
		leader, standby := twoLeaders(t, names...)
		for _, w := range []*world{leader, standby} {
			w.edited("a/c", "2")
		}
		settle(leader)
		delivered := map[string]bool{}
		for len(delivered) < 4 {
			for _, name := range leader.restarted() {
				if !delivered[name] && len(delivered) < 4 {
					leader.delivers(t, name)
					delivered[name] = true
				}
			}
			settle(leader)
		}
		want := leader.fanOutSays(t)
		rolling := maps.Clone(leader.deployments)
		maps.DeleteFunc(rolling, func(name string, _ *appsv1.Deployment) bool {
			return delivered[name] || !slices.Contains(leader.restarted(), name)
		})
		standby.version, standby.deployments = leader.version+1000, rolling // the others are not listed yet
		known := false
		standby.controller.gate.KnowsWorkloads = func(string) bool { return known }
		list(standby, "deployments", standby.deployments)
		pass := standby.takeOver(t, &objecttest.HaltServer{}, nil)
		pass(5 * time.Second)
		standby.controller.reports.LookAtFanOuts(time.Now())
		standby.deployments = leader.deployments
		list(standby, "deployments", standby.deployments)
		known = true
		for range 4 {
			pass(10 * time.Second)
			settle(standby)
		}
		if says := standby.fanOutSays(t); says != want {
			t.Errorf("the next leader says %s, want %s", says, want)
		}
	})
}
