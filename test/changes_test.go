package test

import (
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

func TestSeveralEditsInTheGracePeriodMakeOneRestart(t *testing.T) {
	s := newSceneApart(t)
	s.grace = 3 * time.Second
	s.startController()
	s.make(settings, set("used", "v0"))
	s.make(credentials, set("used", "v0"))
	app := s.run("app", podOf(envFrom(settings), envFrom(credentials)))
	before := s.started(app)
	for round := range 5 {
		s.edit(settings, set("used", "v"+strconv.Itoa(round+1)))
		s.edit(credentials, set("used", "v"+strconv.Itoa(round+1)))
	}
	s.awaitRestart(app, before)
	s.settle()
	s.requireRestarts(app, before, 1)
	s.requireRecordOfPresentContent(app, settings)
}

func TestEditsFurtherApartThanTheGracePeriodMakeARestartEach(t *testing.T) {
	s := newScene(t)
	s.make(settings, set("used", "v1"))
	app := s.run("app", podOf(envFrom(settings)))
	first := s.started(app)
	s.edit(settings, set("used", "v2"))
	second := s.awaitRestart(app, first)
	s.edit(settings, set("used", "v3"))
	s.awaitRestart(app, second)
	s.settle()
	s.requireRestarts(app, first, 2)
}

// What the controller itself writes to a workload must not make the next edit ripen
// early, or two edits in one grace period become two restarts.
func TestTheGracePeriodIsCountedFromTheEditAlsoSoonAfterARestart(t *testing.T) {
	s := newSceneApart(t)
	s.grace = 2 * time.Second
	s.startController()
	s.make(settings, set("used", "v1"))
	app := s.run("app", podOf(envFrom(settings)))
	first := s.started(app)
	s.edit(settings, set("used", "v2"))
	second := s.awaitRestart(app, first)
	s.awaitTime(second.restartTime(s).Add(s.grace / 2))
	edited := time.Now()
	s.edit(settings, set("used", "v3"))
	third := s.awaitRestart(app, second)
	if waited := third.restartTime(s).Sub(edited); waited < s.grace {
		t.Errorf("restarted %s after the edit, within the grace period of %s", waited, s.grace)
	}
	s.settle()
	s.requireRestarts(app, first, 2)
}

func TestGracePeriodZero(t *testing.T) {
	s := newSceneApart(t)
	s.grace = 0
	s.startController()
	s.make(settings, set("used", "v0"))
	app := s.run("app", podOf(envFrom(settings)))
	last := s.started(app)
	for round := range 3 {
		s.edit(settings, set("used", "v"+strconv.Itoa(round+1)))
		last = s.awaitRestart(app, last)
	}
	s.settle()
	s.requireRestarts(app, last, 0)
	s.requireRecordOfPresentContent(app, settings)
}

func TestAConfigThatManyWorkloadsShareRestartsEachOfThemOnce(t *testing.T) {
	s := newScene(t)
	s.make(settings, set("used", "v1"))
	apps := map[workload]state{}
	for i := range 10 {
		apps[s.run("app-"+strconv.Itoa(i), podOf(envFrom(settings)))] = state{}
	}
	bystander := s.run("bystander", podOf(envFrom(credentials)))
	for app := range apps {
		apps[app] = s.started(app)
	}
	untouched := s.awaitRecorded(bystander)
	s.edit(settings, set("used", "v2"))
	for app, before := range apps {
		s.awaitRestart(app, before)
	}
	s.settle()
	for app, before := range apps {
		s.requireRestarts(app, before, 1)
	}
	s.requireRestarts(bystander, untouched, 0)
}

// A release applies the config and the workload together; the pods of the new
// image start with the new config.
func TestOneReleaseThatChangesConfigAndImageRollsOutOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		pod  corev1.PodSpec
		edit edit
	}{
		{"a ConfigMap", podOf(envFrom(settings)), edit{settings, []change{set("used", "v2")}}},
		{"a Secret", podOf(envFrom(credentials)), edit{credentials, []change{set("used", "v2")}}},
		{"a ConfigMap in a volume", withVolumes(podOf(mount("files")), volumeOf("files", settings)),
			edit{settings, []change{set("used", "v2")}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene(t)
			s.make(settings, set("used", "v1"))
			s.make(credentials, set("used", "v1"))
			app := s.run("app", c.pod)
			before := s.started(app)

			s.edit(c.edit.config, c.edit.changes...)
			s.patchImage(app, "example/main:2")
			s.await("has a record of the new config", app, func(st state) error {
				checksums, err := st.checksums()
				if err != nil {
					return err
				}
				was, err := before.checksums()
				if err != nil {
					return err
				}
				return differ(was, checksums, c.edit.config.key(s.namespace))
			})
			s.settle()
			// One write for the image, one for the record; the other ReplicaSet is the image's.
			if st := s.now(app); st.restartedAt() != "" || st.Generation != before.Generation+2 {
				t.Errorf("metadata.generation went from %d to %d, restart timestamp %q: want only the change of the image",
					before.Generation, st.Generation, st.restartedAt())
			}
			s.requireRevisions(app, 2)
		})
	}
}
