package test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What is recorded can come back before the restart that another content called for is made.
// Pods that started in between have read the other content.

// reschedule deletes a pod of a workload and waits until another one runs in its place.
func (s *scene) reschedule(w workload) {
	s.Helper()
	before := s.runningPods(w)
	pods, gone := s.client.CoreV1().Pods(s.namespace), before[0]
	s.must(pods.Delete(s.Context(), gone.Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}))
	s.eventually("another pod of "+w.name+" runs", func(ctx context.Context) error {
		now, err := s.podsOf(ctx, w)
		running := 0
		for _, pod := range now {
			if pod.UID != gone.UID && isStarted(&pod) {
				running++
			}
		}
		if err == nil && running != len(before) {
			err = fmt.Errorf("%d run, want %d", running, len(before))
		}
		return err
	})
}

func isStarted(pod *corev1.Pod) bool {
	for _, status := range pod.Status.ContainerStatuses {
		if status.State.Running == nil {
			return false
		}
	}
	return len(pod.Status.ContainerStatuses) > 0
}

func TestPodsThatReadAContentThatWasTakenBackWithinTheGracePeriodRestart(t *testing.T) {
	s := newSceneApart(t)
	s.startController()
	s.make(settings, set("used", "v1"), set("unused", "v1"))
	inVolume := podOf(mount("config"))
	inVolume.Volumes = []corev1.Volume{volumeOf("config", settings)}
	pod := podOf(envKey(settings, "used"))
	caught := []workload{s.run("app", pod), s.runStateful("stateful", inVolume), s.runDaemons("daemons", pod)}
	spared := []workload{s.run("older", pod), s.run("younger", pod), s.run("blind", podOf(envKey(settings, "unused")))}
	before := map[workload]state{}
	for _, w := range append(caught, spared...) {
		s.started(w)
		s.stretchGrace(w)
		before[w] = s.now(w)
	}
	s.letTimePass()

	s.edit(settings, set("used", "v2"))
	for _, w := range append(caught, spared[2]) {
		s.reschedule(w)
	}
	s.edit(settings, set("used", "v1"))
	s.letTimePass()
	s.reschedule(spared[1])
	s.endGrace(append(caught, spared...)...)
	for _, w := range caught {
		s.awaitRestart(w, before[w])
		s.awaitRestartEvent(w, "restarting: configmap settings changed (keys: used)")
	}
	s.settle()
	for _, w := range caught {
		s.requireWrites(w, before[w], 1, 1)
	}
	for _, w := range spared {
		s.requireWrites(w, before[w], 0, 1)
	}
}

// The budget holds a restart back for long. The leader that marked the record is killed, so that
// the mark is all that its successor can know it by.
func TestAContentThatIsTakenBackWhileARestartIsPutOffIsNotForgottenWithTheLeader(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		lead    func(*scene) (kill func() error)
		succeed func(*scene)
	}{
		"a standby takes over": {
			func(s *scene) func() error {
				leader, standby := s.startReplicas(longLease)
				return func() error { defer func() { s.controller = standby }(); return leader.Kill() }
			},
			func(s *scene) { s.expireLease(); s.awaitMetric("leader", nil, 1) },
		},
		"another process starts": {
			func(s *scene) func() error { return s.startController().Kill },
			func(s *scene) { s.startController() },
		},
	} {
		t.Run(name, func(t *testing.T) {
			newSceneApart(t).again(func(s *scene) bool { return s.tryTakeBack(test.lead(s), test.succeed) })
		})
	}
}

func (s *scene) tryTakeBack(kill func() error, succeed func(*scene)) (held bool) {
	s.Helper()
	s.make(settings, set("used", "v0"))
	caught, spared := s.run("app", podOf(envFrom(settings))), s.run("older", podOf(envFrom(settings)))
	recorded := s.exhaust(settings, caught, spared)
	before, beforeSpared := s.now(caught), s.now(spared)
	s.letTimePass()

	edited := time.Now()
	s.edit(settings, set("used", "other"))
	next := beforeSpared.restartTime(s).Add(longWait)
	if first := before.restartTime(s).Add(longWait); first.Before(next) {
		next = first
	}
	if !s.happensBefore(next, s.hasMark(caught, true)) || !s.happensBefore(next, s.hasMark(spared, true)) {
		return false
	}
	marked, markedSpared := s.now(caught), s.now(spared)
	s.reschedule(caught)
	s.must(kill())
	s.edit(settings, set("used", recorded))
	if !time.Now().Before(next) {
		return false
	}
	s.requireMark(marked, before, edited)
	succeed(s)

	after := s.awaitRestart(caught, before)
	s.requireSpacing([]time.Time{before.restartTime(s), after.restartTime(s)}, longWait)
	s.awaitMark(caught, false)
	s.awaitMark(spared, false)
	s.settle()
	s.requireWrites(caught, before, 1, 1)
	s.requireWrites(spared, markedSpared, 0, 1)
	return true
}

// longWait is for how long a workload has to wait that [scene.exhaust] has left.
const longWait = 40 * time.Second

// exhaust restarts workloads until the next restart has to wait for longWait. It returns the
// last content of the key "used".
func (s *scene) exhaust(c config, all ...workload) string {
	s.Helper()
	last := map[workload]state{}
	for _, w := range all {
		last[w] = s.started(w)
	}
	const restarts = 5
	for i := range restarts {
		s.edit(c, set("used", "v"+strconv.Itoa(i+1)))
		for _, w := range all {
			last[w] = s.awaitRestart(w, last[w])
		}
	}
	for _, w := range all {
		s.annotate(w, graceAnnotation, (longWait / 4).String()) // doubled after the fourth and fifth restart
	}
	return "v" + strconv.Itoa(restarts)
}

// awaitMark waits until the record of a workload is marked as contradicted, or is not any more.
func (s *scene) awaitMark(w workload, want bool) state {
	s.Helper()
	s.eventually(w.name+" has the mark that it should have", s.hasMark(w, want))
	return s.now(w)
}

// hasMark is the condition that the record of a workload is marked as contradicted, or is not.
func (s *scene) hasMark(w workload, want bool) func(context.Context) error {
	return func(ctx context.Context) error {
		st, err := s.look(ctx, w)
		if err != nil {
			return err
		}
		if _, isMarked := s.basisOf(st)["contradicted"]; isMarked != want {
			err = errors.New("the basis is " + st.Annotations[basisAnnotation])
		}
		return err
	}
}

// requireMark fails the test unless the mark says since when the record is contradicted, and
// everything else is unchanged.
func (s *scene) requireMark(marked, before state, edited time.Time) {
	s.Helper()
	is, was := s.basisOf(marked), s.basisOf(before)
	since, err := time.Parse(time.RFC3339Nano, fmt.Sprint(is["contradicted"]))
	s.must(err)
	if since.Before(edited.Add(-time.Second)) || since.After(edited.Add(longWait)) {
		s.Errorf("contradicted since %s, the edit was made at %s", since, edited)
	}
	delete(is, "contradicted")
	if fmt.Sprint(is) != fmt.Sprint(was) || marked.Annotations[checksumsAnnotation] != before.Annotations[checksumsAnnotation] {
		s.Errorf("the basis is %v, was %v; the checksums are %s, were %s", is, was,
			marked.Annotations[checksumsAnnotation], before.Annotations[checksumsAnnotation])
	}
	if marked.restartedAt() != before.restartedAt() {
		s.Errorf("restarted at %s", marked.restartedAt())
	}
}
