package test

import "testing"

// A leader that is killed leaves nothing but records, statuses and halts.

// replaceLeader kills the controller and starts another one, which leads at once.
func (s *scene) replaceLeader() {
	s.Helper()
	s.must(s.controller.Kill())
	s.startController("--fan-out=gradual", "--restart-soak=1s")
}

// The pods are held back, so that each step of the fan-out lasts until the test has seen that nobody
// else restarts.
func TestAFanOutIsNoFasterWhenTheLeaderIsKilledAtEachStep(t *testing.T) {
	s := newSceneApart(t)
	s.startController("--fan-out=gradual", "--restart-soak=1s")
	s.make(settings, set("used", "v1"))
	r := s.readersOf(s.runHeld(inWave(0), "a", "b", "c", "d", "e", "f", "g", "h")...)
	s.edit(settings, set("used", "v2"))
	for _, begun := range []int{1, 2, 4, 8} {
		restarted := r.awaitRestarted(begun)
		s.replaceLeader()
		s.settle()
		r.requireRestarted(restarted...)
		for _, w := range restarted {
			s.letAllGo(w)
		}
	}
	s.awaitMetric("undelivered_restarts", nil, 0)
	s.settle()
	r.requireOneRestartEach()
}

// requireOneRestartEach fails the test unless each reader has got one new pod template.
func (r *readers) requireOneRestartEach() {
	r.Helper()
	for _, w := range r.all {
		if got := r.now(w).revisions - r.before[w].revisions; got != 1 {
			r.Errorf("%s was restarted %d times, want once", w.name, got)
		}
	}
}

// requireFirst fails the test unless a reader has restarted before all others.
func (r *readers) requireFirst(first workload) {
	r.Helper()
	for _, w := range r.all {
		if w != first && !r.now(first).restartTime(r.scene).Before(r.now(w).restartTime(r.scene)) {
			r.Errorf("%s restarted before %s", w.name, first.name)
		}
	}
}

func TestAHaltSurvivesALeaderThatIsKilledAtAnyStep(t *testing.T) {
	t.Parallel()
	for name, untilKilled := range map[string]func(*readers){
		"after the patch of the canary": func(r *readers) { r.awaitRestarted(1) },
		"after the failure of the canary": func(r *readers) {
			r.awaitMetric("restarts_failed_total", map[string]string{"kind": "Deployment"}, 1)
		},
		"after the Event of the halt": func(r *readers) { r.awaitEventOn(settings, "RestartsHalted", "^halted after ") },
		"after the others were halted": func(r *readers) {
			r.awaitMetric("held_workloads", map[string]string{"reason": "halt"}, 3)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSceneApart(t)
			r := s.runReaders(4)
			heal := s.crashRestartedPodsUntil()
			s.edit(settings, set("used", "bad"))
			untilKilled(r)
			s.replaceLeader()
			s.awaitMetric("held_workloads", map[string]string{"reason": "halt"}, 3)
			s.settle()
			broken := r.awaitRestarted(1)

			heal()
			r.note()
			s.edit(settings, set("used", "good"))
			r.awaitRestarted(4)
			r.requireFirst(broken[0])
			s.awaitMetric("undelivered_restarts", nil, 0)
			s.settle()
			r.requireOneRestartEach()
		})
	}
}
