package test

import (
	"context"
	"fmt"
	"testing"
	"time"

	registrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A webhook of one namespace lets the patches of its workloads hang, all of which read one
// config. The workload of another namespace is restarted before the first of these requests
// has ended.
func TestRestartsThatHangDoNotDelayOtherNamespaces(t *testing.T) {
	s := newSceneApart(t)
	other := enter(t, &place{cluster: s.cluster, installation: s.installation})
	s.startController("--namespace", other.namespace)
	s.make(settings, set("used", "v1"))
	other.make(settings, set("used", "v1"))
	var members []workload
	for i := range 20 {
		members = append(members, s.run(fmt.Sprint("hanging-", i), podOf(envFrom(settings))))
	}
	healthy := other.run("healthy", podOf(envFrom(settings)))
	before := map[workload]state{}
	for _, w := range members {
		before[w] = s.started(w)
	}
	healthyBefore := other.started(healthy)
	hook := s.hang(registrationv1.Update, "deployments")
	s.awaitInForce(hook, func(ctx context.Context) error {
		_, err := s.client.AppsV1().Deployments(s.namespace).Patch(ctx, members[0].name, types.MergePatchType,
			[]byte(`{"metadata":{"annotations":{"try":"it"}}}`), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	})

	s.edit(settings, set("used", "v2"))
	s.awaitHanging(hook, 8) // all workers
	begun := time.Now()
	other.edit(settings, set("used", "v2"))
	other.awaitRestart(healthy, healthyBefore)
	t.Logf("restarted and rolled out %s after the edit", time.Since(begun).Round(time.Millisecond))
	s.requireNoneEnded(hook)
	if slow := s.metric("slow_requests", nil); slow < 1 || slow > 8 {
		t.Errorf("%v requests are slow, want as many as there are workers at most", slow)
	}

	hook.release()
	for _, w := range members {
		s.awaitRestart(w, before[w])
	}
}
