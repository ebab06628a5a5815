package test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/google/go-cmp/cmp"
)

// requireUndriven fails the test if anybody has done anything for a Deployment.
func (s *scene) requireUndriven(w workload) {
	s.Helper()
	d, err := s.client.AppsV1().Deployments(s.namespace).Get(s.Context(), w.name, metav1.GetOptions{})
	s.must(err)
	if diff := cmp.Diff(appsv1.DeploymentStatus{}, d.Status); diff != "" {
		s.Errorf("%s has a status:\n%s", w.name, diff)
	}
	if revision, found := d.Annotations[revisionAnnotation]; found {
		s.Errorf("%s has the revision %s", w.name, revision)
	}
	s.requireSizes(w)
}

func TestAnEngineOfOneNamespaceLeavesTheOthersAlone(t *testing.T) {
	s := newEngineSceneApart(t)
	other := enter(t, &place{cluster: s.cluster, installation: s.installation, auditLog: s.auditLog})
	outside := other.deploy("app", 2)
	s.startEngine()
	app := s.deploy("app", 2)
	s.awaitRollout(app)
	other.annotate(outside, "edited", "again")
	s.engineSettles()
	other.requireUndriven(outside)
	other.requireUndriven(deployment(markerName))
	if asked := other.requests(func(*request) bool { return true }); len(asked) != 0 {
		t.Errorf("the engine asks about another namespace: %v", asked)
	}
}

func TestWithoutTheFlagNobodyDrivesDeployments(t *testing.T) {
	s := newEngineSceneApart(t)
	controller := s.startController()
	s.make(settings, set("used", "v1"))
	app := s.run("app", podOf(envFrom(settings)))
	stateful := s.runStateful("stateful", podOf(envFrom(settings)))
	before := s.started(stateful)
	s.edit(settings, set("used", "v2"))
	s.awaitRestart(stateful, before) // both read it
	s.eventually("the controller is idle", controller.Idle)
	s.requireUndriven(app)
	writes := s.requests(func(r *request) bool {
		return r.resource == "replicasets" && r.isWrite() || r.resource == "deployments/status" || r.manager == fieldManager
	})
	if len(writes) != 0 {
		t.Errorf("an engine that is off writes: %v", writes)
	}
	metrics, err := controller.Metrics(t.Context())
	s.must(err)
	for name := range metrics {
		if strings.HasPrefix(name, enginePrefix) {
			t.Errorf("an engine that is off has the metric %s", name)
		}
	}
	if _, ready, err := controller.Get(t.Context(), "/readyz"); err != nil || strings.Contains(ready, "deployment engine") {
		t.Errorf("/readyz reports an engine that is off: %s %v", ready, err)
	}
}

// Two Deployments that select the same pods are a mistake of their user, who must not
// lose a ReplicaSet by it.
func TestDeploymentsThatSelectTheSamePodsDoNotStealFromEachOther(t *testing.T) {
	s := newEngineSceneApart(t)
	engine := s.startEngine()
	overlapping := func(d *appsv1.Deployment) {
		d.Spec.Selector, d.Spec.Template.Labels = selector("shared"), map[string]string{"app": "shared"}
	}
	first, second := s.deploy("first", 2, overlapping), s.deploy("second", 3, overlapping)
	both := workload{"Deployment", "shared"} // their ReplicaSets and pods
	owners := func(want map[string]string) {
		t.Helper()
		got := map[string]string{}
		for _, rs := range s.replicaSetsNow(both) {
			if owner := metav1.GetControllerOf(&rs); owner != nil {
				got[rs.Name] = owner.Name
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("owners of the ReplicaSets (-want +got):\n%s", diff)
		}
	}
	s.awaitRollout(first)
	s.awaitRollout(second)
	want := map[string]string{}
	for _, rs := range s.replicaSetsNow(both) {
		want[rs.Name] = strings.SplitN(rs.Name, "-", 2)[0]
	}
	owners(want)

	s.patchImage(first, "example/main:2")
	s.kubectl("scale", second.ref(), "--replicas=1")
	s.awaitRollout(first)
	s.awaitRollout(second)
	for _, rs := range s.replicaSetsNow(both) {
		if _, known := want[rs.Name]; !known {
			want[rs.Name] = first.name
		}
	}
	if len(want) != 3 {
		t.Errorf("there are %d ReplicaSets, want 3: %v", len(want), want)
	}
	s.engineSettles()
	owners(want)

	// What both could adopt goes to one of them, and stays with it.
	s.kubectl("delete", first.ref(), "--cascade=orphan")
	s.awaitGone(first)
	s.eventually("the orphans have found somebody", func(ctx context.Context) error {
		sets, err := s.replicaSets(ctx, both)
		if err != nil {
			return err
		}
		for i := range sets {
			if owner := metav1.GetControllerOf(&sets[i]); owner == nil || owner.Name != second.name {
				return fmt.Errorf("%s belongs to %v", sets[i].Name, owner)
			}
		}
		return nil
	})
	third := s.deploy("third", 1, overlapping, func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "example/main:3" })
	s.awaitRollout(third)
	s.engineSettles()
	for name := range want {
		want[name] = second.name
	}
	for _, rs := range s.replicaSetsNow(both) {
		if _, known := want[rs.Name]; !known {
			want[rs.Name] = third.name
		}
	}
	owners(want)
	if released, err := s.actions(t.Context(), engine, "release"); err != nil || released != 0 {
		t.Errorf("%v ReplicaSets were released, %v", released, err)
	}
}

