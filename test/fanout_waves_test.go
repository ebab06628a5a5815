package test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
)

// In which order the workloads of a namespace restart, if they have waves.

const (
	waveAnnotation = "com.xing.deployment-restart.wave"
	holdAnnotation = "com.xing.deployment-restart.hold"
)

func inWave(number int) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Annotations[waveAnnotation] = strconv.Itoa(number) }
}

// leadTheWaves lets the marker restart before all waves, so that [scene.settle] does not wait for them.
func (s *scene) leadTheWaves() {
	s.Helper()
	s.annotate(deployment(markerName), waveAnnotation, "-1000")
}

// runHeld runs readers of the settings whose pods are held back until they are let go, and lets them go.
func (s *scene) runHeld(adjust func(*appsv1.Deployment), names ...string) (all []workload) {
	s.Helper()
	for _, name := range names {
		all = append(all, s.run(name, podOf(envFrom(settings)), held, adjust))
	}
	for _, w := range all {
		s.letAllGo(w)
	}
	return all
}

func TestAWaveRestartsOnlyAfterTheRolloutsOfTheWaveBefore(t *testing.T) {
	s := newSceneApart(t)
	s.startController()
	s.leadTheWaves()
	s.make(settings, set("used", "v1"))
	waves := [][]workload{s.runHeld(inWave(-1), "first-a", "first-b"), s.runHeld(inWave(0), "middle-a", "middle-b"), s.runHeld(inWave(1), "last-a", "last-b")}
	r := s.readersOf(slices.Concat(waves...)...)
	s.edit(settings, set("used", "v2"))
	for i, wave := range waves {
		begun := 2 * (i + 1)
		r.awaitRestarted(begun)
		r.requireRestarted(slices.Concat(waves[:i+1]...)...)
		s.awaitMetric("held_workloads", map[string]string{"reason": "wave"}, float64(6-begun))
		s.letAllGo(wave[0])
		s.settle()
		r.requireRestarted(slices.Concat(waves[:i+1]...)...)
		s.letAllGo(wave[1])
	}
	for i, wave := range waves[1:] {
		for _, before := range waves[i] {
			for _, after := range wave {
				if b, a := s.now(before).restartTime(s), s.now(after).restartTime(s); !b.Before(a) {
					t.Errorf("%s restarted at %s, and %s of the next wave at %s", before.name, b, after.name, a)
				}
			}
		}
	}
	s.awaitMetric("held_workloads", nil, 0)
}

func TestAHeldWorkloadKeepsLaterWavesWaitingUntilItIsLetGo(t *testing.T) {
	s := newSceneApart(t)
	s.startController()
	s.leadTheWaves()
	s.make(settings, set("used", "v1"))
	database := s.run("database", podOf(envFrom(settings)), inWave(-1))
	client := s.run("client", podOf(envFrom(settings)))
	r := s.readersOf(database, client)
	s.annotate(database, holdAnnotation, "the backup runs")
	s.edit(settings, set("used", "v2"))
	s.awaitEvent(database, "RestartHeld", "restart is held: the workload is held: the backup runs")
	s.awaitMetric("held_workloads", map[string]string{"reason": "wave"}, 1)
	s.settle()
	r.requireRestarted()
	s.annotate(database, holdAnnotation, "")
	r.awaitRestarted(2)
	if d, c := s.now(database).restartTime(s), s.now(client).restartTime(s); !d.Before(c) {
		t.Errorf("the database restarted at %s, and its client at %s", d, c)
	}
}

func TestAWorkloadThatFailedDoesNotKeepLaterWavesWaiting(t *testing.T) {
	s := newSceneApart(t)
	s.startController("--restart-soak=1s")
	s.make(settings, set("used", "v1"))
	first := s.run("first", podOf(envFrom(settings)), inWave(-1))
	last := s.run("last", podOf(envFrom(settings)), inWave(1))
	r := s.readersOf(first, last)
	s.crashRestartedPods()
	s.edit(settings, set("used", "v2"))
	s.awaitEvent(first, "RestartNotDelivered", "failed")
	r.awaitRestarted(2)
}

