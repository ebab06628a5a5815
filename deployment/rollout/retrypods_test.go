package rollout

import (
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
)

func TestPodsThatCouldNotBeCreatedAreTriedAgainWhenOthersHaveEnded(t *testing.T) {
	forbidden := func(rs *ReplicaSet) {
		rs.Existing = 0
		rs.Failure = &appsv1.ReplicaSetCondition{Type: appsv1.ReplicaSetReplicaFailure, Reason: "FailedCreate", Message: "exceeded quota"}
	}
	ending := func(pods int32) func(*ReplicaSet) { return func(rs *ReplicaSet) { rs.Terminating = &pods } }
	at := now.UTC().Format(time.RFC3339)
	retried, nothing := []string{"update replicaset web-v2, " + retriedAnnotation + " " + at}, []string{}
	for name, test := range map[string]struct {
		before *int32
		old    *ReplicaSet
		new    *ReplicaSet
		want   []string
	}{
		"one has ended":                        {new(int32(3)), set("v1", 0, 0, ending(2)), set("v2", 3, 0, forbidden), retried},
		"the last one has ended":               {new(int32(1)), set("v1", 0, 0), set("v2", 3, 0, forbidden), retried},
		"all still end":                        {new(int32(3)), set("v1", 0, 0, ending(3)), set("v2", 3, 0, forbidden), nothing},
		"more end":                             {new(int32(1)), set("v1", 0, 0, ending(3)), set("v2", 3, 0, forbidden), nothing},
		"it is not known how many ended":       {nil, set("v1", 0, 0, ending(2)), set("v2", 3, 0, forbidden), nothing},
		"the API server does not say how many": {new(int32(3)), set("v1", 0, 0, func(rs *ReplicaSet) { rs.Terminating = nil }), set("v2", 3, 0, forbidden), nothing},
		"all could be created":                 {new(int32(3)), set("v1", 0, 0, ending(2)), set("v2", 3, 0), nothing},
		"all are there by now": {
			new(int32(3)), set("v1", 0, 0, ending(2)), set("v2", 3, 0, forbidden, func(rs *ReplicaSet) { rs.Existing = 3 }), nothing,
		},
		"it has just been tried": {
			new(int32(3)), set("v1", 0, 0, ending(2)),
			set("v2", 3, 0, forbidden, func(rs *ReplicaSet) { rs.Annotations[retriedAnnotation] = at }), nothing,
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := web(3, "v2", withStatus(appsv1.DeploymentStatus{ObservedGeneration: 2, TerminatingReplicas: test.before}))
			expect(t, "orders", test.want, orders(stateOf(d, test.old, test.new)))
		})
	}
}

func TestPodsAreTriedAgainWhileTheDeploymentIsPaused(t *testing.T) {
	failing := func(rs *ReplicaSet) {
		rs.Existing = 2
		rs.Failure = &appsv1.ReplicaSetCondition{Type: appsv1.ReplicaSetReplicaFailure, Reason: "FailedCreate"}
	}
	s := stateOf(web(5, "v2", paused, withStatus(appsv1.DeploymentStatus{ObservedGeneration: 2, TerminatingReplicas: new(int32(3))})), set("v1", 0, 0), set("v2", 5, 2, failing))
	expect(t, "orders", []string{"update replicaset web-v2, " + retriedAnnotation + " " + now.UTC().Format(time.RFC3339)}, orders(s))
}

// Until it is written, the status says that more pods terminate, each time that the Deployment is looked at.
func TestPodsAreNotTriedAgainEachSecondWhileTheStatusIsRefused(t *testing.T) {
	failing := func(rs *ReplicaSet) {
		rs.Existing = 0
		rs.Failure = &appsv1.ReplicaSetCondition{Type: appsv1.ReplicaSetReplicaFailure, Reason: "FailedCreate"}
	}
	s := stateOf(web(3, "v2", withStatus(appsv1.DeploymentStatus{ObservedGeneration: 2, TerminatingReplicas: new(int32(1))})), set("v1", 0, 0), set("v2", 3, 0, failing))
	written := 0
	for range 60 {
		actions, _ := Plan(s)
		actions = slices.DeleteFunc(actions, func(a Action) bool { return a.Kind() == "status" })
		written += len(actions)
		s = carryOut(s, actions)
		s.Now = s.Now.Add(time.Second)
	}
	expect(t, "writes in a minute", 1, written)
}
