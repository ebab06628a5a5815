package rollout

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func terminating(n int32) func(*ReplicaSet) {
	return func(rs *ReplicaSet) { rs.Terminating = &n }
}

func TestTheStatusIsWhatWasObserved(t *testing.T) {
	available := condition(appsv1.DeploymentAvailable, corev1.ConditionTrue, reasonAvailable, "Deployment has minimum availability.", 3000)
	is := progressed(corev1.ConditionTrue, reasonProgressed)
	d := web(10, "v3", withLimits("3", "2"), counted(13, 3, 12, 10, available, is), func(d *appsv1.Deployment) {
		d.Generation = 7
		d.Status.CollisionCount = new(int32(3))
	})
	uneven := func(existing, ready int64) func(*ReplicaSet) {
		return func(rs *ReplicaSet) { rs.Existing, rs.Ready = existing, ready }
	}
	s := stateOf(d, set("v1", 2, 1, uneven(3, 2), terminating(1)), set("v2", 6, 6, terminating(2)), set("v3", 5, 1, uneven(4, 2)))
	is.LastUpdateTime = metav1.Time{Time: now}
	is.Message = `ReplicaSet "web-v3" is progressing.`
	expect(t, "status", &appsv1.DeploymentStatus{
		ObservedGeneration: 7, Replicas: 13, UpdatedReplicas: 4, ReadyReplicas: 10, AvailableReplicas: 8,
		// What is wanted by the ReplicaSets, when the plan is carried out, less what is available.
		UnavailableReplicas: 2 + 6 + 5 - 1 - 8, TerminatingReplicas: new(int32(3)),
		Conditions: []appsv1.DeploymentCondition{available, is}, CollisionCount: new(int32(3)),
	}, statusOf(s))
}

func TestTerminatingPodsAreSummedUpWhereAllReportThem(t *testing.T) {
	unreported := func(rs *ReplicaSet) { rs.Terminating = nil }
	unobserved := func(rs *ReplicaSet) { rs.Terminating, rs.Observed = nil, false }
	for name, test := range map[string]struct {
		sets []*ReplicaSet
		want *int32
	}{
		"none terminate":                {[]*ReplicaSet{set("v1", 2, 2), set("v2", 1, 1)}, new(int32(0))},
		"the sum":                       {[]*ReplicaSet{set("v1", 2, 2, terminating(2)), set("v2", 1, 1, terminating(3))}, new(int32(5))},
		"an old one does not report it": {[]*ReplicaSet{set("v1", 2, 2, unreported), set("v2", 1, 1, terminating(3))}, nil},
		"the new one does not":          {[]*ReplicaSet{set("v1", 2, 2, terminating(2)), set("v2", 1, 1, unreported)}, nil},
		"the new one is created":        {[]*ReplicaSet{set("v1", 2, 2, terminating(2))}, new(int32(2))},
		"the new one is unknown":        {[]*ReplicaSet{set("v1", 2, 2, terminating(2)), set("v2", 1, 0, unobserved)}, new(int32(2))},
		"unknown, and one lacks":        {[]*ReplicaSet{set("v1", 2, 2, unreported), set("v2", 1, 0, unobserved)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := stateOf(web(9, "v2", counted(99, 99, 99, 99)), test.sets...)
			expect(t, "terminating", test.want, statusOf(s).TerminatingReplicas)
		})
	}
}

func TestADeploymentWhosePodsHaveNotStartedHasNoTerminatingPods(t *testing.T) {
	unobserved := func(rs *ReplicaSet) { rs.Terminating, rs.Observed = nil, false }
	for _, sets := range [][]*ReplicaSet{nil, {set("v1", 2, 0, unobserved)}} {
		if got := statusOf(stateOf(web(9, "v1"), sets...)).TerminatingReplicas; got == nil || *got != 0 {
			t.Errorf("with %d ReplicaSets: %v, want 0", len(sets), got)
		}
	}
}

