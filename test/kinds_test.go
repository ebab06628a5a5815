package test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestAnEditReplacesAllPodsOnce(t *testing.T) {
	t.Parallel()
	pod := podOf(envFrom(settings))
	for kind, run := range map[string]func(*scene) workload{
		"of a Deployment": func(s *scene) workload {
			return s.run("app", pod, func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(3)) })
		},
		"of a StatefulSet": func(s *scene) workload {
			return s.runStateful("app", pod, func(st *appsv1.StatefulSet) { st.Spec.Replicas = new(int32(3)) })
		},
		"of a DaemonSet": func(s *scene) workload { return s.runDaemons("app", pod) }, // one on each of three nodes
	} {
		t.Run(kind, func(t *testing.T) {
			s := newScene(t)
			s.make(settings, set("used", "v1"))
			app := run(s)
			before := s.started(app)
			old := s.awaitPods(app, 3, nil)

			s.edit(settings, set("used", "v2"))
			s.awaitRestart(app, before)
			s.awaitPods(app, 3, old)
			s.settle()
			s.requireRestarts(app, before, 1)
		})
	}
}

// awaitPods waits until a workload has this many pods, all running and none of
// them among the excluded.
func (s *scene) awaitPods(w workload, want int, excluded map[types.UID]bool) map[types.UID]bool {
	s.Helper()
	var found map[types.UID]bool
	s.eventually("the pods of "+w.name, func(ctx context.Context) error {
		pods, err := s.podsOf(ctx, w)
		if err != nil {
			return err
		}
		found = map[types.UID]bool{}
		for _, pod := range pods {
			if pod.Status.Phase != corev1.PodRunning || excluded[pod.UID] {
				return fmt.Errorf("pod %s is %s or an old one", pod.Name, pod.Status.Phase)
			}
			found[pod.UID] = true
		}
		if len(found) != want {
			return fmt.Errorf("there are %d pods, want %d", len(found), want)
		}
		return nil
	})
	return found
}

func TestTheKindsOfOneNameAreDifferentWorkloads(t *testing.T) {
	s := newScene(t)
	s.make(settings, set("used", "v1"))
	s.make(credentials, set("used", "v1"))
	// Their selectors overlap; the owners of the pods and revisions tell them apart.
	app := s.run("app", podOf(envFrom(settings)))
	before := s.started(app)
	twin := s.runStateful("app", podOf(envFrom(credentials)))
	twinBefore := s.started(twin)

	s.edit(credentials, set("used", "v2"))
	s.awaitRestart(twin, twinBefore)
	s.settle()
	s.requireRestarts(app, before, 0)
	s.requireRestarts(twin, twinBefore, 1)
}

func TestWhereAPatchRestartsNothingByItselfTheEventSaysWhatIsLeftToDo(t *testing.T) {
	t.Parallel()
	pod := podOf(envFrom(settings))
	for _, c := range []struct {
		name string
		run  func(*scene) workload
		// hold, if any, is applied once the workload runs.
		hold string
		says string
	}{
		{
			name: "a paused Deployment",
			run:  func(s *scene) workload { return s.run("app", pod) },
			hold: `{"spec":{"paused":true}}`,
			says: "restarting: configmap settings changed (keys: used). The deployment is paused: ",
		},
		{
			name: "a StatefulSet OnDelete",
			run: func(s *scene) workload {
				return s.runStateful("app", pod, func(st *appsv1.StatefulSet) {
					st.Spec.UpdateStrategy.Type = appsv1.OnDeleteStatefulSetStrategyType
				})
			},
			says: "restarting: configmap settings changed (keys: used). The update strategy ",
		},
		{
			name: "a DaemonSet OnDelete",
			run: func(s *scene) workload {
				return s.runDaemons("app", pod, func(d *appsv1.DaemonSet) {
					d.Spec.UpdateStrategy.Type = appsv1.OnDeleteDaemonSetStrategyType
				})
			},
			says: "restarting: configmap settings changed (keys: used). The update strategy ",
		},
		{
			name: "a StatefulSet with a partition",
			run: func(s *scene) workload {
				return s.runStateful("app", pod, func(st *appsv1.StatefulSet) {
					st.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{Partition: new(int32(2))}
				})
			},
			says: "restarting: configmap settings changed (keys: used). The statefulset has a partition: ",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene(t)
			s.make(settings, set("used", "v1"))
			app := c.run(s)
			before := s.started(app)
			if c.hold != "" {
				s.patch(app, c.hold)
				before = s.now(app)
			}
			pods := s.awaitPods(app, len(s.runningPods(app)), nil)

			s.edit(settings, set("used", "v2"))
			s.awaitEvent(app, "Restarting", c.says)
			s.settle()
			after := s.requireRestarts(app, before, 1)
			s.requireNewRecord(before, after, settings)
			s.requireSamePods(app, pods)
		})
	}
}

