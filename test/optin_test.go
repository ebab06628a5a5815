package test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

func TestAWorkloadThatIsNotEnabledIsNeverWrittenTo(t *testing.T) {
	t.Parallel()
	for name, annotations := range map[string]map[string]string{
		"without the annotation":      nil,
		"with the value disabled":     {enabledAnnotation: "disabled"},
		"with the value Enabled":      {enabledAnnotation: "Enabled"},
		"with an empty value":         {enabledAnnotation: ""},
		"with a record but not on":    {checksumsAnnotation: "{}", basisAnnotation: "{}"},
		"with a timestamp but not on": {timestampAnnotation: "2020-01-01T00:00:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.make(settings, set("used", "v1"))
			pod := podOf(envFrom(settings))
			apps := []workload{
				s.run("app", pod, func(d *appsv1.Deployment) { d.Annotations = annotations }),
				s.runStateful("stateful", pod, func(st *appsv1.StatefulSet) { st.Annotations = annotations }),
				s.runDaemons("daemons", pod, func(d *appsv1.DaemonSet) { d.Annotations = annotations }),
			}
			before := map[workload]state{}
			for _, app := range apps {
				before[app] = s.awaitRollout(app)
			}
			s.edit(settings, set("used", "v2"))
			s.settle()
			for _, app := range apps {
				s.requireUntouched(app, before[app])
			}
		})
	}
}

// requireUntouched fails the test if the controller has written to a workload, or
// if anything but its status has changed.
func (s *scene) requireUntouched(w workload, before state) {
	s.Helper()
	after := s.now(w)
	if diff := cmp.Diff(before.spec, after.spec); diff != "" {
		s.Errorf("spec of %s %s (-before +after):\n%s", w.kind, w.name, diff)
	}
	if diff := cmp.Diff(before.Annotations, after.Annotations); diff != "" {
		s.Errorf("annotations of %s %s (-before +after):\n%s", w.kind, w.name, diff)
	}
	if after.Generation != before.Generation {
		s.Errorf("metadata.generation of %s %s is %d, was %d", w.kind, w.name, after.Generation, before.Generation)
	}
	for _, entry := range after.ManagedFields {
		if strings.Contains(entry.Manager, "restart-controller") {
			s.Errorf("%s has written to %s %s", entry.Manager, w.kind, w.name)
		}
	}
}

func TestOptingOutIsHonouredAtOnce(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]string{"by removing the annotation": "", "by another value": "disabled"} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.make(settings, set("used", "v1"))
			app := s.run("app", podOf(envFrom(settings)))
			s.started(app)
			s.stretchGrace(app)
			before := s.now(app)

			s.edit(settings, set("used", "v2"))
			s.annotate(app, enabledAnnotation, value)
			s.endGrace(app)
			s.settle()
			s.requireWrites(app, before, 0, 2)
			s.requireNoWriteAfterOptOut(app, before)

			s.edit(settings, set("used", "v3"))
			s.settle()
			s.requireWrites(app, before, 0, 2)
			s.requireNoWriteAfterOptOut(app, before)
		})
	}
}

func (s *scene) requireNoWriteAfterOptOut(w workload, before state) {
	s.Helper()
	if diff := cmp.Diff(before.Annotations[checksumsAnnotation], s.now(w).Annotations[checksumsAnnotation]); diff != "" {
		s.Errorf("the record was written after the opt-out (-before +after):\n%s", diff)
	}
}

func TestAWorkloadThatOptsInWhileItRunsIsOnlyRecorded(t *testing.T) {
	s := newScene(t)
	s.make(settings, set("used", "v1"))
	app := s.run("app", podOf(envFrom(settings)), func(d *appsv1.Deployment) { d.Annotations = nil })
	s.awaitRollout(app)
	s.edit(settings, set("used", "v2")) // before the opt-in: the owner's own affair
	s.letTimePass()
	s.annotate(app, enabledAnnotation, "enabled")
	before := s.started(app)
	s.settle()
	s.requireRestarts(app, before, 0)

	s.edit(settings, set("used", "v3"))
	s.awaitRestart(app, before)
	s.settle()
	s.requireRestarts(app, before, 1)
}

// An undo brings back the template and the annotations of an earlier ReplicaSet.

func TestAnUndoOfARestartRollsOutOnceAndKeepsTheOptIn(t *testing.T) {
	s := newScene(t)
	s.make(settings, set("used", "v1"))
	app := s.run("app", podOf(envFrom(settings)))
	before := s.started(app)
	s.edit(settings, set("used", "v2"))
	restarted := s.awaitRestart(app, before)
	s.settle()

	s.undo(app)
	undone := s.await("is back at its first template", app, func(st state) error {
		if st.restartedAt() != "" {
			return errors.New("the pod template still has the restart timestamp")
		}
		return st.rollout
	})
	if undone.Annotations[enabledAnnotation] != "enabled" {
		t.Error("the undo has lost the opt-in")
	}
	s.await("has a record of the present content", app, func(st state) error {
		if got, want := st.Annotations[checksumsAnnotation], restarted.Annotations[checksumsAnnotation]; got != want {
			return fmt.Errorf("the record is %s, want %s", got, want)
		}
		return nil
	})
	s.settle()
	if st := s.now(app); st.restartedAt() != "" {
		t.Errorf("restarted at %s after the undo", st.restartedAt())
	}
	s.requireRevisions(app, 2)

	s.edit(settings, set("used", "v3"))
	s.awaitRestart(app, undone)
}

func TestAnUndoThatLosesTheOptInIsReported(t *testing.T) {
	s := newScene(t)
	s.make(settings, set("used", "v1"))
	app := s.run("app", podOf(envFrom(settings)), func(d *appsv1.Deployment) { d.Annotations = nil })
	s.awaitRollout(app)
	s.patchImage(app, "example/main:2")
	s.awaitRollout(app)
	s.annotate(app, enabledAnnotation, "enabled")
	s.started(app)

	s.undo(app)
	undone := s.awaitRollout(app)
	if _, found := undone.Annotations[enabledAnnotation]; found {
		t.Skip("this kubectl keeps the annotation: there is nothing to report")
	}
	event := s.awaitEvent(app, "RestartDisabled", "")
	if event.Type != corev1.EventTypeWarning || !strings.Contains(event.Message, enabledAnnotation) {
		t.Errorf("the event is %s %q, want a Warning that names the annotation", event.Type, event.Message)
	}
	s.edit(settings, set("used", "v2"))
	s.settle()
	if st := s.now(app); st.restartedAt() != "" {
		t.Errorf("restarted at %s though it is not enabled any more", st.restartedAt())
	}
}

// undo is "kubectl rollout undo".
func (s *scene) undo(w workload) {
	s.Helper()
	before := s.now(w)
	_, err := s.cluster.Kubectl(s.Context(), "-n", s.namespace, "rollout", "undo", strings.ToLower(w.kind)+"/"+w.name)
	s.must(err)
	s.eventually("the undo", func(ctx context.Context) error {
		st, err := s.look(ctx, w)
		if err == nil && st.Generation == before.Generation {
			err = errors.New("the Deployment has not changed")
		}
		return err
	})
}