// A server without the field gives back a status without it. That is no reason to
// write it again, but a server that was upgraded since keeps it in the next write.
func TestAFieldThatTheServerDropsIsWrittenOnlyWithOthers(t *testing.T) {
	s := settledState()
	s.Deployment.Status.TerminatingReplicas = nil
	if actions, _ := Plan(s); len(actions) > 0 {
		t.Errorf("actions %v", actions)
	}
	s.Deployment.Status.ReadyReplicas--
	if got := statusOf(s); got == nil || got.TerminatingReplicas == nil {
		t.Errorf("written with other fields: %+v", got)
	}
}

// settledState is one with nothing left to do: a complete rollout with a history.
func settledState() *State {
	d := web(3, "v3", annotated(map[string]string{RevisionAnnotation: "3"}), counted(3, 3, 3, 3,
		condition(appsv1.DeploymentAvailable, corev1.ConditionTrue, reasonAvailable, "Deployment has minimum availability.", 3000),
		condition(appsv1.DeploymentProgressing, corev1.ConditionTrue, reasonComplete, `ReplicaSet "web-v3" has successfully progressed.`, 3000)))
	return stateOf(d, set("v1", 0, 0), set("v2", 0, 0), set("v3", 3, 3))
}

func TestACorrectStatusIsNotWritten(t *testing.T) {
	actions, wake := Plan(settledState())
	if len(actions) > 0 || !wake.IsZero() {
		t.Errorf("actions %v, wake %s", actions, wake)
	}
}

func TestEveryPartOfTheStatusIsCorrected(t *testing.T) {
	for name, spoil := range map[string]func(*Deployment){
		"observedGeneration":  func(d *Deployment) { d.Status.ObservedGeneration-- },
		"replicas":            func(d *Deployment) { d.Status.Replicas++ },
		"updatedReplicas":     func(d *Deployment) { d.Status.UpdatedReplicas++ },
		"readyReplicas":       func(d *Deployment) { d.Status.ReadyReplicas++ },
		"availableReplicas":   func(d *Deployment) { d.Status.AvailableReplicas++ },
		"unavailableReplicas": func(d *Deployment) { d.Status.UnavailableReplicas++ },
		"terminatingReplicas": func(d *Deployment) { d.Status.TerminatingReplicas = new(int32(7)) },
		"conditions":          func(d *Deployment) { d.Status.Conditions = d.Status.Conditions[:1] },
		"Available":           func(d *Deployment) { d.Status.Conditions = d.Status.Conditions[1:] },
	} {
		t.Run(name, func(t *testing.T) {
			s := settledState()
			spoil(s.Deployment)
			got := statusOf(s)
			if got == nil {
				t.Fatal("it is not written")
			}
			right := settledState().Deployment.Status
			right.Conditions = got.Conditions // tested elsewhere
			expect(t, "status", &right, got)
		})
	}
}

func TestStatusWritesAreSpacedOut(t *testing.T) {
	for name, test := range map[string]struct {
		written time.Time
		spoiled bool
		writes  bool
		wake    time.Time
	}{
		"never before":        {time.Time{}, true, true, time.Time{}},
		"just now":            {now, true, false, now.Add(statusSpacing)},
		"a moment ago":        {now.Add(1 - statusSpacing), true, false, now.Add(1)},
		"long enough ago":     {now.Add(-statusSpacing), true, true, time.Time{}},
		"nothing to write":    {now, false, false, time.Time{}},
		"by a clock in front": {now.Add(time.Millisecond), true, false, now.Add(statusSpacing + time.Millisecond)},
	} {
		t.Run(name, func(t *testing.T) {
			s := settledState()
			if s.StatusWritten = test.written; test.spoiled {
				s.Deployment.Status.Replicas = 7
			}
			_, wake := Plan(s)
			if writes := statusOf(s) != nil; writes != test.writes || !wake.Equal(test.wake) {
				t.Errorf("writes: %t, wake %s", writes, wake)
			}
		})
	}
}

func TestTheEarlierOfTwoTimesThatMayBeNever(t *testing.T) {
	never, first, second := time.Time{}, now, now.Add(1)
	for _, test := range []struct{ a, b, want time.Time }{
		{never, first, first}, {first, second, first}, {second, first, first},
	} {
		if got := earlier(test.a, test.b); !got.Equal(test.want) {
			t.Errorf("earlier of %s and %s: %s", test.a, test.b, got)
		}
	}
}
