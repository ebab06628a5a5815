package test

import (
	"context"
	"errors"
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
	newSceneApart(t).again((*scene).tryRestartWhileOthersHang)
}

func (s *scene) tryRestartWhileOthersHang() (held bool) {
	s.Helper()
	other := enter(s.T, &place{cluster: s.cluster, installation: s.installation})
	controller := s.startController("--namespace", other.namespace)
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
	defer hook.release()
	s.awaitInForce(hook, func(ctx context.Context) error {
		_, err := s.client.AppsV1().Deployments(s.namespace).Patch(ctx, members[0].name, types.MergePatchType,
			[]byte(`{"metadata":{"annotations":{"try":"it"}}}`), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	})

	s.edit(settings, set("used", "v2"))
	s.awaitHanging(hook, 8) // all workers
	begun := time.Now()
	other.edit(settings, set("used", "v2"))
	var slow float64
	held = s.whileHanging(hook, "it is restarted", func(ctx context.Context) error {
		st, err := other.look(ctx, healthy)
		if err == nil && st.restartedAt() == healthyBefore.restartedAt() {
			err = errors.New("it is not")
		}
		if err == nil {
			slow, err = controller.Metric(ctx, "slow_requests", nil)
		}
		return err
	})
	if !held {
		return false
	}
	s.Logf("restarted %s after the edit", time.Since(begun).Round(time.Millisecond))
	if slow < 1 || slow > 8 {
		s.Errorf("%v requests are slow, want as many as there are workers at most", slow)
	}
	other.awaitRestart(healthy, healthyBefore)

	hook.release()
	for _, w := range members {
		s.awaitRestart(w, before[w])
	}
	return true
}