// collide lets a Deployment find the name taken that its ReplicaSet should have.
func (s *scene) collide() workload {
	s.Helper()
	app := s.deploy("contended", 1)
	s.awaitRollout(app)
	name := s.replicaSetsNow(app)[0].Name
	s.kubectl("delete", app.ref(), "--cascade=foreground")
	s.awaitGone(app)
	stranger := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       appsv1.ReplicaSetSpec{Replicas: new(int32(0)), Selector: selector("stranger"), Template: podTemplate("stranger", podOf())},
	}
	_, err := s.client.AppsV1().ReplicaSets(s.namespace).Create(s.Context(), stranger, metav1.CreateOptions{})
	s.must(err)
	return s.deploy("contended", 1)
}

func TestAReplicaSetNameInUseIsLeftAlone(t *testing.T) {
	s := newEngineScene(t)
	app := s.collide()
	s.awaitRollout(app)
	d := s.awaitObserved(app)
	if count := d.Status.CollisionCount; count == nil || *count != 1 {
		t.Errorf("the collision count is %v, want 1", count)
	}
	strangers := s.replicaSetsNow(deployment("stranger"))
	sets := s.awaitSizes(app, 1)
	if owner := metav1.GetControllerOf(&sets[0]); owner == nil || owner.UID != d.UID {
		t.Errorf("%s belongs to %v", sets[0].Name, owner)
	}
	for i := range strangers {
		if len(strangers[i].OwnerReferences) != 0 {
			t.Errorf("the stranger %s belongs to %v", strangers[i].Name, strangers[i].OwnerReferences)
		}
	}
}

// What does not change what a Deployment needs makes the engine look, and not write.
func TestASettledClusterIsNotWrittenTo(t *testing.T) {
	s := newEngineSceneApart(t)
	engine := s.startEngine()
	fleet := s.launchFleet(4)
	fleet.patchImages("example/main:2")
	for _, w := range fleet.members {
		s.awaitRollout(w)
	}
	s.awaitRecorded(deployment(markerName))
	s.engineSettles()
	s.eventually("the engine has nothing to do", func(ctx context.Context) error {
		for _, name := range []string{"deployment_engine_queue_depth", "deployment_engine_rollouts_in_progress"} {
			value, err := engine.Metric(ctx, name, nil)
			if err == nil && value != 0 {
				err = fmt.Errorf("%s is %v", name, value)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	about := func(r *request) bool { return strings.HasPrefix(r.name, "app-") && r.isOfWorkloads() }
	before := len(s.requests(about))
	syncs, err := engine.Metric(t.Context(), "deployment_engine_syncs_total", nil)
	s.must(err)

	for _, w := range fleet.members {
		for _, rs := range s.replicaSetsNow(w) {
			s.kubectl("label", "replicaset", rs.Name, "seen=by-nobody")
		}
		s.kubectl("label", w.ref(), "seen=by-nobody")
	}
	s.engineSettles()
	after, err := engine.Metric(t.Context(), "deployment_engine_syncs_total", nil)
	s.must(err)
	if after-syncs < 12 { // 4 Deployments with 2 ReplicaSets each
		t.Errorf("the engine has looked %v times", after-syncs)
	}
	if asked := s.requests(about)[before:]; len(asked) != 0 {
		t.Errorf("a settled cluster is written to: %v", asked)
	}
	s.requireNoErrors(engine)
}

// A template that changes before its pods run leaves a ReplicaSet each time. Kubernetes' own
// controller deletes them when a rollout is complete, which this one never is.
func TestOldReplicaSetsDoNotPileUpWhileNoRolloutEnds(t *testing.T) {
	s := newEngineScene(t)
	const limit, most = 1, 2*1 + 1 + 10 // finished ones, before those are deleted that are neither the oldest nor the latest
	app := s.deploy("app", 1, rolling(1, 0), func(d *appsv1.Deployment) { d.Spec.RevisionHistoryLimit = new(int32(limit)) })
	s.awaitRollout(app)
	for template := range 2 * most {
		image := fmt.Sprintf("example/main:held-%d", template)
		s.patchHeld(app, image)
		s.eventually("the rollout of "+image+" has begun", func(ctx context.Context) error {
			sets, err := s.replicaSets(ctx, app)
			if err != nil {
				return err
			}
			if finished := len(sets) - 2; finished > most { // all but the one that runs and the newest
				return fmt.Errorf("%d ReplicaSets have finished", finished)
			}
			if !slices.ContainsFunc(sets, func(rs appsv1.ReplicaSet) bool { return rs.Spec.Template.Spec.Containers[0].Image == image }) {
				return errors.New("it has no ReplicaSet")
			}
			return nil
		})
	}
	s.letAllGo(app)
}
