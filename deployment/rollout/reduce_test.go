package rollout

import (
	"math"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubernetes-deployment-restart-controller/deployment/deploymenttest"
	"kubernetes-deployment-restart-controller/internal/origin"
)

func TestADeploymentIsReducedToWhatPlansLookAt(t *testing.T) {
	object := deploymentObject(10, "v1", annotated(map[string]string{
		"a": "b", corev1.LastAppliedConfigAnnotation: "{}", configChecksumsAnnotation: "{}", configBasisAnnotation: "{}", RevisionAnnotation: "3",
	}), withHistoryLimit(3), func(d *appsv1.Deployment) {
		d.Spec.MinReadySeconds, d.Spec.Paused = 7, true
		d.DeletionTimestamp = &metav1.Time{Time: noon}
	})
	got := NewDeployment(object)
	template := templateOf("v1")
	sum, bare := sumsOf(&template, false)
	expect(t, "deployment", &Deployment{
		Meta:       Meta{Namespace: "ns", Name: "web", UID: "uid-of-web", ResourceVersion: "100"},
		Generation: 2, Annotations: map[string]string{"a": "b", RevisionAnnotation: "3"}, Deleting: true, Replicas: 10, Paused: true,
		Strategy: appsv1.RollingUpdateDeploymentStrategyType, Limits: Limits{3, 2}, MinReadySeconds: 7,
		HistoryLimit: new(int32(3)), ProgressDeadline: new(600 * time.Second),
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
		Template: encodeTemplate(&template), Sum: sum, Bare: bare, Status: appsv1.DeploymentStatus{ObservedGeneration: 2},
	}, got)
	if _, kept := object.Annotations[corev1.LastAppliedConfigAnnotation]; !kept {
		t.Error("the object was modified")
	}
	expect(t, "template", &template, got.Template.decode())
}

func TestARestartIsToldFromAReleaseIfTheDeploymentAsksToFallBack(t *testing.T) {
	restarted := func(d *appsv1.Deployment) {
		d.Spec.Template.Annotations = map[string]string{origin.RestartedAt: "now"}
	}
	asks := annotated(map[string]string{onFailureAnnotation: fallBack})
	plain, asking := web(3, "v1", restarted), web(3, "v1", restarted, asks)
	if plain.Sum != asking.Sum || plain.Bare != plain.Sum || asking.Bare != web(3, "v1").Sum {
		t.Errorf("sums %x and %x, bare %x and %x", plain.Sum, asking.Sum, plain.Bare, asking.Bare)
	}
	object := deploymenttest.ReplicaSet("v1", 3, 3)
	object.Spec.Template.Annotations = map[string]string{origin.RestartedAt: "now"}
	if rs := NewReplicaSet(object); rs.Bare != rs.Sum {
		t.Error("the ReplicaSet of a Deployment that does not ask has a second sum")
	}
	object.Annotations[onFailureAnnotation] = fallBack
	if rs := NewReplicaSet(object); rs.Bare != asking.Bare || rs.Sum != asking.Sum {
		t.Error("the ReplicaSet of a Deployment that asks has other sums")
	}
}

func TestAbsentFieldsHaveTheirMeaning(t *testing.T) {
	d := web(3, "v1", func(d *appsv1.Deployment) {
		d.Spec.Replicas, d.Spec.ProgressDeadlineSeconds, d.Spec.RevisionHistoryLimit = nil, nil, nil
	})
	if d.Replicas != 1 || d.ProgressDeadline != nil || d.HistoryLimit != nil {
		t.Errorf("%d replicas, deadline %v, limit %v", d.Replicas, d.ProgressDeadline, d.HistoryLimit)
	}
	if d := web(3, "v1", withDeadline(math.MaxInt32)); d.ProgressDeadline != nil {
		t.Errorf("deadline %v", d.ProgressDeadline)
	}
}

