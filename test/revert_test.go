package test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// halfway is a workload whose rollouts stop halfway until they may continue.
type halfway struct {
	workload
	goOn string // a patch that lets them continue
}

// runHalfway starts a workload of two replicas that reads the settings, and lets its rollouts
// stop halfway from now on.
func (s *scene) runHalfway(kind string) halfway {
	s.Helper()
	s.make(settings, set("used", "v1"))
	pod := podOf(envFrom(settings))
	if kind == "StatefulSet" {
		w := s.runStateful("app", pod)
		s.started(w)
		s.patch(w, `{"spec":{"updateStrategy":{"rollingUpdate":{"partition":1}}}}`)
		return halfway{w, `{"spec":{"updateStrategy":{"rollingUpdate":{"partition":0}}}}`}
	}
	w := s.run("app", pod, func(d *appsv1.Deployment) {
		d.Spec.Replicas = new(int32(2))
		d.Spec.Strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{MaxSurge: new(intstr.FromInt(1)), MaxUnavailable: new(intstr.FromInt(0))}
	})
	s.started(w)
	s.patch(w, `{"spec":{"minReadySeconds":599}}`) // no new pod becomes available
	return halfway{w, `{"spec":{"minReadySeconds":0}}`}
}

// awaitHalfway waits until a workload has another restart timestamp than the given ones, and
// pods from before and after that restart.
func (s *scene) awaitHalfway(w halfway, since time.Time, not ...string) state {
	s.Helper()
	st := s.awaitTimestamp(w.workload, not...)
	s.eventually("the rollout is halfway", func(ctx context.Context) error {
		older, younger, err := s.podsSince(ctx, w.workload, since)
		if err == nil && (older == 0 || younger == 0) {
			err = fmt.Errorf("%d pods are older than the edit, %d are younger", older, younger)
		}
		return err
	})
	return st
}

// awaitTimestamp waits until a workload has another restart timestamp than the given ones.
func (s *scene) awaitTimestamp(w workload, not ...string) state {
	s.Helper()
	return s.await("is restarted", w, func(st state) error {
		for _, timestamp := range append(not, "") {
			if st.restartedAt() == timestamp {
				return fmt.Errorf("the timestamp is %q", timestamp)
			}
		}
		return nil
	})
}

// podsSince counts the running pods of a workload that started before a time, and the others.
func (s *scene) podsSince(ctx context.Context, w workload, since time.Time) (older, younger int, err error) {
	pods, err := s.podsOf(ctx, w)
	for _, pod := range pods {
		for _, status := range pod.Status.ContainerStatuses {
			switch running := status.State.Running; {
			case running == nil:
			case running.StartedAt.Time.Before(since.Truncate(time.Second)):
				older++
			default:
				younger++
			}
		}
	}
	return older, younger, err
}

// rebuild does what an operator does that writes the pod template as it wants it, and leaves
// the annotations of the workload alone.
func (s *scene) rebuild(w workload) {
	s.Helper()
	s.patchAs("rebuilder", w, fmt.Sprintf(`{"metadata":{"labels":{"rebuilt":"%d"}},"spec":{"template":{"metadata":{"annotations":{%q:null,%q:null}}}}}`,
		time.Now().Unix(), timestampAnnotation, causeAnnotation))
}

// awaitRevertEvent waits for the Event about the revert of a restart, which says by whom.
func (s *scene) awaitRevertEvent(w workload, by string, restart state) {
	s.Helper()
	at := restart.restartTime(s).UTC().Format(time.RFC3339)
	event := s.awaitEvent(w, "RestartReverted", fmt.Sprintf("the restart of %s was reverted: ", at))
	requireContains(s.T, event.Message, by)
	if !strings.Contains(event.Message, "set the annotation "+enabledAnnotation+" to disabled") || event.Type != "Warning" {
		s.Errorf("the event is %s: %s", event.Type, event.Message)
	}
}

// requireAllSince waits until the rollout of a workload is complete and all is settled, and
// fails the test unless all pods started after the edit, and nothing was restarted meanwhile.
func (s *scene) requireAllSince(w halfway, edited time.Time, last state) {
	s.Helper()
	s.patch(w.workload, w.goOn)
	s.awaitRollout(w.workload)
	s.settle()
	if st := s.now(w.workload); st.restartedAt() != last.restartedAt() {
		s.Errorf("restarted once more, at %s", st.restartedAt())
	}
	s.eventually("all pods have the edit", func(ctx context.Context) error {
		older, _, err := s.podsSince(ctx, w.workload, edited)
		if err == nil && older > 0 {
			err = fmt.Errorf("%d pods are older", older)
		}
		return err
	})
}