func (s *scene) runningPods(w workload) []corev1.Pod {
	s.Helper()
	pods, err := s.podsOf(s.Context(), w)
	s.must(err)
	return pods
}

func (s *scene) requireSamePods(w workload, want map[types.UID]bool) {
	s.Helper()
	pods := s.runningPods(w)
	if len(pods) != len(want) {
		s.Fatalf("%s has %d pods, had %d", w.name, len(pods), len(want))
	}
	for _, pod := range pods {
		if !want[pod.UID] {
			s.Fatalf("pod %s of %s is new", pod.Name, w.name)
		}
	}
}

// requireNewRecord fails the test unless the record of a config has changed.
func (s *scene) requireNewRecord(before, after state, c config) {
	s.Helper()
	was, err := before.checksums()
	s.must(err)
	is, err := after.checksums()
	s.must(err)
	if key := c.key(s.namespace); is[key] == "" || is[key] == was[key] {
		s.Fatalf("the recorded checksum of %s is %q, was %q", key, is[key], was[key])
	}
}

func TestAPausedDeploymentThatIsResumedRollsOutOnce(t *testing.T) {
	s := newScene(t)
	s.make(settings, set("used", "v1"))
	app := s.run("app", podOf(envFrom(settings)))
	s.started(app)
	s.patch(app, `{"spec":{"paused":true}}`)
	paused := s.now(app)
	s.edit(settings, set("used", "v2"))
	s.settle()
	s.requireRestarts(app, paused, 1)

	s.patch(app, `{"spec":{"paused":false}}`)
	resumed := s.awaitRollout(app)
	s.settle()
	s.requireRestarts(app, resumed, 0)
	s.requireRevisions(app, 2)
}

// awaitStatus waits until the controller of a workload without pods has written its status.
func (s *scene) awaitStatus(w workload) {
	s.Helper()
	if w.kind != "DaemonSet" {
		s.awaitRollout(w)
		return
	}
	s.eventually("the DaemonSet is observed", func(ctx context.Context) error {
		object, err := s.client.AppsV1().DaemonSets(s.namespace).Get(ctx, w.name, metav1.GetOptions{})
		if err == nil && object.Status.ObservedGeneration < object.Generation {
			err = errors.New("it is not")
		}
		return err
	})
}

func TestAWorkloadThatWantsNoPodsIsOnlyRecorded(t *testing.T) {
	t.Parallel()
	pod := podOf(envFrom(settings))
	for kind, run := range map[string]func(*scene) workload{
		"a Deployment": func(s *scene) workload {
			return s.run("app", pod, func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(0)) })
		},
		"a StatefulSet": func(s *scene) workload {
			return s.runStateful("app", pod, func(st *appsv1.StatefulSet) { st.Spec.Replicas = new(int32(0)) })
		},
		"a DaemonSet": func(s *scene) workload {
			return s.runDaemons("app", pod, func(d *appsv1.DaemonSet) {
				d.Spec.Template.Spec.NodeSelector = map[string]string{"no": "node"}
			})
		},
	} {
		t.Run(kind, func(t *testing.T) {
			s := newScene(t)
			s.make(settings, set("used", "v1"))
			app := run(s)
			s.awaitStatus(app) // a status says that a DaemonSet wants no pods
			before := s.awaitRecorded(app)
			s.edit(settings, set("used", "v2"))
			s.settle()
			after := s.requireWrites(app, before, 0, 1)
			s.requireNewRecord(before, after, settings)
		})
	}
}
