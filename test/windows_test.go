package test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// When restarts may begin: in windows of time, and not while a person holds them.

const (
	windowAnnotation = "com.xing.deployment-restart.window"
	urgentAnnotation = "com.xing.deployment-restart.urgent"
	alwaysOpen       = "* * * * * 1h"
)

// openingSoon returns a window that is closed, and when it opens: in half a minute or later.
func openingSoon() (window string, opens time.Time) {
	opens = time.Now().UTC().Add(90 * time.Second).Truncate(time.Minute)
	return fmt.Sprintf("%d %d * * * 10m", opens.Minute(), opens.Hour()), opens
}

func TestARestartWaitsUntilItsWindowOpens(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		set   func(s *scene, app workload, window string)
		waits string
	}{
		"of the workload": {func(s *scene, app workload, window string) {
			s.annotateConfig(settings, windowAnnotation, alwaysOpen) // the workload's own takes precedence
			s.annotate(app, windowAnnotation, window)
		}, "its window"},
		"of its config": {func(s *scene, _ workload, window string) { s.annotateConfig(settings, windowAnnotation, window) }, "the window of configmap/settings"},
		"of the controller": {func(s *scene, _ workload, window string) {
			s.must(s.controller.Stop())
			s.startController("--restart-window", window)
		}, "the window of --restart-window"},
	} {
		t.Run(name, func(t *testing.T) {
			newSceneApart(t).again(func(s *scene) bool { return s.tryWindow(test.set, test.waits) })
		})
	}
}

func (s *scene) tryWindow(setWindow func(s *scene, app workload, window string), waits string) (held bool) {
	s.Helper()
	s.startController()
	s.make(settings, set("used", "v1"))
	app := s.run("app", podOf(envFrom(settings)))
	s.started(app)
	s.letTimePass()
	window, opens := openingSoon()
	setWindow(s, app, window)
	s.edit(settings, set("used", "v2"))
	if !s.happensBefore(opens, s.hasEvent(app, "RestartHeld", "restart is held: "+waits+" opens at "+opens.Format(time.RFC3339), new(corev1.Event))) ||
		!s.happensBefore(opens, s.hasMetric("held_workloads", map[string]string{"reason": "window"}, 1)) {
		return false
	}
	s.edit(settings, set("used", "v3"))
	if !time.Now().Before(opens) {
		return false
	}
	restarted := s.awaitRestart(app, state{template: &corev1.PodTemplateSpec{}})
	if at := restarted.restartTime(s); at.Before(opens) {
		s.Errorf("restarted at %s, and the window opened at %s", at, opens)
	}
	s.requireRecordOfPresentContent(app, settings)
	s.awaitMetric("held_workloads", map[string]string{"reason": "window"}, 0)
	return true
}

// The Event has the id even if nobody has restarted with the content yet.
func TestUrgentContentDoesNotWaitForTheWindow(t *testing.T) {
	s := newSceneApart(t)
	s.startController("--fan-out=gradual", "--restart-soak=1s")
	s.make(settings, set("used", "v1"))
	app := s.run("app", podOf(envFrom(settings)))
	r := s.readersOf(app)
	tomorrow := time.Now().UTC().Add(-2 * time.Hour)
	s.annotateConfig(settings, windowAnnotation, fmt.Sprintf("%d %d * * * 10m", tomorrow.Minute(), tomorrow.Hour()))
	s.edit(settings, set("used", "v2"))
	id := s.awaitEventOn(settings, "FanOut", `^fan-out of (\w+): 0 of 1 delivered, 0 rolling, 1 waiting$`)[1]
	s.settle()
	r.requireRestarted()
	s.annotateConfig(settings, urgentAnnotation, id)
	r.awaitRestarted(1)

	s.awaitRollout(app)
	r.note()
	s.edit(settings, set("used", "v3")) // which nobody has called urgent
	s.awaitMetric("held_workloads", map[string]string{"reason": "window"}, 1)
	s.settle()
	r.requireRestarted()
}

