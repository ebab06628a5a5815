package rollout

import (
	"fmt"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

func replacedBy(policy string) func(*appsv1.Deployment) {
	return annotated(map[string]string{replacementAnnotation: policy, RevisionAnnotation: "2"})
}

// stillHaving lets a ReplicaSet have more pods than it wants.
func stillHaving(pods int64) func(*ReplicaSet) { return func(rs *ReplicaSet) { rs.Existing = pods } }

func TestPodsThatTerminateTakeUpRoomUntilTheyHaveEnded(t *testing.T) {
	for name, test := range map[string]struct {
		sets []*ReplicaSet
		want int64 // the size of v2
	}{
		"all old ones terminate":                  {[]*ReplicaSet{set("v1", 0, 0, terminating(4)), set("v2", 0, 0)}, 0},
		"one has ended":                           {[]*ReplicaSet{set("v1", 0, 0, terminating(3)), set("v2", 0, 0)}, 1},
		"all have ended":                          {[]*ReplicaSet{set("v1", 0, 0, terminating(0)), set("v2", 0, 0)}, 4},
		"they are still to be deleted":            {[]*ReplicaSet{set("v1", 0, 0, stillHaving(4)), set("v2", 0, 0)}, 0},
		"those of the new template count, too":    {[]*ReplicaSet{set("v1", 0, 0), set("v2", 2, 2, terminating(1))}, 3},
		"there are already too many":              {[]*ReplicaSet{set("v1", 2, 2, terminating(5)), set("v2", 1, 1)}, 1},
		"the API server does not say how many":    {[]*ReplicaSet{set("v1", 0, 0, func(rs *ReplicaSet) { rs.Terminating = nil }), set("v2", 0, 0)}, 4},
		"new ones are enough, whoever terminates": {[]*ReplicaSet{set("v1", 0, 0, terminating(4)), set("v2", 4, 4)}, 4},
	} {
		t.Run(name, func(t *testing.T) {
			for strategy, limits := range map[string]func(*appsv1.Deployment){"rolling": withLimits("0", "4"), "recreate": recreated} {
				s := stateOf(web(4, "v2", limits, replacedBy(whenTerminated)), test.sets...)
				p := newPlan(s)
				p.strategy.step(p)
				if strategy == "recreate" && p.hasOldPods() {
					continue // it waits for them anyway
				}
				expect(t, strategy, test.want, p.newRS.size)
			}
		})
	}
}

// A scaling that there is no room for continues when there is.
func TestAScalingWaitsForPodsThatTerminate(t *testing.T) {
	scaled := func(rs *ReplicaSet) {
		sized("2", "2")(rs)
		all := rs.allAnnotations()
		all[replacementAnnotation] = whenTerminated
		rs.SetAnnotations(all)
	}
	tight := withLimits("0", "1")
	stopped := func(d *appsv1.Deployment) { tight(d); paused(d) }
	for name, test := range map[string]struct {
		replicas int32
		adjust   func(*appsv1.Deployment)
		sets     []*ReplicaSet
		want     []string
	}{
		"no room":         {5, tight, []*ReplicaSet{set("v2", 2, 2, scaled, terminating(3))}, []string{}},
		"some room":       {5, tight, []*ReplicaSet{set("v2", 2, 2, scaled, terminating(1))}, []string{"scale replicaset web-v2 from 2 to 4"}},
		"room by a surge": {5, withLimits("1", "1"), []*ReplicaSet{set("v2", 2, 2, scaled, terminating(3))}, []string{"scale replicaset web-v2 from 2 to 3"}},
		"room for all":    {5, tight, []*ReplicaSet{set("v2", 2, 2, scaled)}, []string{"scale replicaset web-v2 from 2 to 5, desired-replicas 5, max-replicas 5"}},
		"down":            {1, tight, []*ReplicaSet{set("v2", 2, 2, scaled, terminating(9))}, []string{"scale replicaset web-v2 from 2 to 1, desired-replicas 1, max-replicas 1"}},
		"under Recreate":  {5, recreated, []*ReplicaSet{set("v2", 2, 2, scaled, terminating(1))}, []string{"scale replicaset web-v2 from 2 to 4"}},
		"amid a rollout": {
			8, tight, []*ReplicaSet{set("v1", 1, 1, scaled, terminating(4)), set("v2", 1, 1, scaled)},
			[]string{"update replicaset web-v1, desired-replicas 8, max-replicas 8", "scale replicaset web-v2 from 1 to 3, desired-replicas 8, max-replicas 8"},
		},
		"amid one that is paused, no room for all": {
			8, stopped, []*ReplicaSet{set("v1", 1, 1, scaled, terminating(4)), set("v2", 1, 1, scaled)}, []string{},
		},
		"amid one that is paused, room for all": {
			8, stopped, []*ReplicaSet{set("v1", 1, 1, scaled), set("v2", 1, 1, scaled)},
			[]string{
				"scale replicaset web-v2 from 1 to 4, desired-replicas 8, max-replicas 8", "scale replicaset web-v1 from 1 to 4, desired-replicas 8, max-replicas 8",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			expect(t, "orders", test.want, orders(stateOf(web(test.replicas, "v2", test.adjust, replacedBy(whenTerminated)), test.sets...)))
		})
	}
}

func TestRecreateByTheOtherPolicyDoesNotWaitForPodsThatTerminate(t *testing.T) {
	for policy, want := range map[string]int64{whenTerminating: 3, whenTerminated: 0} {
		s := stateOf(web(3, "v2", recreated, replacedBy(policy)), set("v1", 0, 0, terminating(3)), set("v2", 0, 0))
		p := newPlan(s)
		p.strategy.step(p)
		expect(t, policy, want, p.newRS.size)
	}
}

func TestAPolicyThatIsNotKeptIsReportedWhenARolloutBegins(t *testing.T) {
	unreported := func(rs *ReplicaSet) { rs.Terminating = nil }
	for policy, test := range map[string]struct {
		old  *ReplicaSet
		want string
	}{
		whenTerminated:   {set("v1", 3, 3, unreported), "The annotation com.xing.deployment-restart.pod-replacement-policy needs an API server that reports terminatingReplicas. The rollout continues as without the annotation."},
		whenTerminating:  {set("v1", 3, 3, unreported), ""},
		"TerminateFirst": {set("v1", 3, 3), "The annotation com.xing.deployment-restart.pod-replacement-policy is neither TerminationStarted nor TerminationComplete. The rollout continues as without the annotation."},
	} {
		t.Run(policy, func(t *testing.T) {
			actions, _ := Plan(stateOf(web(3, "v2", replacedBy(policy)), test.old))
			reported := ""
			for _, action := range actions {
				if event, isEvent := action.(RecordEvent); isEvent && event.Reason == reasonPolicyNotKept {
					reported = event.Message
				}
			}
			expect(t, "message", test.want, reported)
		})
	}
}

func TestARolloutIsNotCompleteWhilePodsTerminate(t *testing.T) {
	d := web(3, "v2", replacedBy(whenTerminated), counted(3, 3, 3, 3, progressed(corev1.ConditionTrue, reasonProgressed)))
	expect(t, "reason", reasonProgressed, progressing(stateOf(d, set("v1", 0, 0, terminating(1)), set("v2", 3, 3))).Reason)
	expect(t, "reason at last", reasonComplete, progressing(stateOf(d, set("v1", 0, 0), set("v2", 3, 3))).Reason)
}

// following carries out what plans order, an hour apart, while the ReplicaSet controller obeys and no pod ends.
func following(s *State, plans int) *State {
	for range plans {
		actions, _ := Plan(s)
		s = carryOut(s, actions)
		for _, rs := range s.ReplicaSets {
			rs.Observed, rs.Existing, rs.Ready, rs.Available = true, rs.Replicas, rs.Replicas, rs.Replicas
		}
		s.Now = s.Now.Add(time.Hour)
	}
	return s
}

func completeWith(name string) appsv1.DeploymentCondition {
	return condition(appsv1.DeploymentProgressing, corev1.ConditionTrue, reasonComplete, fmt.Sprintf("ReplicaSet %q has successfully progressed.", name), 10)
}

func TestAScalingThatWaitsDoesNotHoldUpARollout(t *testing.T) {
	d := web(5, "v2", withLimits("0", "1"), replacedBy(whenTerminated), counted(4, 0, 4, 4, completeWith("web-v1")))
	d.Status.TerminatingReplicas = new(int32(1))
	if s := following(stateOf(d, set("v1", 4, 4, terminating(1), sized("4", "4"))), 5); newPlan(s).newRS == nil {
		t.Errorf("no new ReplicaSet; %v", progressing(s))
	}
	d = web(8, "v2", withLimits("0", "4"), replacedBy(whenTerminated))
	if s := following(stateOf(d, set("v1", 3, 3, terminating(1), sized("4", "4")), set("v2", 0, 0)), 6); newPlan(s).newRS.size == 0 {
		t.Errorf("the sizes stay %v", sizesOf(s))
	}
}

// Its controller may have created pods of which its status does not tell yet.
func TestAReplicaSetThatIsNotObservedLeavesNoRoom(t *testing.T) {
	unobserved := func(rs *ReplicaSet) { rs.Observed = false }
	p := newPlan(stateOf(web(4, "v3", withLimits("4", "0"), replacedBy(whenTerminated)), set("v1", 4, 4), set("v2", 0, 0, unobserved), set("v3", 0, 0)))
	expect(t, "room", int64(0), p.room())
}

func TestARollbackKeepsThePolicy(t *testing.T) {
	other := func(rs *ReplicaSet) {
		all := rs.allAnnotations()
		all[replacementAnnotation] = whenTerminating
		rs.SetAnnotations(all)
	}
	d := web(3, "v2", annotated(map[string]string{replacementAnnotation: whenTerminated, RollbackAnnotation: "1"}))
	for _, old := range []*ReplicaSet{set("v1", 0, 0), set("v1", 0, 0, other)} {
		actions, _ := Plan(stateOf(d, old, set("v2", 3, 3)))
		at := slices.IndexFunc(actions, func(a Action) bool { _, is := a.(RollBack); return is })
		back := actions[at].(RollBack)
		if _, changes := back.Annotations[replacementAnnotation]; changes || slices.Contains(back.Remove, replacementAnnotation) {
			t.Errorf("%v", back)
		}
	}
}

// A pod that is evicted again and again ends each time.
func TestNewPodsThatEndAreNoProgress(t *testing.T) {
	d := web(3, "v2", withLimits("1", "1"), replacedBy(whenTerminated), counted(4, 1, 3, 3, progressed(corev1.ConditionTrue, reasonProgressed)))
	s := stateOf(d, set("v1", 2, 2), set("v2", 1, 0))
	for i := range 6 {
		for _, rs := range s.ReplicaSets {
			if rs.Observed, rs.Existing = true, rs.Replicas; rs.Name == "web-v2" {
				rs.Terminating = new(int32((i + 1) % 2))
			}
		}
		actions, _ := Plan(s)
		s = carryOut(s, actions)
		s.Now = s.Now.Add(5 * time.Minute)
	}
	expect(t, "reason", ReasonTimedOut, progressing(s).Reason)
}