// runRefused edits the settings while the API server refuses the restart of a workload of the first wave.
func (s *scene) runRefused(flags ...string) (r *readers, refused workload, thaw func()) {
	s.Helper()
	s.startGradually(flags...)
	s.leadTheWaves()
	s.make(settings, set("used", "v1"))
	refused = s.run("database", podOf(envFrom(settings)), inWave(-1))
	r = s.readersOf(refused, s.run("client-a", podOf(envFrom(settings))), s.run("client-b", podOf(envFrom(settings))))
	thaw = s.freeze(refused)
	s.edit(settings, set("used", "v2"))
	return r, refused, thaw
}

func TestAWorkloadWhosePatchIsDeniedKeepsLaterWavesWaitingUntilItRestarts(t *testing.T) {
	s := newSceneApart(t)
	r, refused, thaw := s.runRefused()
	s.awaitEvent(refused, "RestartFailed", "cannot apply a config change")
	s.awaitMetric("held_workloads", map[string]string{"reason": "wave"}, 2)
	s.settle()
	r.requireRestarted()
	thaw()
	r.awaitRestarted(3)
	s.awaitEventOn(settings, "FanOut", `^finished: 3 delivered in \S+s$`)
}

func TestAWorkloadWithAnIgnoredErrorKeepsNoLaterWaveWaitingAndIsNotCountedAsDelivered(t *testing.T) {
	s := newSceneApart(t)
	r, refused, _ := s.runRefused("--ignored-errors=" + denial)
	r.awaitRestarted(2)
	s.eventually("the fan-out is over", func(context.Context) error {
		if len(s.controller.Log().Containing("fan-out is over", "delivered=2", "unserved=")) == 0 {
			return errors.New("the log does not say so")
		}
		return nil
	})
	r.requireRestarted(r.others(refused)...)
}

// A release gives the pods the present content, whatever holds the workload back.
func TestAWorkloadThatIsReleasedWhileItWaitsForItsWaveIsUpToDate(t *testing.T) {
	s := newSceneApart(t)
	s.startController("--fan-out=gradual", "--restart-soak=1s")
	s.leadTheWaves()
	s.make(settings, set("used", "v1"))
	first := s.runHeld(inWave(-1), "first")[0]
	released := s.run("released", podOf(envFrom(settings)))
	other := s.run("other", podOf(envFrom(settings)))
	r := s.readersOf(first, released, other)
	s.edit(settings, set("used", "v2"))
	s.awaitMetric("held_workloads", map[string]string{"reason": "wave"}, 2)
	s.letTimePass() // the pods of the release are clearly younger than the edit
	s.patchImage(released, "example/main:2")
	s.awaitRollout(released)
	s.awaitMetric("held_workloads", map[string]string{"reason": "wave"}, 1)
	s.letAllGo(first)
	r.awaitRestarted(2)
	s.awaitRollout(other)
	s.settle()
	r.requireRestarted(first, other)
}

// It is known only after its grace period whether a restart is due.
func TestALaterWaveWaitsForAWorkloadWithALongerGracePeriod(t *testing.T) {
	s := newSceneApart(t)
	s.startController()
	s.make(settings, set("used", "v1"))
	database := s.run("database", podOf(envFrom(settings)), inWave(-1), withGrace("5s"))
	client := s.run("client", podOf(envFrom(settings)), inWave(1))
	r := s.readersOf(database, client)
	s.edit(settings, set("used", "v2"))
	r.awaitRestarted(2)
	if d, c := s.now(database).restartTime(s), s.now(client).restartTime(s); !d.Before(c) {
		t.Errorf("the database restarted at %s, and its client at %s", d, c)
	}
}
