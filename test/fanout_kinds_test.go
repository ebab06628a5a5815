package test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/test/harness"
)

// canaryKinds run a reader of the settings that restarts before all others.
var canaryKinds = map[string]func(*scene) workload{
	"StatefulSet": func(s *scene) workload {
		return s.runStateful("canary", podOf(envFrom(settings)), func(st *appsv1.StatefulSet) { st.Annotations[waveAnnotation] = "-1" })
	},
	"DaemonSet": func(s *scene) workload {
		return s.runDaemons("canary", podOf(envFrom(settings)), func(d *appsv1.DaemonSet) { d.Annotations[waveAnnotation] = "-1" })
	},
}

func TestACanaryOfAnyKindThatBreaksHaltsTheDeploymentsBehindIt(t *testing.T) {
	t.Parallel()
	for kind, run := range canaryKinds {
		t.Run(kind, func(t *testing.T) {
			s := newSceneApart(t)
			s.startController("--fan-out=gradual", "--restart-soak=1s")
			s.leadTheWaves()
			s.make(settings, set("used", "v1"))
			canary := run(s)
			r := s.readersOf(canary, s.run("app-0", podOf(envFrom(settings))), s.run("app-1", podOf(envFrom(settings))), s.run("app-2", podOf(envFrom(settings))))
			heal := s.crashRestartedPodsUntil()
			s.edit(settings, set("used", "bad"))
			s.awaitMetric("restarts_failed_total", map[string]string{"kind": kind}, 1)
			s.awaitEventOn(settings, "RestartsHalted", "^halted after "+strings.ToLower(kind)+"/canary failed: 3 held; ")
			s.awaitMetric("held_workloads", map[string]string{"reason": "halt"}, 3)
			s.settle()
			r.requireRestarted(canary)

			r.note()
			heal()
			s.edit(settings, set("used", "v1"))
			r.awaitRestarted(1)
			s.replaceBrokenPods(canary)
			s.awaitRollout(canary)
			s.awaitMetric("held_workloads", nil, 0)
			s.settle()
			r.requireRestarted(canary)
		})
	}
}

// replaceBrokenPods deletes the pods of a workload that are not ready, as a person has to do for a
// StatefulSet.
func (s *scene) replaceBrokenPods(w workload) {
	s.Helper()
	if w.kind != "StatefulSet" {
		return
	}
	s.eventually(fmt.Sprintf("the broken pods of %s are deleted", w.name), func(ctx context.Context) error {
		pods, err := s.podsOf(ctx, w)
		if err != nil {
			return err
		}
		for i := range pods {
			if harness.IsReady(&pods[i]) {
				continue
			}
			if err := s.client.CoreV1().Pods(s.namespace).Delete(ctx, pods[i].Name, metav1.DeleteOptions{}); err != nil {
				return err
			}
		}
		return nil
	})
}