func TestAReplicaSetIsReducedToWhatPlansLookAt(t *testing.T) {
	template := templateOf("v1")
	sum, bare := sumsOf(&template, false)
	failure := appsv1.ReplicaSetCondition{Type: appsv1.ReplicaSetReplicaFailure, Reason: "FailedCreate"}
	object := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: "web-v1", UID: "uid", ResourceVersion: "12", Generation: 4, CreationTimestamp: metav1.Time{Time: noon},
			DeletionTimestamp: &metav1.Time{Time: noon}, Labels: map[string]string{"app": "web", HashLabel: "5d"},
			Annotations:     map[string]string{"a": "b", RevisionAnnotation: "3", corev1.LastAppliedConfigAnnotation: "{}"},
			OwnerReferences: []metav1.OwnerReference{{Kind: "Other", UID: "other"}, {APIVersion: "apps/v1", Kind: "Deployment", Name: "web", UID: "uid-of-web", Controller: new(true)}},
		},
		Spec: appsv1.ReplicaSetSpec{Replicas: new(int32(5)), MinReadySeconds: 7, Template: template},
		Status: appsv1.ReplicaSetStatus{
			Replicas: 4, ReadyReplicas: 3, AvailableReplicas: 2, TerminatingReplicas: new(int32(1)), ObservedGeneration: 4,
			Conditions: []appsv1.ReplicaSetCondition{{Type: "Other"}, failure},
		},
	}
	every := func(string) bool { return true }
	want := &ReplicaSet{
		Meta:    Meta{Namespace: "ns", Name: "web-v1", UID: "uid", ResourceVersion: "12"},
		Created: noon, Hash: new("5d"), Labels: PackPairs(map[string]string{"app": "web"}, every), Annotations: map[string]string{RevisionAnnotation: "3"}, Copied: PackPairs(map[string]string{"a": "b"}, every),
		Controller: "uid-of-web", ControllerName: "web", Deleting: true, Sum: sum, Bare: bare, Replicas: 5, MinReadySeconds: 7,
		Observed: true, Existing: 4, Ready: 3, Available: 2, Terminating: new(int32(1)), Failure: &failure,
	}
	expect(t, "replicaset", want, NewReplicaSet(object))
	object.Generation = 5
	want.Observed = false
	expect(t, "not observed", want, NewReplicaSet(object))
	object.Spec.Replicas = nil
	want.Replicas = 1
	expect(t, "one by default", want, NewReplicaSet(object))
}

func TestTheControllerOfAReplicaSetMayBeAnything(t *testing.T) {
	owner := func(version, kind string, controls bool) []metav1.OwnerReference {
		return []metav1.OwnerReference{{APIVersion: version, Kind: kind, Name: "web", UID: "uid", Controller: &controls}}
	}
	for name, test := range map[string]struct {
		owners []metav1.OwnerReference
		uid    types.UID
		named  string
	}{
		"none":                           {nil, "", ""},
		"an owner that does not control": {owner("apps/v1", "Deployment", false), "", ""},
		"a Deployment":                   {owner("apps/v1", "Deployment", true), "uid", "web"},
		"a Deployment of apps/v1beta1":   {owner("apps/v1beta1", "Deployment", true), "uid", "web"},
		"a Deployment of apps/v1beta2":   {owner("apps/v1beta2", "Deployment", true), "uid", "web"},
		"a Deployment of extensions":     {owner("extensions/v1beta1", "Deployment", true), "uid", "web"},
		"a StatefulSet":                  {owner("apps/v1", "StatefulSet", true), "uid", ""},
		"a Rollout":                      {owner("argoproj.io/v1alpha1", "Rollout", true), "uid", ""},
		"a Deployment of another kind":   {owner("example.com/v1", "Deployment", true), "uid", ""},
	} {
		t.Run(name, func(t *testing.T) {
			rs := NewReplicaSet(&appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{OwnerReferences: test.owners}})
			if rs.Controller != test.uid || rs.ControllerName != test.named {
				t.Errorf("controller %s, %s", rs.Controller, rs.ControllerName)
			}
		})
	}
}
