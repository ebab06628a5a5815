package test

import (
	"context"
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/test/harness"
)

// How many restarts are under way at the same time.

const fanOutAnnotation = "com.xing.deployment-restart.fan-out"

// setQuota limits a resource in the namespace, and returns when that is in force.
func (s *scene) setQuota(most string, of corev1.ResourceName) {
	s.Helper()
	quotas := s.client.CoreV1().ResourceQuotas(s.namespace)
	_, err := quotas.Create(s.Context(), &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "most"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{of: resource.MustParse(most)}},
	}, metav1.CreateOptions{})
	s.must(err)
	s.eventually("the quota is in force", func(ctx context.Context) error {
		quota, err := quotas.Get(ctx, "most", metav1.GetOptions{})
		if err == nil && len(quota.Status.Hard) == 0 {
			err = fmt.Errorf("its status is %v", quota.Status)
		}
		return err
	})
}

// His config is not gradual, so that all his restarts are due at once and none of them ends.
func TestATenantWhosePodsNeverRunDoesNotKeepAnotherFromRestarting(t *testing.T) {
	s := newSceneApart(t)
	his := enter(t, &place{cluster: s.cluster, installation: s.installation})
	s.startController("--namespace", his.namespace, "--fan-out=gradual", "--restart-soak=1s", "--fan-out-limit=4")
	his.controller = s.controller
	his.make(settings, set("used", "v1"))
	his.annotateConfig(settings, fanOutAnnotation, "all-at-once")
	var all []workload
	for i := range 30 {
		all = append(all, his.run(fmt.Sprintf("stuck-%02d", i), podOf(envFrom(settings))))
	}
	s.make(settings, set("used", "v1"))
	r := s.readersOf(s.run("a", podOf(envFrom(settings))), s.run("b", podOf(envFrom(settings))), s.run("c", podOf(envFrom(settings))))
	stuck := his.readersOf(all...)
	his.setQuota("0", corev1.ResourcePods)

	his.edit(settings, set("used", "v2"))
	stuck.awaitRestarted(3) // one of the four places stays free for others
	s.awaitMetric("held_workloads", map[string]string{"reason": "limit"}, 27)
	s.edit(settings, set("used", "v2"))
	r.awaitRestarted(3)
	s.awaitMetric("restarts_delivered_total", nil, 3)
	stuck.awaitRestarted(3)
}

func TestANewLeaderKeepsToTheLimitWithTheRestartsOfTheFormerOne(t *testing.T) {
	s := newSceneApart(t)
	his := enter(t, &place{cluster: s.cluster, installation: s.installation})
	flags := []string{"--namespace", his.namespace, "--fan-out=gradual", "--restart-soak=1s", "--fan-out-limit=4"}
	s.startController(flags...)
	his.controller = s.controller
	his.make(settings, set("used", "v1"))
	his.annotateConfig(settings, fanOutAnnotation, "all-at-once")
	stuck := his.runApps(8)
	his.setQuota("0", corev1.ResourcePods)
	his.edit(settings, set("used", "v2"))
	restarted := stuck.awaitRestarted(3)
	s.must(s.controller.Kill())
	s.startController(flags...)
	s.awaitMetric("held_workloads", map[string]string{"reason": "limit"}, 5)
	s.settle()
	stuck.requireRestarted(restarted...)
}

func TestNobodyWaitsForOthersUnlessFanOutsAreGradual(t *testing.T) {
	s := newSceneApart(t)
	s.startController("--restart-soak=1s")
	s.make(settings, set("used", "v1"))
	r := s.runApps(20)
	s.crashRestartedPods()
	s.edit(settings, set("used", "bad"))
	r.awaitRestarted(20)
	s.awaitMetric("restarts_failed_total", nil, 20)
	s.awaitMetric("held_workloads", nil, 0)
	s.awaitMetric("halts_total", nil, 0)
}

func TestAFanOutToManyReadersKeepsToTheLimitAndReachesAll(t *testing.T) {
	const count, limit = 200, 20
	s := newSceneApart(t)
	s.startController("--fan-out=gradual", "--restart-soak=0s", fmt.Sprintf("--fan-out-limit=%d", limit))
	s.make(settings, set("used", "v1"))
	for i := range count {
		s.run(fmt.Sprintf("app-%03d", i), podOf(envFrom(settings)))
	}
	s.eventuallyOfAll(count, "run", func(d *appsv1.Deployment) bool {
		return deploymentRollout(d) == nil && d.Annotations[checksumsAnnotation] != ""
	})
	s.letTimePass()
	s.edit(settings, set("used", "v2"))
	most := 0
	s.eventuallyOfAll(count, "have restarted", func(d *appsv1.Deployment) bool {
		return d.Spec.Template.Annotations[timestampAnnotation] != ""
	}, func(all []appsv1.Deployment) {
		rolling := 0
		for i := range all {
			if all[i].Spec.Template.Annotations[timestampAnnotation] != "" && deploymentRollout(&all[i]) != nil {
				rolling++
			}
		}
		most = max(most, rolling)
	})
	t.Logf("at most %d rolled at the same time", most)
	if most < 2 || most > limit/2+1 { // a namespace leaves as many places free as it holds, but for one
		t.Errorf("%d restarts were rolling at the same time", most)
	}
	s.awaitMetric("restarts_delivered_total", nil, count)
	s.awaitEventOn(settings, "FanOut", fmt.Sprintf(`^finished: %d delivered in \S+$`, count))
	s.awaitMetric("held_workloads", nil, 0)
	s.awaitMetric("undelivered_restarts", nil, 0)
}

// eventuallyOfAll waits until so many Deployments meet a condition, and shows each listing to the
// observers.
func (s *scene) eventuallyOfAll(count int, what string, condition func(*appsv1.Deployment) bool, observers ...func([]appsv1.Deployment)) {
	s.Helper()
	s.must(harness.Eventually(s.Context(), 5*waitLimit, func(ctx context.Context) error {
		list, err := s.client.AppsV1().Deployments(s.namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, observe := range observers {
			observe(list.Items)
		}
		met := 0
		for i := range list.Items {
			if d := &list.Items[i]; d.Name != markerName && condition(d) {
				met++
			}
		}
		if met != count {
			return fmt.Errorf("%d of %d Deployments %s", met, count, what)
		}
		return nil
	}))
}
