package deployment

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/deployment/rollout"
	"kubernetes-deployment-restart-controller/internal/watch"
)

func TestAnEngineDetectsRivalsSinceTheLastOfItsWatchesWorks(t *testing.T) {
	works := func(since time.Time) follower { return idleWatch{status: watch.Status{WorkingSince: since}} }
	for name, test := range map[string]struct {
		watches []follower
		want    time.Time
	}{
		"the first works last":    {[]follower{works(noonPlus(3)), works(noonPlus(1)), works(noonPlus(2))}, noonPlus(3)},
		"another works last":      {[]follower{works(noonPlus(1)), works(noonPlus(3)), works(noonPlus(2))}, noonPlus(3)},
		"the first does not work": {[]follower{works(time.Time{}), works(noonPlus(1))}, time.Time{}},
		"another does not work":   {[]follower{works(noonPlus(1)), works(time.Time{}), works(noonPlus(2))}, time.Time{}},
		"the last does not work":  {[]follower{works(noonPlus(1)), works(noonPlus(2)), works(time.Time{})}, time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			e := &Engine{watches: test.watches}
			expect(t, "since", test.want, e.workingSince())
		})
	}
}

func TestAnEngineDoesNotBeginWithoutItsReplicaSets(t *testing.T) {
	var watched []string
	for _, w := range newIdleEngine(t).watches {
		watched = append(watched, w.Status().Resource)
	}
	expect(t, "watched", []string{"replicasets", "deployments"}, watched)
}

// idleWatch follows nothing.
type idleWatch struct {
	follower

	status watch.Status
}

func (w idleWatch) Status() watch.Status { return w.status }

func TestAnEngineThatStandsByWritesNothing(t *testing.T) {
	s := newStage()
	s.do([]string{"deployment", "replicas=3"})
	s.engine.rest()
	d := rollout.NewDeployment(s.deployment())
	_, err := s.engine.executor.apply(t.Context(), d, []rollout.Action{rollout.CreateReplicaSet{Name: "web-1", Replicas: 3}})
	if !errors.Is(err, errNotDriving) || len(s.cluster.replicaSets) != 0 {
		t.Errorf("%d ReplicaSets, error %v", len(s.cluster.replicaSets), err)
	}
	s.engine.wake(d.Key())
	if s.engine.queue.Len() != 0 {
		t.Error("it is queued")
	}
	s.engine.resting.add("ns")
	s.engine.rest()
	if count := s.engine.resting.count(); count != 0 {
		t.Errorf("it rests in %d namespaces in particular", count)
	}
}

func TestAnEngineWritesNothingInANamespaceWhereItRests(t *testing.T) {
	s := newStage()
	s.do([]string{"deployment", "replicas=3"})
	d := rollout.NewDeployment(s.deployment())
	s.engine.caches.deployments.feed("").Observe(packDeployment(d))
	create := []rollout.Action{rollout.CreateReplicaSet{Name: "web-1", Replicas: 3}}
	s.engine.resting.add("ns")
	if _, err := s.engine.executor.apply(t.Context(), d, create); !errors.Is(err, errNotDriving) || len(s.cluster.replicaSets) != 0 {
		t.Errorf("%d ReplicaSets, error %v", len(s.cluster.replicaSets), err)
	}
	s.engine.resumeIn("another")
	if s.engine.drives("ns") || !s.engine.drives("another") {
		t.Error("it goes on elsewhere")
	}
	s.engine.resumeIn("ns")
	if s.engine.queue.Len() != 1 {
		t.Error("the Deployment is not queued")
	}
	if _, err := s.engine.executor.apply(t.Context(), d, create); err != nil || len(s.cluster.replicaSets) != 1 {
		t.Errorf("%d ReplicaSets, error %v", len(s.cluster.replicaSets), err)
	}
}

func TestAnEngineDetectsOthersButNotItselfNorItsProbe(t *testing.T) {
	const probe = "kubernetes-deployment-restart-controller-probe"
	e := newIdleEngine(t)
	deployments := deploymentObserver{e.caches.deployments.feed(""), e.monitor, e.monitor.NewStatusObserver()}
	own := web(0, "v1", func(d *appsv1.Deployment) { d.Namespace, d.Name = "own", probe })
	foreign := web(0, "v1", func(d *appsv1.Deployment) { d.Namespace, d.Name = "others", probe })
	deployments.Replace([]packedDeployment{packDeployment(web(3, "v1")), packDeployment(own), packDeployment(foreign)}, "5")
	deployments.Observe(packDeployment(own))
	if e.caches.deployments.get(own.Key()) != nil {
		t.Error("it drives its own probe")
	}
	if e.caches.deployments.get(foreign.Key()) == nil {
		t.Error("it does not drive the probe of another installation")
	}
	deployments.Observe(written(rollout.FieldManager, 3))
	deployments.Observe(written("rival", 4))
	deployments.Replace([]packedDeployment{written("rival", 5)}, "7")
	if count := testutil.ToFloat64(e.metrics.rivalWrites.Of("rival")); count != 2 {
		t.Errorf("%v writes are counted, want 2", count)
	}
	if count := testutil.CollectAndCount(e.metrics.rivalWrites); count != 2 {
		t.Errorf("%d managers are counted, want that one and the usual one", count)
	}
	deployments.Forget(written("rival", 5))
	deployments.Observe(written("rival", 6))
	if count := testutil.ToFloat64(e.metrics.rivalWrites.Of("rival")); count != 2 {
		t.Error("what is gone is not forgotten")
	}
}

// written is a Deployment whose status a field manager has written some seconds after noon.
func written(manager string, second float64) packedDeployment {
	return packDeployment(web(3, "v1", func(d *appsv1.Deployment) {
		d.ManagedFields = []metav1.ManagedFieldsEntry{statusBy(manager, second)}
	}))
}

func TestAThousandFieldManagersMakeFewSeries(t *testing.T) {
	e := newIdleEngine(t)
	deployments := deploymentObserver{e.caches.deployments.feed(""), e.monitor, e.monitor.NewStatusObserver()}
	for i := range 1001 { // the first write is not noticed
		deployments.Observe(written(fmt.Sprintf("manager-%d", i), float64(i)))
	}
	if count := testutil.CollectAndCount(e.metrics.rivalWrites); count != namedManagers+1 {
		t.Errorf("%d series, want one for each of %d managers and one for the others", count, namedManagers)
	}
}
