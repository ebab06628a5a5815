package test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
)

const graceAnnotation = "com.xing.deployment-restart.grace-period"

// withGrace gives a workload a grace period of its own.
func withGrace(period string) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Annotations[graceAnnotation] = period }
}

// writer is the field manager under which the tests edit configs: the API server
// takes it from the client's name, which is that of the test's binary.
var writer = filepath.Base(os.Args[0])

// flapPeriod is the time between two edits of a config that flaps.
const flapPeriod = 100 * time.Millisecond

// flap edits a key of a config, over and over, until a workload has been restarted
// so many times more, and returns the times of these restarts. The config goes on
// to change for as long as the last one has to wait.
func (s *scene) flap(c config, w workload, restarts int) []time.Time {
	s.Helper()
	var times []time.Time
	last := s.now(w).restartedAt()
	for begin := time.Now(); len(times) < restarts; s.awaitTime(time.Now().Add(flapPeriod)) {
		if time.Since(begin) > waitLimit {
			s.Fatalf("there were %d restarts, want %d", len(times), restarts)
		}
		s.round++
		s.edit(c, set("a", strconv.Itoa(s.round)))
		if st := s.now(w); st.restartedAt() != last {
			last = st.restartedAt()
			times = append(times, st.restartTime(s))
		}
	}
	return times
}

// flapInARow is flap with a limit to the spacing of restarts, and reports whether none of the restarts came so late that it began
// another row, in which the spacing begins anew.
func (s *scene) flapInARow(c config, w workload, restarts int, limit time.Duration) (times []time.Time, held bool) {
	s.Helper()
	times = s.flap(c, w, restarts)
	return times, isRow(times, limit)
}

// isRow reports whether each restart came less than the limit after the one before, or after the spacing in front of it.
func isRow(restarts []time.Time, limit time.Duration) bool {
	for i := range restarts[1:] {
		spacing := time.Duration(0)
		if i >= 2 {
			spacing = min(limit, time.Second<<(i-2))
		}
		if restarts[i+1].Sub(restarts[i]) >= spacing+limit {
			return false
		}
	}
	return true
}

// requireSpacing fails the test unless the restarts are at least so far apart.
func (s *scene) requireSpacing(restarts []time.Time, atLeast ...time.Duration) {
	s.Helper()
	for i, want := range atLeast {
		if got := restarts[i+1].Sub(restarts[i]); got < want {
			s.Errorf("restart %d came %s after the one before, want at least %s", i+2, got, want)
		}
	}
}

func TestTheRestartsForAConfigThatKeepsChangingAreSpacedOut(t *testing.T) {
	newSceneApart(t).again((*scene).trySpacing)
}

func (s *scene) trySpacing() (held bool) {
	s.Helper()
	const limit = 8 * time.Second
	s.startController("--restart-backoff-limit=" + limit.String())
	s.make(settings, set("a", "0"), set("b", "0"))
	app := s.run("app", podOf(envFrom(settings)))
	s.started(app)

	restarts, held := s.flapInARow(settings, app, 7, limit)
	if !held {
		return false
	}
	s.requireSpacing(restarts, 0, 0, time.Second, 2*time.Second, 4*time.Second, limit)
	event := s.awaitEvent(app, "RestartBackoff", "restart put off until ")
	if want := "configmap settings keeps changing (keys: a; written by " + writer + ")"; !strings.Contains(event.Message, want) {
		s.Errorf("the event says %q, want it to contain %q", event.Message, want)
	}
	if got := s.metric("slowdowns_total", nil); got < 3 {
		s.Errorf("%v restarts were put off, want at least 3", got)
	}

	// The next one has to wait as well, and brings the last of several edits.
	next := restarts[6].Add(limit)
	s.edit(settings, set("a", "not the last"))
	if !s.happensBefore(next, s.hasMetric("slowed_workloads", map[string]string{"config": settings.key(s.namespace)}, 1)) ||
		!s.happensBefore(next, s.hasMark(app, true)) {
		return false
	}
	before := s.now(app)
	s.edit(settings, set("a", "the last"))
	if !time.Now().Before(next) {
		return false
	}
	after := s.awaitRestart(app, before)
	s.requireSpacing([]time.Time{restarts[6], after.restartTime(s)}, limit)
	s.settle()
	s.requireRestarts(app, before, 1)
	s.awaitMetric("slowed_workloads", nil, 0)
	return true
}

func TestABudgetSurvivesTheController(t *testing.T) {
	newSceneApart(t).again((*scene).tryBudgetWithAnotherController)
}

