package rollout

import (
	"math"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func TestANewReplicaSetIsPlannedCompletely(t *testing.T) {
	d := web(10, "v2", annotated(map[string]string{"kubernetes.io/change-cause": "because"}))
	actions, _ := Plan(stateOf(d, set("v1", 10, 10)))
	expect(t, "order", CreateReplicaSet{
		Name: "web-" + hashOf("v2"), Hash: hashOf("v2"), Replicas: 3,
		Annotations: map[string]string{
			RevisionAnnotation: "2", desiredReplicasAnnotation: "10", maxReplicasAnnotation: "13", "kubernetes.io/change-cause": "because",
		},
	}, actions[0])
}

// A Deployment that is being deleted makes no ReplicaSets, but keeps up the one that it has,
// which may outlive it.
func TestADeletionLeavesTheNewReplicaSetUpToDate(t *testing.T) {
	deleted := func(d *appsv1.Deployment) {
		d.DeletionTimestamp = &metav1.Time{Time: noon}
		d.Annotations["note"] = "last"
	}
	expect(t, "orders", []string{}, orders(stateOf(web(3, "v3", deleted), set("v1", 1, 1), set("v2", 2, 2))))
	expect(t, "orders", []string{"update replicaset web-v1, revision 3, revision-history 1, annotation note"},
		orders(stateOf(web(3, "v1", deleted), set("v1", 1, 1), set("v2", 2, 2))))
}

func TestADeletionDoesNotCountWhatIsNotSelectedAnyMore(t *testing.T) {
	deleted := func(d *appsv1.Deployment) { d.DeletionTimestamp = &metav1.Time{Time: noon} }
	other := set("v1", 2, 2, func(rs *ReplicaSet) { rs.SetLabels(map[string]string{"app": "other"}) })
	if got := statusOf(stateOf(web(3, "v2", deleted), other, set("v2", 3, 3))).Replicas; got != 3 {
		t.Errorf("%d pods", got)
	}
}

func TestAFailedCreationIsReported(t *testing.T) {
	name := "web-" + hashOf("v2")
	message := `Failed to create new replica set "` + name + `": no quota`
	failed := func(reason, message string) appsv1.DeploymentCondition {
		return condition(appsv1.DeploymentProgressing, corev1.ConditionFalse, reason, message, 3000)
	}
	stamped := metav1.Time{Time: now}
	noted := &appsv1.DeploymentCondition{
		Type: appsv1.DeploymentProgressing, Status: corev1.ConditionFalse, Reason: ReasonCreateFailed, Message: message,
		LastUpdateTime: stamped, LastTransitionTime: stamped,
	}
	kept := failed(ReasonCreateFailed, "earlier")
	for title, test := range map[string]struct {
		d        *Deployment
		creation CreationFailure
		want     []string
		noted    *appsv1.DeploymentCondition
	}{
		"for the first time": {
			web(3, "v2", counted(3, 3, 3, 3, progressed(corev1.ConditionTrue, reasonComplete))), CreationFailure{Name: name, Message: "no quota"},
			[]string{"event Warning ReplicaSetCreateError: " + message}, noted,
		},
		"again: only the event": {
			web(3, "v2", counted(3, 3, 3, 3, kept)), CreationFailure{Name: name, Message: "no quota"},
			[]string{"event Warning ReplicaSetCreateError: " + message}, &kept,
		},
		"without a deadline there is no condition": {
			web(3, "v2", withDeadline(math.MaxInt32)), CreationFailure{Name: name, Message: "no quota"},
			[]string{"event Warning ReplicaSetCreateError: " + message}, nil,
		},
		"another name's failure is over": {
			web(3, "v2", withLimits("1", "0"), counted(3, 0, 3, 3)), CreationFailure{Name: "web-other", Message: "no quota"},
			[]string{"create replicaset " + name + " with 1, revision 2"}, &appsv1.DeploymentCondition{
				Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: reasonCreated, Message: `Created new replica set "` + name + `"`,
				LastUpdateTime: stamped, LastTransitionTime: stamped,
			},
		},
	} {
		t.Run(title, func(t *testing.T) {
			s := stateOf(test.d, set("v1", 3, 3))
			s.Creation = test.creation
			expect(t, "orders", test.want, orders(s))
			expect(t, "condition", test.noted, progressing(s))
		})
	}
}

func TestACreationThatFailsDoesNotExceedTheDeadline(t *testing.T) {
	s := stateOf(web(3, "v2", counted(3, 0, 3, 3, progressed(corev1.ConditionFalse, ReasonCreateFailed))), set("v1", 3, 3))
	s.Creation = CreationFailure{Name: "web-" + hashOf("v2"), Message: "no quota"}
	s.Now = noonPlus(1e6)
	if _, wake := Plan(s); !wake.IsZero() || progressing(s).Reason != ReasonCreateFailed {
		t.Errorf("wake at %s, %+v", wake, progressing(s))
	}
}

func TestACollisionIsCountedAndGivesAnotherName(t *testing.T) {
	for name, test := range map[string]struct {
		before *int32
		want   int32
	}{
		"the first":  {nil, 1},
		"the second": {new(int32(1)), 2},
		"the next":   {new(int32(7)), 8},
	} {
		t.Run(name, func(t *testing.T) {
			d := web(3, "v2", withLimits("1", "0"), counted(3, 0, 3, 3))
			d.Status.CollisionCount = test.before
			s := stateOf(d, set("v1", 3, 3))
			hash := TemplateHash(d.Template.decode(), test.before)
			s.Creation = CreationFailure{Name: "web-" + hash, Collided: true}
			expect(t, "orders", []string{}, orders(s))
			status := statusOf(s)
			if status.CollisionCount == nil || *status.CollisionCount != test.want {
				t.Fatalf("collisions %v", status.CollisionCount)
			}
			if c := progressing(s); c != nil {
				t.Errorf("condition %+v", c)
			}
			d = web(3, "v2", withStatus(*status), withLimits("1", "0"))
			s = stateOf(d, set("v1", 3, 3))
			s.Creation = CreationFailure{Name: "web-" + hash, Collided: true} // remembered for too long
			expect(t, "then", []string{"create replicaset web-" + TemplateHash(d.Template.decode(), &test.want) + " with 1, revision 2"}, orders(s))
		})
	}
}

func TestADeploymentThatCannotBePlannedIsRejectedOncePerGeneration(t *testing.T) {
	sets := []*ReplicaSet{set("v1", 3, 3), set("v2", 1, 1)}
	for name, test := range map[string]struct {
		change          func(*appsv1.Deployment)
		reason, message string
	}{
		"an empty selector": {
			func(d *appsv1.Deployment) { d.Spec.Selector = &metav1.LabelSelector{} }, reasonSelectingAll,
			"This deployment is selecting all pods. A non-empty selector is required.",
		},
		"no selector": {
			func(d *appsv1.Deployment) { d.Spec.Selector = nil }, reasonSelectingAll,
			"This deployment is selecting all pods. A non-empty selector is required.",
		},
		"an invalid operator": {
			func(d *appsv1.Deployment) {
				d.Spec.Selector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Like", Values: []string{"b"}}}
			}, reasonInvalidSelector, `This deployment's selector is not valid: "Like" is not a valid label selector operator`,
		},
		"a selector that is too large": {
			func(d *appsv1.Deployment) {
				values := slices.Repeat([]string{"web"}, maxDemands-1)
				d.Spec.Selector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpIn, Values: values}}
			}, reasonInvalidSelector, "This deployment's selector has 10001 requirements and values. The deployment engine takes 10000.",
		},
		"no strategy": {
			func(d *appsv1.Deployment) { d.Spec.Strategy = appsv1.DeploymentStrategy{} }, reasonInvalidStrategy, `This deployment's strategy "" is not known.`,
		},
		"an unknown strategy": {
			func(d *appsv1.Deployment) { d.Spec.Strategy.Type = "Odd" }, reasonInvalidStrategy, `This deployment's strategy "Odd" is not known.`,
		},
		"an invalid percentage": {
			func(d *appsv1.Deployment) { d.Spec.Strategy.RollingUpdate.MaxSurge = new(intstr.FromString("lots")) }, reasonInvalidStrategy,
			"This deployment's rolling update is not valid: resolve maxSurge: invalid value for IntOrString: invalid type: string is not a percentage",
		},
	} {
		t.Run(name, func(t *testing.T) {
			status := appsv1.DeploymentStatus{ObservedGeneration: 1, Replicas: 7}
			d := web(3, "v3", withStatus(status), test.change)
			if d.Invalid == nil {
				t.Fatal("it is valid")
			}
			s := stateOf(d, sets...)
			s.Orphans = []*ReplicaSet{set("v4", 1, 1)}
			status.ObservedGeneration = 2
			actions, wake := Plan(s)
			expect(t, "actions", []Action{
				UpdateStatus{Status: status},
				RecordEvent{Type: corev1.EventTypeWarning, Reason: test.reason, Message: test.message},
			}, actions)
			d.Status.ObservedGeneration = 2
			again, wakeAgain := Plan(s)
			if len(again) > 0 || !wake.IsZero() || !wakeAgain.IsZero() {
				t.Errorf("again: %v", again)
			}
			if rs := set("v1", 0, 0); d.Invalid.Reason != reasonInvalidStrategy && d.Selects(rs) {
				t.Error("it selects something")
			}
		})
	}
}
