package test

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"
)

// stretchGrace gives workloads a grace period that ends when the test says so, with [scene.endGrace]: whatever it writes
// until then is within the period, on however busy a machine. Both are writes to the workloads.
func (s *scene) stretchGrace(all ...workload) {
	s.Helper()
	for _, w := range all {
		s.annotate(w, graceAnnotation, "1h")
	}
}

// endGrace gives workloads the controller's own grace period again, so that what waits is due.
func (s *scene) endGrace(all ...workload) {
	s.Helper()
	for _, w := range all {
		s.annotate(w, graceAnnotation, "")
	}
}

func TestSeveralEditsInTheGracePeriodMakeOneRestart(t *testing.T) {
	s := newScene(t)
	s.make(settings, set("used", "v0"))
	s.make(credentials, set("used", "v0"))
	app := s.run("app", podOf(envFrom(settings), envFrom(credentials)))
	s.started(app)
	s.stretchGrace(app)
	before := s.now(app)
	for round := range 5 {
		s.edit(settings, set("used", "v"+strconv.Itoa(round+1)))
		s.edit(credentials, set("used", "v"+strconv.Itoa(round+1)))
	}
	s.settle()
	s.requireRestarts(app, before, 0)
	s.endGrace(app)
	s.awaitRestart(app, before)
	s.settle()
	s.requireWrites(app, before, 1, 1)
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

// What the controller itself writes to a workload must not make the next edit due
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
	s := newSceneApart(t)
	s.startController()
	files := configMap("files")
	for _, config := range []config{settings, credentials, files} {
		s.make(config, set("used", "v1"))
	}
	reads := map[workload]config{
		s.run("settings", podOf(envFrom(settings))):                                  settings,
		s.run("credentials", podOf(envFrom(credentials))):                            credentials,
		s.run("files", withVolumes(podOf(mount("files")), volumeOf("files", files))): files,
	}
	before := map[workload]state{}
	for app := range reads {
		s.started(app)
		s.stretchGrace(app)
		before[app] = s.now(app)
	}

	for app, config := range reads {
		s.edit(config, set("used", "v2"))
		s.awaitSeen(config)
		s.patchImage(app, "example/main:2")
		s.awaitRollout(app)
		s.endGrace(app)
	}
	for app, config := range reads {
		was, err := before[app].checksums()
		s.must(err)
		s.awaitRecordAbout(app, config, was)
	}
	s.settle()
	for app := range reads {
		// One write for the image, one for the record, one for the end of the grace period; the other ReplicaSet is the image's.
		if st := s.now(app); st.restartedAt() != "" || st.Generation != before[app].Generation+3 {
			t.Errorf("%s: metadata.generation went from %d to %d, restart timestamp %q: want only the change of the image",
				app.name, before[app].Generation, st.Generation, st.restartedAt())
		}
		s.requireRevisions(app, 2)
	}
}

// awaitSeen waits until the controller has seen the first edit of a config that a workload reads. Of what pods have
// read that start in the second of an edit, the order in which the watches show both decides.
func (s *scene) awaitSeen(c config) {
	s.Helper()
	s.eventually("the controller has seen "+c.name, func(context.Context) error {
		if len(s.controller.Log().Containing(`msg="config changed" config=`+c.key(s.namespace))) == 0 {
			return errors.New("the log does not say so")
		}
		return nil
	})
}

// awaitRecordAbout waits until the record of a workload says something new of a config.
func (s *scene) awaitRecordAbout(w workload, c config, was map[string]string) {
	s.Helper()
	s.await("has a new record of "+c.name, w, func(st state) error {
		is, err := st.checksums()
		if err != nil {
			return err
		}
		return differ(was, is, c.key(s.namespace))
	})
}