// The record stays, and would still be trusted for pods that the revert leaves alone.
func TestARestartThatIsRevertedHalfwayIsMadeAgain(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"Deployment", "StatefulSet"} {
		t.Run(kind, func(t *testing.T) {
			s := newSceneApart(t)
			leader, standby := s.startReplicas(longLease)
			app := s.runHalfway(kind)
			s.letTimePass()
			edited := time.Now()
			s.edit(settings, set("used", "v2"))
			first := s.awaitHalfway(app, edited)

			s.rebuild(app.workload) // before the eyes of the leader
			second := s.awaitHalfway(app, edited, first.restartedAt())
			s.awaitRevertEvent(app.workload, "rebuilder", first)
			s.awaitMetric("restarts_reverted_total", map[string]string{"manager": "rebuilder"}, 1)

			s.must(leader.Kill())
			s.rebuild(app.workload) // while no process leads
			s.expireLease()
			s.controller = standby
			third := s.awaitTimestamp(app.workload, first.restartedAt(), second.restartedAt())
			s.awaitRevertEvent(app.workload, "rebuilder", second)
			s.requireAllSince(app, edited, third)
		})
	}
}

func TestARestartThatIsSetBackToAnEarlierOneIsMadeAgain(t *testing.T) {
	s := newSceneApart(t)
	s.startController()
	app := s.runHalfway("Deployment")
	s.patch(app.workload, app.goOn)
	s.edit(settings, set("used", "v2"))
	first := s.awaitTimestamp(app.workload)
	s.awaitRollout(app.workload)
	s.patch(app.workload, `{"spec":{"minReadySeconds":599}}`)
	s.letTimePass()
	edited := time.Now()
	s.edit(settings, set("used", "v3"))
	second := s.awaitHalfway(app, edited, first.restartedAt())

	s.patchAs("gitops", app.workload, fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{%q:%q}}}}}`,
		timestampAnnotation, first.restartedAt()))
	third := s.awaitHalfway(app, edited, first.restartedAt(), second.restartedAt())
	s.awaitRevertEvent(app.workload, "gitops", second)
	s.requireAllSince(app, edited, third)
}

// A revert after the rollout replaces all pods, which then read the present content.
func TestARevertThatLeavesNoOldPodIsOnlyRecorded(t *testing.T) {
	s := newSceneApart(t)
	s.startController()
	s.make(settings, set("used", "v1"))
	app := s.run("app", podOf(envFrom(settings)))
	before := s.started(app)
	s.edit(settings, set("used", "v2"))
	restarted := s.awaitRestart(app, before)
	s.letTimePass()
	s.rebuild(app)
	event := s.awaitEvent(app, "RestartReverted", `the last write by another client is that of "rebuilder"`)
	if !strings.Contains(event.Message, "No pod from before it") {
		t.Errorf("the event says %q", event.Message)
	}
	s.await("is recorded after the revert, which conflicts with the rollout may delay", app, func(st state) error {
		if st.Annotations[basisAnnotation] == restarted.Annotations[basisAnnotation] {
			return errors.New("it has the basis of the restart")
		}
		return nil
	})
	s.settle()
	if after := s.awaitRollout(app); after.restartedAt() != "" {
		t.Errorf("the timestamp is %q, want none", after.restartedAt())
	}
}

// Two that fight each other must not do it at full speed.
func TestARestartThatIsRevertedAgainAndAgainIsSpacedOut(t *testing.T) {
	newSceneApart(t).again((*scene).tryFight)
}

func (s *scene) tryFight() (held bool) {
	s.Helper()
	const limit = 8 * time.Second
	s.startController("--restart-backoff-limit=" + limit.String())
	s.make(settings, set("used", "v1"))
	app := s.run("app", podOf(envFrom(settings)))
	s.started(app)
	s.patch(app, `{"spec":{"paused":true}}`) // its pods stay what they are, however long the fight takes
	s.letTimePass()
	s.edit(settings, set("used", "v2"))
	last := s.awaitTimestamp(app)
	restarts := []time.Time{last.restartTime(s)}
	for len(restarts) < 6 {
		s.rebuild(app)
		last = s.awaitTimestamp(app, last.restartedAt())
		restarts = append(restarts, last.restartTime(s))
	}
	if !isRow(restarts, limit) {
		return false
	}
	s.requireSpacing(restarts, 0, 0, time.Second, 2*time.Second, 4*time.Second)
	s.awaitEvent(app, "RestartBackoff", "restart put off until ")
	return true
}

// kubectl brings back the annotations of the ReplicaSet, too; this process knew the record.
func TestAnUndoHalfwayIsReportedAndTheRestartMadeAgain(t *testing.T) {
	s := newSceneApart(t)
	s.startController()
	app := s.runHalfway("Deployment")
	s.letTimePass()
	edited := time.Now()
	s.edit(settings, set("used", "v2"))
	first := s.awaitHalfway(app, edited)
	s.undo(app.workload)
	second := s.awaitHalfway(app, edited, first.restartedAt())
	s.eventually("the undo is reported", func(ctx context.Context) error {
		events, err := s.eventsOf(ctx, app.workload, "RestartReverted")
		if err == nil && len(events) == 0 {
			err = errors.New("no event")
		}
		return err
	})
	s.requireAllSince(app, edited, second)
}
