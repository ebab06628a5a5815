package main

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
)

func controlledBy(name string, uid types.UID) []metav1.OwnerReference {
	return []metav1.OwnerReference{{Name: name, UID: uid, Controller: new(true)}}
}

func TestAPodOfAnEmptiedReplicaSetIsNotJudged(t *testing.T) {
	replicaSet := func(name string, replicas int32) *appsv1.ReplicaSet {
		return &appsv1.ReplicaSet{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name), OwnerReferences: controlledBy("web", "web")},
			Spec:       appsv1.ReplicaSetSpec{Replicas: &replicas},
		}
	}
	pod := func(replicaSet string) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: replicaSet + "-pod", OwnerReferences: controlledBy(replicaSet, types.UID(replicaSet))},
			Status:     corev1.PodStatus{Phase: corev1.PodRunning},
		}
	}
	client := fake.NewClientset(
		&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "web"}},
		replicaSet("old", 1), pod("old"), replicaSet("emptied", 0), pod("emptied"),
	)
	pods, err := podsAtRest(t.Context(), client)
	if err != nil {
		t.Fatal(err)
	}
	if len(pods) != 1 || pods[0].Name != "old-pod" {
		t.Errorf("judged are %+v, want only the pod of the ReplicaSet that wants one", pods)
	}
}