func (s *scene) tryBudgetWithAnotherController() (held bool) {
	s.Helper()
	const limit = 8 * time.Second
	s.startController("--restart-backoff-limit=" + limit.String())
	s.make(credentials, set("a", "0"), set("b", "0"))
	app := s.run("app", podOf(envFrom(credentials)))
	s.started(app)
	restarts, held := s.flapInARow(credentials, app, 6, limit) // the next one has to wait for as long
	before := s.now(app)
	s.edit(credentials, set("a", "x"), set("b", "x"))
	s.must(s.controller.Kill())

	s.startController("--restart-backoff-limit=" + limit.String())
	if !held || !s.happensBefore(restarts[5].Add(limit), s.hasMetric("slowed_workloads", nil, 1)) {
		return false // it does not have to wait any more
	}
	event := s.awaitEvent(app, "RestartBackoff", "restart put off until ")
	if !strings.Contains(event.Message, "secret credentials keeps changing (") || strings.Contains(event.Message, "keys:") {
		s.Errorf("the event says %q", event.Message)
	}
	after := s.awaitRestart(app, before)
	s.requireSpacing([]time.Time{restarts[5], after.restartTime(s)}, limit)
	return true
}

func TestWithoutALimitEachChangeRestarts(t *testing.T) {
	s := newSceneApart(t)
	s.startController("--restart-backoff-limit=0")
	s.make(settings, set("a", "0"))
	app := s.run("app", podOf(envFrom(settings)))
	before := s.started(app)
	s.flap(settings, app, 6)
	s.settle()
	if events, err := s.eventsOf(t.Context(), app, "RestartBackoff"); err != nil || len(events) > 0 {
		t.Errorf("events: %v, %v", events, err)
	}
	if strings.Contains(s.now(app).Annotations[basisAnnotation], "restarts") || s.now(app).restartedAt() == before.restartedAt() {
		t.Errorf("the basis is %s", s.now(app).Annotations[basisAnnotation])
	}
}

// A deadline belongs to a workload and a change: each waits as long as it wants to.
func TestAWorkloadsOwnGracePeriod(t *testing.T) {
	newSceneApart(t).again((*scene).tryGracePeriods)
}

func (s *scene) tryGracePeriods() (held bool) {
	s.Helper()
	const longest = 6 * time.Second
	s.startController()
	s.make(settings, set("a", "0"))
	quick := s.run("quick", podOf(envFrom(settings)), withGrace("0s"))
	usual := s.run("usual", podOf(envFrom(settings)))
	slow := s.run("slow", podOf(envFrom(settings)), withGrace(longest.String()))
	beforeQuick, beforeUsual := s.started(quick), s.started(usual)
	beforeSlow := s.started(slow) // its own change was due with this

	edited := time.Now()
	s.edit(settings, set("a", "1"))
	s.awaitRestart(quick, beforeQuick)
	first := s.awaitRestart(usual, beforeUsual)
	if waited := first.restartTime(s).Sub(edited); waited < s.grace {
		s.Errorf("restarted after %s, before the grace period of %s", waited, s.grace)
	}
	s.edit(settings, set("a", "2"))
	if time.Since(edited) >= longest {
		return false
	} // otherwise it goes with the first edit, for the slow one
	s.awaitRestart(usual, first)
	last := s.awaitRestart(slow, beforeSlow)
	if waited := last.restartTime(s).Sub(edited); waited < longest {
		s.Errorf("restarted after %s, before its grace period of %s", waited, longest)
	}
	s.settle()
	s.requireRestarts(quick, beforeQuick, 2)
	s.requireRestarts(usual, beforeUsual, 2)
	s.requireRestarts(slow, beforeSlow, 1)
	return true
}

func TestAnInvalidGracePeriodIsReportedAndTheDefaultIsUsed(t *testing.T) {
	s := newSceneApart(t)
	s.startController()
	s.make(settings, set("a", "0"))
	app := s.run("app", podOf(envFrom(settings)), withGrace("soon"))
	s.started(app)
	s.awaitEvent(app, "InvalidAnnotation", `annotation com.xing.deployment-restart.grace-period: "soon" is not a duration such as 90s, 2m or 1h30m, or a number of seconds; 1s is used instead`)
	s.annotate(app, graceAnnotation, "-5")
	s.awaitEvent(app, "InvalidAnnotation", `annotation com.xing.deployment-restart.grace-period: "-5" is negative; 1s is used instead`)
	before := s.now(app)
	s.edit(settings, set("a", "1"))
	s.awaitRestart(app, before)
}