func TestAWindowThatCannotBeReadKeepsRestartsWaitingUntilItIsCorrected(t *testing.T) {
	s := newSceneApart(t)
	s.startController()
	other := configMap("other")
	s.make(settings, set("used", "v1"))
	s.make(other, set("used", "v1"))
	own, ofConfig := s.run("own", podOf(envFrom(settings))), s.run("of-config", podOf(envFrom(other)))
	r := s.readersOf(own, ofConfig)
	s.annotate(own, windowAnnotation, "every night")
	s.annotateConfig(other, windowAnnotation, "every night")
	s.edit(settings, set("used", "v2"))
	s.edit(other, set("used", "v2"))
	const problem = "annotation " + windowAnnotation + `: window "every night": `
	s.awaitEvent(own, "InvalidAnnotation", problem)
	s.awaitEventOn(other, "InvalidAnnotation", "^"+problem)
	s.awaitMetric("held_workloads", map[string]string{"reason": "window"}, 2)
	s.settle()
	r.requireRestarted()

	s.annotate(own, windowAnnotation, alwaysOpen)
	r.awaitRestarted(1)
	r.requireRestarted(own)
	s.annotateConfig(other, windowAnnotation, "")
	r.awaitRestarted(2)
}

func TestAHoldOfAWorkloadConcernsNobodyElse(t *testing.T) {
	s := newSceneApart(t)
	r := s.runReaders(3)
	held := r.all[0]
	s.annotate(held, holdAnnotation, "the migration runs")
	s.edit(settings, set("used", "v2"))
	r.awaitRestarted(2)
	s.awaitEvent(held, "RestartHeld", "restart is held: the workload is held: the migration runs")
	s.settle()
	r.requireRestarted(r.others(held)...)
	s.annotate(held, holdAnnotation, "")
	r.awaitRestarted(3)
}

// It does not take --fan-out=gradual.
func TestAHoldOfEverythingKeepsAllRestartsFromBeginning(t *testing.T) {
	s := newSceneApart(t)
	s.installApart(nil)
	s.startController()
	s.make(settings, set("used", "v1"))
	r := s.readersOf(s.run("a", podOf(envFrom(settings))), s.run("b", podOf(envFrom(settings))))
	s.patchHalts(`{"data":{"hold":"incident 42"}}`)
	s.editMarkerUntilHeld()

	s.edit(settings, set("used", "v2"))
	for _, w := range r.all {
		s.awaitEvent(w, "RestartHeld", "restart is held: all restarts are held: incident 42")
	}
	s.awaitMetric("held_workloads", map[string]string{"reason": "hold"}, 3)
	r.requireRestarted()
	s.patchHalts(`{"data":{"hold":null}}`)
	r.awaitRestarted(2)
	s.awaitMetric("held_workloads", nil, 0)
}

// patchHalts does what a person does to the ConfigMap of halts.
func (s *scene) patchHalts(patch string) {
	s.Helper()
	_, err := s.client.CoreV1().ConfigMaps(s.installation.Namespace).Patch(s.Context(), haltsConfigMap, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	s.must(err)
}

// editMarkerUntilHeld returns when the controller, which reads its halts from time to time, does not
// restart the marker any more.
func (s *scene) editMarkerUntilHeld() {
	s.Helper()
	marker, isHeld := deployment(markerName), false
	for !isHeld {
		before := s.now(marker)
		s.markerRound++
		s.edit(configMap(markerName), set("round", fmt.Sprint(s.markerRound)))
		s.eventually("the marker restarts or is held", func(ctx context.Context) error {
			held, err := s.controller.Metric(ctx, "held_workloads", map[string]string{"reason": "hold"})
			if err != nil || held > 0 {
				isHeld = held > 0
				return err
			}
			st, err := s.look(ctx, marker)
			if err == nil && st.restartedAt() == before.restartedAt() {
				err = errors.New("neither")
			}
			return err
		})
	}
}
