package deployment

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/deployment/rollout"
	"kubernetes-deployment-restart-controller/internal/status"
)

func TestTheStatusShowsBothSidesOfEachRollout(t *testing.T) {
	e := newIdleEngine(t)
	d := web(4, "v2", withStatus(appsv1.DeploymentStatus{Conditions: []appsv1.DeploymentCondition{
		condition(appsv1.DeploymentProgressing, corev1.ConditionFalse, rollout.ReasonTimedOut, "it takes too long", 10),
	}}))
	named := func(name string) func(*rollout.ReplicaSet) { return func(rs *rollout.ReplicaSet) { rs.Name = name } }
	e.caches.deployments.feed("").Observe(packDeployment(d))
	feed := e.caches.replicaSets.feed("")
	for _, rs := range []*rollout.ReplicaSet{set("v2", 3, 1, named("new")), set("v1", 2, 2, named("old")), set("v0", 1, 1, named("older")), set("v-1", 0, 0, named("oldest"))} {
		feed.Observe(packReplicaSet(rs))
	}
	done := web(3, "v1", withStatus(appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 3, UpdatedReplicas: 3, AvailableReplicas: 3}))
	done.Name = "done"
	e.caches.deployments.feed("").Observe(packDeployment(done))

	got := e.Rollouts()
	want := status.List[status.Rollout]{Total: 1, Items: []status.Rollout{{
		Deployment: "deployment/" + d.Namespace + "/web", Strategy: "RollingUpdate", Wanted: 4,
		New: status.Replicas{Sets: 1, Wanted: 3, Present: 3, Available: 1}, Old: status.Replicas{Sets: 2, Wanted: 3, Present: 3, Available: 3},
		Problem: "it takes too long",
	}}}
	expect(t, "rollouts", want, got.Rolling)
	if got.Driving || got.Detail != "waiting for leadership" {
		t.Errorf("got %+v", got)
	}
}

func TestTheStatusListsTheFirstOfManyRollouts(t *testing.T) {
	e := newIdleEngine(t)
	for i := range 3 * status.Limit {
		d := web(3, "v1")
		d.Name = fmt.Sprintf("web-%03d", i)
		e.caches.deployments.feed("").Observe(packDeployment(d))
	}
	got := e.Rollouts().Rolling
	if got.Total != 3*status.Limit || len(got.Items) != status.Limit || got.Items[status.Limit-1].Deployment != fmt.Sprintf("deployment/%s/web-%03d", web(1, "").Namespace, status.Limit-1) {
		t.Errorf("got %d of %d: %+v", len(got.Items), got.Total, got.Items[len(got.Items)-1])
	}
}
