package test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/test/harness"
)

// A leader that is killed leaves nothing but records, statuses and halts.

// replaceLeader kills the controller and starts another one, which leads at once.
func (s *scene) replaceLeader() {
	s.Helper()
	s.must(s.controller.Kill())
	s.startGradually()
}

// takeOver kills the controller, so that a standby leads that has watched all along, and starts another
// standby.
func (s *scene) takeOver(standby *harness.Controller, flags []string) (next *harness.Controller) {
	s.Helper()
	s.must(s.controller.Kill())
	s.expireLease()
	s.controller = standby
	s.awaitMetric("leader", nil, 1)
	next = s.startController(flags...)
	s.controller = standby
	return next
}

func TestAFanOutIsNoFasterWhenANewLeaderStartsAtEachStep(t *testing.T) {
	s := newSceneApart(t)
	s.startController("--fan-out=gradual", "--restart-soak=1s")
	s.requireSlowStartThrough(s.replaceLeader)
}

func TestAFanOutIsNoFasterWhenAStandbyTakesOverAtEachStep(t *testing.T) {
	s := newSceneApart(t)
	flags := append(s.openElection(longLease), "--fan-out=gradual", "--restart-soak=1s")
	leader := s.startController(flags...)
	s.awaitMetric("leader", nil, 1)
	standby := s.startController(flags...)
	s.controller = leader
	s.requireSlowStartThrough(func() { standby = s.takeOver(standby, flags) })
}

// requireSlowStartThrough changes the leader after each step of a fan-out. The pods are held back, so that
// each step lasts until it is seen that nobody else restarts.
func (s *scene) requireSlowStartThrough(changeLeader func()) {
	s.Helper()
	s.make(settings, set("used", "v1"))
	r := s.readersOf(s.runHeld(inWave(0), "a", "b", "c", "d", "e", "f", "g", "h")...)
	s.edit(settings, set("used", "v2"))
	for _, begun := range []int{1, 2, 4, 8} {
		restarted := r.awaitRestarted(begun)
		changeLeader()
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

func TestANewLeaderKnowsWhoIsExposedAndDoesNotShowIt(t *testing.T) {
	s := newSceneApart(t)
	r := s.runReaders(4)
	b := s.badFor()
	b.set(true, set("used", "bad"))
	canary := r.awaitRestarted(1)[0]
	s.patch(canary, `{"metadata":{"annotations":{"com.xing.deployment-restart":null}}}`)
	s.eventually("what it is exposed to is kept", func(ctx context.Context) error {
		halts, err := s.client.CoreV1().ConfigMaps(s.installation.Namespace).Get(ctx, haltsConfigMap, metav1.GetOptions{})
		if err == nil && !strings.Contains(halts.Data["exposed."+s.namespace+".workloads"], canary.name) {
			err = fmt.Errorf("there is only %v", halts.Data)
		}
		return err
	})
	s.replaceLeader()
	b.requireOne(20 * time.Second)
	s.patch(canary, `{"metadata":{"annotations":{"com.xing.deployment-restart":"enabled"}}}`)
	b.requireOne(10 * time.Second)
	s.awaitHalted(3)
}

func TestANewLeaderKeepsTheOrderOfWaves(t *testing.T) {
	s := newSceneApart(t)
	s.startController("--fan-out=gradual", "--restart-soak=1s")
	s.leadTheWaves()
	s.make(settings, set("used", "v1"))
	first, last := s.runHeld(inWave(-1), "first")[0], s.run("last", podOf(envFrom(settings)))
	r := s.readersOf(first, last)
	s.edit(settings, set("used", "v2"))
	r.awaitRestarted(1)
	s.replaceLeader()
	s.awaitMetric("held_workloads", map[string]string{"reason": "wave"}, 1)
	s.settle()
	r.requireRestarted(first)
	s.letAllGo(first)
	r.awaitRestarted(2)
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
		"after the patch of the canary":   func(r *readers) { r.awaitRestarted(1) },
		"after the failure of the canary": untilFailed,
		"after the Event of the halt":     func(r *readers) { r.awaitEventOn(settings, "RestartsHalted", "^halted after ") },
		"after the others were halted": func(r *readers) {
			r.awaitMetric("held_workloads", map[string]string{"reason": "halt"}, 3)
		},
	} {
		t.Run(name, func(t *testing.T) { newSceneApart(t).requireHaltThroughKill(untilKilled) })
	}
}

// The engine, which is to roll out the broken workload, is killed as well.
func TestAHaltSurvivesALeaderThatIsKilledWithItsEngine(t *testing.T) {
	newEngineSceneApart(t).requireHaltThroughKill(untilFailed)
}

func untilFailed(r *readers) {
	r.awaitMetric("restarts_failed_total", map[string]string{"kind": "Deployment"}, 1)
}

// requireHaltThroughKill kills the leader at some step of a fan-out of bad content.
func (s *scene) requireHaltThroughKill(untilKilled func(*readers)) {
	s.Helper()
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
}

// The new leader knows of the edit only that the content is not that of the halt any more.
func TestAFixThatNoLeaderSeesEndsTheHalt(t *testing.T) {
	s := newSceneApart(t)
	r, broken, heal := s.runHalted(4)
	s.awaitHaltRecord(settings)
	s.must(s.controller.Kill())
	heal()
	r.note()
	s.edit(settings, set("used", "good"))
	s.startController("--fan-out=gradual", "--restart-soak=1s")
	r.awaitRestarted(4)
	r.requireFirst(broken)
	s.settle()
	r.requireOneRestartEach()
}

// The standby has watched the fix, and no leader has acted on it.
func TestAFixThatOnlyTheStandbySeesEndsTheHalt(t *testing.T) {
	s := newSceneApart(t)
	flags := append(s.openElection(longLease), "--fan-out=gradual", "--restart-soak=1s")
	leader := s.startController(flags...)
	s.awaitMetric("leader", nil, 1)
	standby := s.startController(flags...)
	s.controller = leader
	s.make(settings, set("used", "v1"))
	r := s.runApps(4)
	heal := s.crashRestartedPodsUntil()
	s.edit(settings, set("used", "bad"))
	broken := r.awaitRestarted(1)[0]
	s.awaitMetric("held_workloads", map[string]string{"reason": "halt"}, 3)
	s.awaitHaltRecord(settings)
	s.must(leader.Kill())
	heal()
	r.note()
	s.edit(settings, set("used", "good"))
	s.expireLease()
	s.controller = standby
	r.awaitRestarted(4)
	r.requireFirst(broken)
	s.settle()
	r.requireOneRestartEach()
}
