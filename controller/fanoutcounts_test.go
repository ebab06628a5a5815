package controller

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
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
		w.refuse, w.refusedWith = http.StatusForbidden, lackedPermission
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
		const refused = "0 of 3 delivered, 0 rolling, 3 waiting (refused: 3, see their Events RestartFailed)"
		w.controller.reports.lookAtFanOuts(time.Now())
		if says, events := w.fanOutSays(t), w.eventsOf(reasonFanOut); says != refused || len(events) != 1 || !strings.HasSuffix(events[0], refused) || attempts < 3 {
			t.Errorf("after %d attempts: %s, Events %q", attempts, says, events)
		}
		w.changed("a/one", holdIt)
		time.Sleep(time.Minute)
		settle(w)
		if says, want := w.fanOutSays(t), strings.Replace(refused, "refused: 3", "refused: 2", 1); says != want {
			t.Errorf("while one is held: %s, want %s", says, want)
		}
		w.refuse, w.answer = 0, nil
		time.Sleep(time.Minute)
		settle(w)
		if says, want := w.fanOutSays(t), "0 of 3 delivered, 1 rolling, 2 waiting (refused: 1, see their Events RestartFailed)"; says != want {
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
				events := told(reasonFanOut)
				if says := standby.fanOutSays(t); says != want || len(events) == 0 || !strings.HasSuffix(events[0], want) {
					t.Errorf("the next leader says %s, and in Events %q, want %s", says, events, want)
				}
			})
		})
	}
}
