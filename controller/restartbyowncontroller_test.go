package controller

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/controller/objecttest"
)

// inRolloutWorld runs a test in a world with a clock of its own.
func inRolloutWorld(t *testing.T, play func(w *rolloutWorld)) {
	synctest.Test(t, func(t *testing.T) { play(newRolloutWorld(t)) })
}

func TestArgoRolloutsReplacesThePodsOfARolloutWithTheMethodEvict(t *testing.T) {
	inRolloutWorld(t, func(w *rolloutWorld) {
		w.edit("2")
		w.pass(2)
		if w.asked() != 0 {
			t.Error("a new pod would be in doubt")
		}
		w.pass(60)
		w.requireReplaced("web-1", "web-2", "web-3")
		w.pass(40)
		if got := w.outcomes(); !slices.Equal(got, []string{"delivered"}) {
			t.Errorf("the restarts are %v", got)
		}
		w.pass(600)
		w.requireReplaced("web-1", "web-2", "web-3")
		if got := w.asked(); got != 1 {
			t.Errorf("asked %d times", got)
		}
		if events := strings.Join(objecttest.EventsOf(w.recorder), "\n"); strings.Count(events, "\n") > 0 || !strings.Contains(events, "Argo Rollouts replaces its pods (.spec.restartAt)") {
			t.Errorf("the Events are %s", events)
		}
		w.edit("3")
		w.pass(60)
		if got := w.asked(); got != 2 || len(w.replaced) != 6 {
			t.Errorf("asked %d times, replaced %v", got, w.replaced)
		}
	})
}

func TestAnotherProcessGoesOnWithARestartByArgoRollouts(t *testing.T) {
	inRolloutWorld(t, func(w *rolloutWorld) {
		w.edit("2")
		w.pass(6)
		c := w.controller
		c.role.Leading.Store(false)
		c.evictor.Forget(ofRollout)
		c.deliveries.Forget(ofRollout)
		c.beginToLead()
		c.gate.SetHaltsTried()
		c.gate.SetHaltsKnown(true)
		w.pass(100)
		w.requireReplaced("web-1", "web-2", "web-3")
		if got := w.asked(); got != 1 {
			t.Errorf("asked %d times", got)
		}
		if got := w.outcomes(); !slices.Contains(got, "delivered") {
			t.Errorf("the restarts are %v", got)
		}
	})
}

func TestARolloutThatIsPausedIsHeld(t *testing.T) {
	inRolloutWorld(t, func(w *rolloutWorld) {
		w.change(func(_, spec, _ map[string]any) { spec["paused"] = true })
		w.pass(1)
		w.edit("2")
		w.pass(60)
		w.requireState("held", "it is paused: Argo Rollouts replaces no pods before it is resumed")
		if w.asked() != 0 {
			t.Error("it is restarted")
		}
		w.change(func(_, spec, _ map[string]any) { delete(spec, "paused") })
		w.pass(60)
		w.requireReplaced("web-1", "web-2", "web-3")
	})
}

func TestAHoldComesBeforeTheQuestion(t *testing.T) {
	inRolloutWorld(t, func(w *rolloutWorld) {
		w.edit("2")
		w.pass(1)
		w.change(func(annotations, _, _ map[string]any) { annotations[annotation.HoldAnnotation] = "wait" })
		w.pass(100)
		w.requireState("rolling", "wait")
		if w.asked() != 0 {
			t.Error("it is restarted")
		}
		w.change(func(annotations, _, _ map[string]any) { delete(annotations, annotation.HoldAnnotation) })
		w.pass(100)
		w.requireReplaced("web-1", "web-2", "web-3")
	})
}

// A GitOps tool may remove what is not in its manifests, and does so as often as it likes.
func TestRestartAtIsSetAgainWithPausesIfSomebodyRemovesIt(t *testing.T) {
	inRolloutWorld(t, func(w *rolloutWorld) {
		w.refuses = true
		w.edit("2")
		for range 300 {
			w.change(func(_, spec, _ map[string]any) { delete(spec, "restartAt") })
			w.pass(1)
		}
		if got := w.asked(); got < 4 || got > 9 {
			t.Errorf("asked %d times in 5 minutes", got)
		}
		reverts := slices.DeleteFunc(objecttest.EventsOf(w.recorder), func(event string) bool { return !strings.Contains(event, "RestartReverted") })
		if len(reverts) != 1 || !strings.Contains(reverts[0], "another client removed .spec.restartAt") {
			t.Errorf("the Events are %q", reverts)
		}
		w.refuses = false
		w.pass(200)
		w.requireReplaced("web-1", "web-2", "web-3")
	})
}

