package test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/test/harness"
)

// await returns the first state of a workload in which the condition holds.
func (s *scene) await(what string, w workload, condition func(state) error) state {
	s.Helper()
	var found state
	s.eventually(fmt.Sprintf("%s %s %s", w.kind, w.name, what), func(ctx context.Context) (err error) {
		if found, err = s.look(ctx, w); err != nil {
			return err
		}
		return condition(found)
	})
	var err error
	found.revisions, err = s.revisions(s.Context(), w)
	s.must(err)
	return found
}

// awaitRollout waits until all pods of a workload are of its present template.
func (s *scene) awaitRollout(w workload) state {
	s.Helper()
	return s.await("is rolled out", w, func(st state) error { return st.rollout })
}

// awaitRecorded waits until a workload has its first record, and must not have
// been restarted for it.
func (s *scene) awaitRecorded(w workload) state {
	s.Helper()
	return s.await("is recorded", w, func(st state) error {
		_, err := st.checksums()
		return err
	})
}

// running waits until a workload is rolled out and recorded. What a test compares
// with later is this state.
func (s *scene) running(w workload) state {
	s.Helper()
	s.awaitRollout(w)
	return s.awaitRecorded(w)
}

// started is running of a new workload, which must not have been restarted.
func (s *scene) started(w workload) state {
	s.Helper()
	st := s.running(w)
	if st.restartedAt() != "" {
		s.Fatalf("%s %s was restarted at %s though nothing was edited", w.kind, w.name, st.restartedAt())
	}
	return st
}

// awaitRestart waits until a workload has been restarted and rolled out since an
// earlier state.
func (s *scene) awaitRestart(w workload, since state) state {
	s.Helper()
	s.await("is restarted", w, func(st state) error {
		if st.restartedAt() == since.restartedAt() {
			return errors.New("the restart timestamp of the pod template has not changed")
		}
		return nil
	})
	return s.awaitRollout(w)
}

// requireRestarts fails the test unless a workload has been restarted this often
// since an earlier state, and nothing else has been written to it. Whatever is to
// be excluded must have had its chance: see [scene.settle].
func (s *scene) requireRestarts(w workload, since state, restarts int) state {
	s.Helper()
	return s.requireWrites(w, since, restarts, 0)
}

// requireWrites is requireRestarts of a workload whose annotations have also been
// written without a restart, by the controller or by the test. The API server
// counts such writes in the generation of a Deployment, but not of other kinds.
func (s *scene) requireWrites(w workload, since state, restarts, others int) state {
	s.Helper()
	st := s.now(w)
	writes := restarts
	if w.kind == "Deployment" {
		writes += others
	}
	if got := int(st.Generation - since.Generation); got != writes {
		s.Fatalf("%s %s: metadata.generation went from %d to %d, want %d writes (%d restarts)",
			w.kind, w.name, since.Generation, st.Generation, writes, restarts)
	}
	if restarted := st.restartedAt() != since.restartedAt(); restarted != (restarts > 0) {
		s.Fatalf("%s %s: restart timestamp is %q, was %q, want %d restarts",
			w.kind, w.name, st.restartedAt(), since.restartedAt(), restarts)
	}
	if got := st.revisions - since.revisions; got != restarts && !st.paused() {
		s.Fatalf("%s %s: there are %d ReplicaSets or ControllerRevisions, were %d, want %d restarts",
			w.kind, w.name, st.revisions, since.revisions, restarts)
	}
	return st
}

const markerName = "marker"

// placeMarker makes the workload whose restarts show how far the controller has come.
func (s *scene) placeMarker() {
	s.Helper()
	s.make(configMap(markerName), set("round", "0"))
	s.make(secret(markerName), set("round", "0"))
	s.run(markerName, podOf(envFrom(configMap(markerName)), envFrom(secret(markerName))))
}

// settle returns when the controller has dealt with all edits made before the
// call. It edits a ConfigMap and a Secret, so that the edit comes last in both
// watches and is due last, and waits for the restart that this causes and for the
// rollout, which takes longer than the patches that were decided on before.
//
// A workload may have a change of its own pending, which takes the edit along
// before it is due. Such a restart shows nothing, and the marker is edited again
// when that change is gone.
func (s *scene) settle() {
	s.Helper()
	marker := deployment(markerName)
	last := s.running(marker)
	for {
		edited := time.Now()
		s.markerRound++
		s.edit(secret(markerName), set("round", strconv.Itoa(s.markerRound)))
		s.edit(configMap(markerName), set("round", strconv.Itoa(s.markerRound)))
		last = s.awaitRestart(marker, last)
		restarted := last.restartTime(s)
		if restarted.Sub(edited) >= s.grace {
			break
		}
		s.awaitTime(restarted.Add(s.grace + 200*time.Millisecond))
		last = s.now(marker) // it may have been restarted once more, for the second of the edits
	}
	if !s.shared {
		s.eventually("the controller is idle", s.controller.Idle)
	}
}

// awaitTime waits until a moment has passed.
func (s *scene) awaitTime(moment time.Time) {
	s.Helper()
	s.eventually("the time", func(context.Context) error {
		if time.Now().Before(moment) {
			return fmt.Errorf("it is not %s yet", moment)
		}
		return nil
	})
}

// happensBefore waits until a condition holds, and reports whether it did before a moment.
func (s *scene) happensBefore(moment time.Time, condition func(context.Context) error) bool {
	s.Helper()
	err := harness.Eventually(s.Context(), time.Until(moment), condition)
	if err != nil {
		s.Logf("before %s: %v", moment, err)
	}
	return err == nil
}

// podsOf lists the pods of a workload that are not on their way out.
func (s *scene) podsOf(ctx context.Context, w workload) ([]corev1.Pod, error) {
	list, err := s.client.CoreV1().Pods(s.namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=" + w.name})
	if err != nil {
		return nil, err
	}
	var pods []corev1.Pod
	for _, pod := range list.Items {
		if pod.DeletionTimestamp == nil {
			pods = append(pods, pod)
		}
	}
	return pods, nil
}

// clearOfDoubt is more than the second to which the API cuts its times and the
// second by which clocks may differ.
const clearOfDoubt = 2500 * time.Millisecond

// letTimePass waits until everything that has happened is clearly in the past for
// somebody who knows it only by the API's times, which are whole seconds.
func (s *scene) letTimePass() {
	s.Helper()
	s.awaitTime(time.Now().Add(clearOfDoubt))
}
