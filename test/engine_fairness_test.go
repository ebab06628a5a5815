package test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	registrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A webhook of one namespace lets the creation of each ReplicaSet hang. Nothing of that may
// be needed for the Deployment of another namespace: its ReplicaSet is there before the first
// of these requests has ended.
func TestDeploymentsWhoseReplicaSetsHangDoNotDelayOtherNamespaces(t *testing.T) {
	newEngineSceneApart(t).again((*scene).tryReplicaSetWhileOthersHang)
}

func (s *scene) tryReplicaSetWhileOthersHang() (held bool) {
	s.Helper()
	other := enter(s.T, &place{cluster: s.cluster, installation: s.installation})
	hook := s.hang(registrationv1.Create, "replicasets")
	defer hook.release()
	const count = 200
	for i := range count {
		s.deploy(fmt.Sprint("hanging-", i), 0)
	}
	engine := s.startEngine("--namespace", other.namespace)
	s.awaitHanging(hook, 10) // all workers

	begun := time.Now()
	healthy := other.deploy("healthy", 1)
	var slow float64
	held = s.whileHanging(hook, "it has its ReplicaSet", func(ctx context.Context) error {
		sets, err := other.replicaSets(ctx, healthy)
		if err == nil && len(sets) == 0 {
			err = errors.New("it has none")
		}
		if err == nil {
			slow, err = engine.Metric(ctx, "deployment_engine_slow_requests", nil)
		}
		return err
	})
	if !held {
		return false
	}
	s.Logf("the ReplicaSet was there after %s", time.Since(begun).Round(time.Millisecond))
	if slow < 1 || slow > 10 {
		s.Errorf("%v requests are slow, want as many as there are workers at most", slow)
	}
	other.awaitRollout(healthy)

	hook.release()
	s.eventually("the others have their ReplicaSets", func(ctx context.Context) error {
		list, err := s.client.AppsV1().ReplicaSets(s.namespace).List(ctx, metav1.ListOptions{})
		if err == nil && len(list.Items) < count {
			err = fmt.Errorf("%d have one", len(list.Items))
		}
		return err
	})
	return true
}
