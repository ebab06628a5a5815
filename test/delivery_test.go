package test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/test/harness"
)

// What became of a restart: the controller follows it until all pods run, or until they do not.

// kindsOfThree run three pods of each kind of workload, which roll one at a time.
var kindsOfThree = map[string]func(*scene, corev1.PodSpec) workload{
	"Deployment": func(s *scene, pod corev1.PodSpec) workload {
		return s.run("app", pod, func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(3)) })
	},
	"StatefulSet": func(s *scene, pod corev1.PodSpec) workload {
		return s.runStateful("app", pod, func(st *appsv1.StatefulSet) { st.Spec.Replicas = new(int32(3)) })
	},
	"DaemonSet": func(s *scene, pod corev1.PodSpec) workload { return s.runDaemons("app", pod) },
}

// runWhole starts a controller and a workload that reads the settings, and waits until all its pods
// run.
func (s *scene) runWhole(run func(*scene, corev1.PodSpec) workload, soak string) (workload, state) {
	s.Helper()
	s.startController("--restart-soak=" + soak)
	s.make(settings, set("used", "v1"))
	app := run(s, podOf(envFrom(settings)))
	before := s.started(app)
	s.awaitRollout(app)
	return app, before
}

func TestARestartIsDeliveredWhenAllItsPodsRun(t *testing.T) {
	t.Parallel()
	for kind, run := range kindsOfThree {
		t.Run(kind, func(t *testing.T) {
			s := newSceneApart(t)
			app, before := s.runWhole(run, "2s")
			s.edit(settings, set("used", "v2"))
			s.awaitRestart(app, before)
			s.awaitMetric("restarts_delivered_total", map[string]string{"kind": kind}, 1)
			if failed := s.metric("restarts_failed_total", map[string]string{"kind": kind}); failed != 0 {
				t.Errorf("%v restarts failed", failed)
			}
		})
	}
}

// isRestarted reports whether a pod has the annotation of a restart. The marker's do not count.
func isRestarted(pod *corev1.Pod) bool {
	return pod.Annotations[timestampAnnotation] != "" && !strings.HasPrefix(pod.Name, markerName)
}

func TestARestartThatBreaksThePodsIsReportedOnTheWorkloadAndOnTheConfig(t *testing.T) {
	t.Parallel()
	for kind, run := range kindsOfThree {
		t.Run(kind, func(t *testing.T) {
			s := newSceneApart(t)
			app, before := s.runWhole(run, "5m") // surely not over when the pods crash, which run before
			heal, err := harness.CrashPods(s.Context(), s.client, s.namespace, isRestarted)
			s.must(err)
			s.Cleanup(func() { s.must(heal()) })
			s.edit(settings, set("used", "v2"))
			s.awaitTimestamp(app, before.restartedAt())
			s.awaitMetric("restarts_failed_total", map[string]string{"kind": kind}, 1)
			event := s.awaitEvent(app, "RestartNotDelivered", "failed")
			if !regexp.MustCompile(`^failed \d+s after it restarted for configmap settings \(keys: used; written by .+\): container \S+ of pod \S+: CrashLoopBackOff; look with: kubectl \S+ .+(\. Unless its podManagementPolicy is Parallel, .+)?$`).MatchString(event.Message) {
				t.Errorf("the Event of the workload says %q", event.Message)
			}
			s.requireFailureOnConfig(settings, strings.ToLower(kind)+"/app failed ")
			s.settle()
			s.requireRestarts(app, before, 1)
			if delivered := s.metric("restarts_delivered_total", map[string]string{"kind": kind}); delivered != 0 {
				t.Errorf("%v restarts are delivered", delivered)
			}
		})
	}
}

// requireFailureOnConfig waits for the Event of a failed restart that kubectl describe shows for a
// config: it has the UID.
func (s *scene) requireFailureOnConfig(c config, begin string) {
	s.Helper()
	object, err := s.client.CoreV1().ConfigMaps(s.namespace).Get(s.Context(), c.name, metav1.GetOptions{})
	s.must(err)
	s.eventually("an Event of "+c.name, func(ctx context.Context) error {
		list, err := s.client.CoreV1().Events(s.namespace).List(ctx, metav1.ListOptions{FieldSelector: "reason=RestartNotDelivered,involvedObject.uid=" + string(object.UID)})
		if err != nil {
			return err
		}
		if len(list.Items) != 1 || !strings.HasPrefix(list.Items[0].Message, begin) {
			return fmt.Errorf("there are %v", list.Items)
		}
		return nil
	})
}

func TestALeaderThatTakesOverReportsARestartOfTheFormerOne(t *testing.T) {
	s := newSceneApart(t)
	app, before := s.runWhole(kindsOfThree["Deployment"], "2s")
	s.crashRestartedPods()
	s.edit(settings, set("used", "v2"))
	s.awaitTimestamp(app, before.restartedAt())
	s.must(s.controller.Stop())
	s.startController("--restart-soak=2s")
	s.awaitMetric("restarts_failed_total", map[string]string{"kind": "Deployment"}, 1)
	s.awaitEvent(app, "RestartNotDelivered", "failed")
}
