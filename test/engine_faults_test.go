package test

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/test/harness"
)

// fleet is a number of Deployments of 4 replicas that roll one pod at a time.
type fleet struct {
	s       *scene
	members []workload
}

func (s *scene) launchFleet(size int, adjust ...func(*appsv1.Deployment)) *fleet {
	s.Helper()
	f := &fleet{s: s}
	for i := range size {
		f.members = append(f.members, s.deploy("app-"+strconv.Itoa(i), 4, append(adjust, rolling(1, 0))...))
	}
	for _, w := range f.members {
		s.awaitRollout(w)
	}
	return f
}

func (f *fleet) patchImages(image string) {
	f.s.Helper()
	for _, w := range f.members {
		f.s.patchImage(w, image)
	}
}

// requireRolledOut waits until all are rolled out to the second of two ReplicaSets,
// and fails the test unless the first one is as it was.
func (f *fleet) requireRolledOut() {
	f.s.Helper()
	for _, w := range f.members {
		f.s.awaitRollout(w)
	}
	f.s.engineSettles()
	for _, w := range f.members {
		sets := f.s.awaitSizes(w, 0, 4)
		f.s.requirePodsOf(w, &sets[1], 4)
		d := f.s.awaitCondition(w, appsv1.DeploymentProgressing, "NewReplicaSetAvailable")
		if d.Annotations[revisionAnnotation] != "2" || d.Generation != 2 {
			f.s.Errorf("%s is at revision %s and generation %d, want 2 and 2", w.name, d.Annotations[revisionAnnotation], d.Generation)
		}
	}
}

func TestAnEngineThatIsKilledInTheMiddleOfRolloutsGoesOn(t *testing.T) {
	s := newEngineSceneApart(t)
	engine := s.startEngine()
	fleet := s.launchFleet(6)
	waiting := s.deploy("waiting", 3, rolling(1, 0))
	s.awaitRollout(waiting)
	s.patchHeld(waiting, "example/main:2")
	s.awaitSizes(waiting, 3, 1)
	before, err := s.actions(t.Context(), engine, "scale")
	s.must(err)

	fleet.patchImages("example/main:2")
	s.awaitActions(engine, "scale", before+6) // of the 42 that it takes
	s.must(engine.Kill())
	s.letGo(waiting, 1) // while no engine watches

	engine = s.startEngine()
	fleet.requireRolledOut()
	s.awaitSizes(waiting, 2, 2)
	s.letAllGo(waiting)
	s.awaitSizes(waiting, 0, 3)
	if created := succeeded(s.creations()); len(created) < 14 {
		t.Errorf("the audit log shows %d ReplicaSets created, want 14 at least", len(created))
	}
	s.requireNoErrors(engine)
}

func TestAnEngineThatStartsOnASettledClusterWritesNothing(t *testing.T) {
	s := newEngineSceneApart(t)
	engine := s.startEngine()
	fleet := s.launchFleet(3)
	fleet.patchImages("example/main:2")
	fleet.requireRolledOut()
	s.awaitRecorded(deployment(markerName))
	s.engineSettles()
	s.awaitNoPodTerminates()
	s.must(engine.Stop())
	before := len(s.writes())

	engine = s.startEngine()
	s.eventually("the engine has looked at all of them", func(ctx context.Context) error {
		syncs, err := engine.Metric(ctx, "deployment_engine_syncs_total", nil)
		if err == nil && syncs < 6 { // 3, the marker and two of settling
			err = fmt.Errorf("%.0f syncs", syncs)
		}
		return err
	})
	s.must(engine.Stop()) // whatever it was about to write is written now
	if writes := s.writes()[before:]; len(writes) != 0 {
		t.Errorf("an engine that has nothing to do writes: %v", writes)
	}
}

func TestAnOutageOfTheAPIServerInTheMiddleOfRollouts(t *testing.T) {
	s := newEngineSceneOfItsOwn(t)
	engine := s.startEngine()
	fleet := s.launchFleet(6)
	before, err := s.actions(t.Context(), engine, "scale")
	s.must(err)
	fleet.patchImages("example/main:2")
	s.awaitActions(engine, "scale", before+6)
	s.must(s.cluster.KillComponent(t.Context(), harness.APIServer))
	s.eventually("the metrics show the outage", func(ctx context.Context) error {
		up, err := engine.Metric(ctx, "deployment_engine_watch_up", nil)
		if err == nil && up > 0 {
			err = fmt.Errorf("%v watches are up", up)
		}
		return err
	})
	if status, body, err := engine.Get(t.Context(), "/healthz"); err != nil || status != 200 {
		t.Errorf("/healthz answers %d %s %v in an outage, which would get the process killed", status, body, err)
	}
	s.must(s.cluster.StartComponent(t.Context(), harness.APIServer))
	s.eventually("the engine watches again", func(ctx context.Context) error {
		up, err := engine.Metric(ctx, "deployment_engine_watch_up", nil)
		if err == nil && up < 3 {
			err = fmt.Errorf("%v of 3 watches are up, that of the probe included", up)
		}
		return err
	})
	fleet.requireRolledOut()
	s.must(engine.Running())
}

func TestOnlyTheLeaderDrivesDeploymentsAndAStandbyTakesOver(t *testing.T) {
	s := newEngineSceneApart(t)
	leader, standby := s.startReplicas(longLease, engineOn, "--controller-namespace", s.ownNamespace())
	fleet := s.launchFleet(4)
	if status, body, err := standby.Get(t.Context(), "/readyz"); err != nil || status != 200 {
		t.Errorf("the standby is not ready: %d %s %v", status, body, err)
	}
	before, err := s.actions(t.Context(), leader, "scale")
	s.must(err)
	fleet.patchImages("example/main:2")
	s.awaitActions(leader, "scale", before+4)
	if done, err := s.actions(t.Context(), standby, ""); err != nil || done != 0 {
		t.Errorf("the standby has carried out %v actions, %v", done, err)
	}
	s.must(leader.Kill())
	s.expireLeaseIn(s.ownNamespace())
	s.controller = standby
	fleet.requireRolledOut()
	s.requireLeads(standby, 1)
	s.requireNoErrors(standby)
	for _, w := range fleet.members {
		if created := len(s.creationsOf(w)); created != 2 {
			t.Errorf("%d ReplicaSets of %s were created, want 2", created, w.name)
		}
	}
}

// creationsOf returns the ReplicaSets that were created for a Deployment.
func (s *scene) creationsOf(w workload) (created []request) {
	s.Helper()
	for _, r := range succeeded(s.creations()) {
		if len(r.name) > len(w.name) && r.name[:len(w.name)+1] == w.name+"-" {
			created = append(created, r)
		}
	}
	return created
}

func TestALeaderThatStopsTakesItsProbeAway(t *testing.T) {
	s := newEngineSceneApart(t)
	leader, standby := s.startReplicas(longLease, engineOn, "--controller-namespace", s.ownNamespace())
	s.must(leader.AwaitDriving(t.Context(), waitLimit))
	s.must(standby.Stop()) // which would make one of its own
	probes := s.client.AppsV1().Deployments(s.ownNamespace())
	_, err := probes.Get(t.Context(), probeName, metav1.GetOptions{})
	s.must(err)
	s.must(leader.Stop())
	if _, err := probes.Get(t.Context(), probeName, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the probe is left behind: %v", err)
	}
}