func TestARestartThatSomebodyHasScheduledIsWaitedFor(t *testing.T) {
	inRolloutWorld(t, func(w *rolloutWorld) {
		later := time.Now().Add(5 * time.Minute).UTC().Truncate(time.Second)
		w.change(func(_, spec, _ map[string]any) { spec["restartAt"] = later.Format(time.RFC3339) })
		w.edit("2")
		w.pass(60)
		w.requireState("rolling", "its .spec.restartAt is in the future, "+later.Format(time.RFC3339))
		w.requireReplaced()
		w.pass(300)
		w.requireReplaced("web-1", "web-2", "web-3")
		if got := w.asked(); got != 0 || !w.restartAt().Equal(later) {
			t.Errorf("asked %d times, restartAt is %v", got, w.restartAt())
		}
	})
}

// Argo Rollouts ends a restart when the steps change.
func TestARestartThatEndsEarlyIsAskedForOnceMore(t *testing.T) {
	inRolloutWorld(t, func(w *rolloutWorld) {
		w.edit("2")
		w.pass(6)
		w.change(func(_, spec, status map[string]any) { status["restartedAt"] = spec["restartAt"] })
		w.pass(100)
		w.requireReplaced("web-1", "web-2", "web-3")
		if got := w.asked(); got != 2 {
			t.Errorf("asked %d times", got)
		}
		for _, event := range objecttest.EventsOf(w.recorder) {
			if strings.Contains(event, "RestartReverted") {
				t.Errorf("an Event says %s", event)
			}
		}
	})
}

func TestARolloutThatChangesMeanwhileIsLookedAtAgain(t *testing.T) {
	inRolloutWorld(t, func(w *rolloutWorld) {
		w.edit("2")
		w.pass(2)
		changes := 0
		w.answer = func(r *http.Request) *http.Response { // while pods are listed, what the watch has yet to show
			if strings.HasSuffix(r.URL.Path, "/pods") && changes < 3 {
				changes++
				w.change(func(annotations, _, _ map[string]any) { annotations["somebody"] = strings.Repeat("x", changes) })
			}
			return w.replicaSets(r)
		}
		w.pass(30)
		if changes != 3 || w.asked() != 1 {
			t.Errorf("it has changed %d times, asked %d times", changes, w.asked())
		}
		w.pass(60)
		w.requireReplaced("web-1", "web-2", "web-3")
	})
}

// That Argo Rollouts does not run, or may not evict, says nothing about the content.
func TestARestartThatArgoRolloutsDoesNotCarryOutIsForAPerson(t *testing.T) {
	inRolloutWorld(t, func(w *rolloutWorld) {
		w.edit("2")
		w.pass(4)
		w.isAway = true
		w.pass(60)
		w.requireState("rolling", "Argo Rollouts has yet to replace pods")
		w.pass(140)
		w.requireState("rolling", "Argo Rollouts replaces no pods, although all are ready")
		if held := w.controller.Overview("", time.Now()).Held.Items; len(held) != 1 {
			t.Errorf("held are %+v", held)
		}
		w.pass(600)
		if got := w.outcomes(); !slices.Equal(got, []string{"unknown"}) {
			t.Errorf("the restarts are %v", got)
		}
		w.isAway = false
		w.pass(200)
		w.requireReplaced("web-1", "web-2", "web-3")
		if got := w.outcomes(); !slices.Equal(got, []string{"delivered", "unknown"}) {
			t.Errorf("the restarts are %v", got)
		}
	})
}

func TestAPodThatCrashesFailsARestartByArgoRollouts(t *testing.T) {
	inRolloutWorld(t, func(w *rolloutWorld) {
		w.crashes = true
		w.edit("2")
		w.pass(100)
		w.requireState("rolling", "a new pod is not ready")
		w.pass(600)
		if got := w.outcomes(); !slices.Equal(got, []string{"failed"}) {
			t.Errorf("the restarts are %v", got)
		}
		if len(w.replaced) != 1 {
			t.Errorf("replaced %v", w.replaced)
		}
	})
}

func TestARolloutRestartsBetweenTwoSteps(t *testing.T) {
	inRolloutWorld(t, func(w *rolloutWorld) {
		w.change(func(_, _, status map[string]any) {
			status["currentPodHash"], status["phase"], status["updatedReplicas"] = "b", "Paused", 1
			status["pauseConditions"] = []any{map[string]any{"reason": "CanaryPauseStep"}}
		})
		w.pass(1)
		w.edit("2")
		w.pass(100)
		w.requireReplaced("web-1", "web-2", "web-3")
		if got := w.outcomes(); !slices.Equal(got, []string{"delivered"}) {
			t.Errorf("the restarts are %v", got)
		}
	})
}
