package test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/test/harness"
)

// oneMoreCluster lets one test at a time have a cluster of its own: each cluster
// takes a good part of a small machine.
var oneMoreCluster sync.Mutex

// newSceneOfItsOwn opens a namespace in a cluster that only this test uses, and may
// break, started with further arguments of "localcluster up".
func newSceneOfItsOwn(t *testing.T, arguments ...string) *scene {
	t.Helper()
	return openSceneOfItsOwn(t, func() (*place, error) { return openPlace(arguments...) })
}

func openSceneOfItsOwn(t *testing.T, open func() (*place, error)) *scene {
	t.Helper()
	skipIfShort(t)
	t.Parallel()
	oneMoreCluster.Lock()
	t.Cleanup(oneMoreCluster.Unlock)
	p, err := open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.cluster.Stop(); err != nil {
			t.Error(err)
		}
	})
	return enter(t, p)
}

func TestAnOutageOfTheAPIServerLosesNoRestartAndEndsNoProcess(t *testing.T) {
	s := newSceneOfItsOwn(t)
	controller := s.startController()
	crowd := s.gather(15)
	crowd.note()

	edited := crowd.edit(12, "v2")
	s.eventually("the controller is in the middle of its work", func(ctx context.Context) error {
		restarts, err := controller.Metric(ctx, "deployment_restarts_total", nil)
		if err == nil && restarts == 0 {
			err = errors.New("nothing is restarted yet")
		}
		return err
	})
	s.must(s.cluster.KillComponent(t.Context(), harness.APIServer))
	s.requireBrokenWatchesAreReported(controller)
	s.must(s.cluster.StartComponent(t.Context(), harness.APIServer))

	s.eventually("the controller watches again", func(ctx context.Context) error {
		up, err := controller.Metric(ctx, "watch_up", nil)
		if err == nil && up < 5 {
			err = fmt.Errorf("%v of 5 watches are up", up)
		}
		return err
	})
	crowd.requireRestartsOf(edited)
	s.must(controller.Running())
}

// Servers without streaming lists answer with pages.
func TestAServerWithoutStreamingLists(t *testing.T) {
	s := newSceneOfItsOwn(t, "--kube-apiserver-flag=--feature-gates=WatchList=false")
	const many = 600 // more than a page
	for i := range many {
		s.make(configMap("filler-"+strconv.Itoa(i)), set("number", strconv.Itoa(i)))
	}
	crowd := s.gather(6)
	listed, err := s.client.CoreV1().ConfigMaps(s.namespace).List(t.Context(), metav1.ListOptions{})
	s.must(err)
	secrets, err := s.client.CoreV1().Secrets(s.namespace).List(t.Context(), metav1.ListOptions{})
	s.must(err)

	controller := s.startController()
	s.awaitMetric("configs_total", nil, float64(len(listed.Items)+len(secrets.Items)))
	crowd.note()
	s.must(controller.Stop())
	edited := crowd.edit(4, "v2")
	s.startController()
	crowd.requireRestartsOf(edited)
}

// What the API server of the version before does not have is done without. This one hides
// what is new in its own, and a field that came not long before.
func TestAnAPIServerOfTheVersionBefore(t *testing.T) {
	if os.Getenv(harness.ControlPlaneVariable) != "" {
		t.Skip("the whole run is about an older version")
	}
	s := openSceneOfItsOwn(t, func() (*place, error) {
		return openPlaceWithPermissions([]string{"rbac.yaml", "rbac-deployment-engine.yaml"},
			"--without-deployment-controller",
			"--kube-apiserver-flag=--emulated-version=1.36",
			"--kube-scheduler-flag=--emulated-version=1.36",
			"--kube-apiserver-flag=--feature-gates=DeploymentReplicaSetTerminatingReplicas=false")
	})
	s.startEngine()
	crowd := s.gather(6)
	crowd.note()
	crowd.requireRestartsOf(crowd.edit(4, "v2"))
	for _, w := range crowd.members {
		s.awaitRollout(w)
		d, err := s.client.AppsV1().Deployments(s.namespace).Get(t.Context(), w.name, metav1.GetOptions{})
		s.must(err)
		if d.Status.TerminatingReplicas != nil {
			t.Errorf("the API server keeps the terminating replicas of %s", w.name)
		}
	}
}

// requireBrokenWatchesAreReported waits until the controller reports that it cannot
// watch; that is no reason to be unhealthy.
func (s *scene) requireBrokenWatchesAreReported(controller *harness.Controller) {
	s.Helper()
	s.eventually("the metrics show the outage", func(ctx context.Context) error {
		up, err := controller.Metric(ctx, "watch_up", nil)
		if err == nil && up > 0 {
			err = fmt.Errorf("%v watches are up", up)
		}
		return err
	})
	since, err := controller.Metric(s.Context(), "watch_broken_since_timestamp_seconds", map[string]string{"resource": "secrets"})
	s.must(err)
	if since == 0 {
		s.Error("watch_broken_since_timestamp_seconds is 0 in an outage")
	}
	if status, body, err := controller.Get(s.Context(), "/healthz"); err != nil || status != http.StatusOK {
		s.Errorf("/healthz answers %d %s %v in an outage, which would get the process killed", status, body, err)
	}
	_, body, err := controller.Get(s.Context(), "/readyz")
	s.must(err)
	for _, resource := range []string{"configmaps", "secrets", "deployments", "statefulsets", "daemonsets"} {
		if !strings.Contains(body, resource) {
			s.Errorf("/readyz does not report %s: %s", resource, body)
		}
	}
}

func TestAnEditJustBeforeTheAPIServerFailsIsNotLost(t *testing.T) {
	s := newSceneOfItsOwn(t)
	controller := s.startController()
	crowd := s.gather(6)
	crowd.note()
	edited := crowd.edit(4, "v2")
	s.must(s.cluster.KillComponent(t.Context(), harness.APIServer)) // within the grace period
	s.requireBrokenWatchesAreReported(controller)
	s.must(s.cluster.StartComponent(t.Context(), harness.APIServer))
	crowd.requireRestartsOf(edited)
}
