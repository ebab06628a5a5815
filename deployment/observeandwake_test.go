package deployment

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/deployment/rollout"
)

func TestAPodRunsUntilItHasFinished(t *testing.T) {
	for phase, runs := range map[corev1.PodPhase]bool{
		corev1.PodPending: true, corev1.PodRunning: true, corev1.PodUnknown: true, "": true, corev1.PodSucceeded: false, corev1.PodFailed: false,
	} {
		object := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "ns", Name: "web-1", UID: "uid", ResourceVersion: "3", DeletionTimestamp: &metav1.Time{Time: noon},
				OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "web-v1", UID: "uid-of-web-v1", Controller: new(true)}},
			},
			Status: corev1.PodStatus{Phase: phase},
		}
		expect(t, "pod", &pod{Meta: rollout.Meta{Namespace: "ns", Name: "web-1", UID: "uid", ResourceVersion: "3"}, controller: "uid-of-web-v1", runs: runs}, newPod(object), cmp.AllowUnexported(pod{}))
		object.OwnerReferences[0].Kind = "Job"
		expect(t, "pod of a job", &pod{Meta: rollout.Meta{Namespace: "ns", Name: "web-1", UID: "uid", ResourceVersion: "3"}, runs: runs}, newPod(object), cmp.AllowUnexported(pod{}))
	}
}

func TestAnotherKindOfObjectIsAnError(t *testing.T) {
	for _, reduce := range []func() error{
		func() error { _, err := reduceDeployment(&corev1.Pod{}); return err },
		func() error { _, err := reduceReplicaSet(&corev1.Pod{}); return err },
		func() error { _, err := reducePod(&appsv1.Deployment{}); return err },
	} {
		if reduce() == nil {
			t.Error("no error")
		}
	}
}
