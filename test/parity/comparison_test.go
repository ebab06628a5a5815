package parity

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// example is what one cluster might show; number makes it that cluster's own.
func example(number string) *view {
	created := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, len(number), 0, time.UTC))
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{
			Name: name, Namespace: "n", UID: "uid-" + "0", ResourceVersion: number, CreationTimestamp: created,
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: number}},
		}
	}
	d := deployment()
	d.ObjectMeta = meta("web")
	d.Annotations = map[string]string{revisionAnnotation: "2"}
	d.Status.Conditions = []appsv1.DeploymentCondition{{
		Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Reason: "FailedCreate",
		Message: `pods "web-5d8f-x` + strings.Repeat("y", 4-len(number)) + number + `" is forbidden`, LastUpdateTime: created, LastTransitionTime: created,
	}}
	rs := replicaSet("web-hash"+number, "web", "i:1", 2)
	rs.ObjectMeta = meta("web-hash" + number)
	rs.Labels = map[string]string{"app": "web", appsv1.DefaultDeploymentUniqueLabelKey: "hash" + number}
	rs.Annotations = map[string]string{revisionAnnotation: "2"}
	rs.Spec.Template.Annotations = map[string]string{restartedAt: "time-" + number}
	rs.OwnerReferences = []metav1.OwnerReference{{Kind: "Deployment", Name: "web", UID: "owner-" + "0"}}
	rs.Generation, rs.Status.ObservedGeneration = int64(len(number)), int64(len(number))
	event := func(at, message string) *corev1.Event {
		return &corev1.Event{
			ObjectMeta: metav1.ObjectMeta{Name: "web." + at + number}, InvolvedObject: corev1.ObjectReference{Kind: "Deployment", Name: "web", UID: "uid-0"},
			Type: "Normal", Reason: "ScalingReplicaSet", Message: message, Count: 1, LastTimestamp: created,
		}
	}
	return &view{
		deployments: []*appsv1.Deployment{d}, replicaSets: []*appsv1.ReplicaSet{rs},
		events: []*corev1.Event{event("b", "second"), event("a", "Scaled up replica set web-hash"+number+" from 0 to 2")},
	}
}

func TestWhatIsTheClustersOwnIsNotCompared(t *testing.T) {
	t.Parallel()
	if difference := differenceOf(newSnapshot(example("1")), newSnapshot(example("22"))); difference != "" {
		t.Error(difference)
	}
	if got := newSnapshot(example("1")).Events[0].Message; got != "Scaled up replica set web-HASH-OF-2 from 0 to 2" {
		t.Errorf("the first Event is %q", got)
	}
}

func TestEveryOtherDifferenceIsFound(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*view){
		"a label":             func(v *view) { v.deployments[0].Labels = map[string]string{"a": "b"} },
		"an annotation":       func(v *view) { v.replicaSets[0].Annotations["a"] = "b" },
		"a generation":        func(v *view) { v.deployments[0].Generation++ },
		"an observation":      func(v *view) { v.replicaSets[0].Status.ObservedGeneration-- },
		"an owner":            func(v *view) { v.replicaSets[0].OwnerReferences[0].Name = "other" },
		"a deletion":          func(v *view) { v.replicaSets[0].DeletionTimestamp = &metav1.Time{Time: time.Now()} },
		"a size":              func(v *view) { v.replicaSets[0].Spec.Replicas = new(int32(9)) },
		"a template":          func(v *view) { v.replicaSets[0].Spec.Template.Spec.HostNetwork = true },
		"a count":             func(v *view) { v.deployments[0].Status.ReadyReplicas++ },
		"a reason":            func(v *view) { v.deployments[0].Status.Conditions[0].Reason = "Other" },
		"a message":           func(v *view) { v.deployments[0].Status.Conditions[0].Message += "!" },
		"a missing object":    func(v *view) { v.replicaSets = nil },
		"a further Event":     func(v *view) { v.events = append(v.events, v.events[0]) },
		"an Event's count":    func(v *view) { v.events[0].Count++ },
		"an Event's source":   func(v *view) { v.events[0].Source.Component = "somebody" },
		"the order of Events": func(v *view) { v.events[0].Name = "web.0" },
	} {
		changed := example("1")
		change(changed)
		if differenceOf(newSnapshot(example("1")), newSnapshot(changed)) == "" {
			t.Errorf("%s is not noticed", name)
		}
	}
}

func TestOnlyTimesAreLeftOutOfKubectlsWords(t *testing.T) {
	t.Parallel()
	words := func(created, age string) string {
		return withoutTimes("CreationTimestamp:      " + created + "\nEvents:\n  Type    Reason   Age" + strings.Repeat(" ", len(age)) + "From\n" +
			"  Normal  Scaling  " + age + "  deployment-controller  Scaled up\n  Normal  Scaling  5s (x2 over " + age + ")  deployment-controller  Scaled down")
	}
	one, other := words("Sat, 21 Nov 2026 00:00:01 +0000", "3s"), words("Sun, 22 Nov 2026 00:00:02 +0000", "1m12s")
	if one != other {
		t.Errorf("%s\nis not\n%s", one, other)
	}
	if !strings.Contains(one, "(x2 over") || !strings.Contains(one, "Scaled down") {
		t.Errorf("too much is left out: %s", one)
	}
}

func TestTheStepsOfAScalingAreJoined(t *testing.T) {
	t.Parallel()
	said := func(messages ...string) *snapshot {
		s := &snapshot{}
		for _, message := range messages {
			s.Events = append(s.Events, event{Deployment: "web", Message: message})
		}
		return s
	}
	down, up := "Scaled down replica set web-1 from ", "Scaled up replica set web-2 from "
	got, want := said(up+"0 to 10", down+"10 to 9", up+"0 to 1", down+"9 to 7", up+"1 to 3", "other"), said(up+"0 to 10", down+"10 to 7", up+"0 to 3", "other")
	got.joinScalings()
	if difference := differenceOf(got, want); difference != "" {
		t.Error(difference)
	}
}
