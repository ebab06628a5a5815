package delivery_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/controller/delivery"
)

func waiting(reason string) corev1.ContainerStatus {
	return corev1.ContainerStatus{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}}
}

func TestTheConditionOfAPod(t *testing.T) {
	running := corev1.ContainerStatus{State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
	restarted := func(count int32) corev1.ContainerStatus {
		status := running
		status.RestartCount = count
		return status
	}
	is := func(kind corev1.PodConditionType, status corev1.ConditionStatus, reason string) corev1.PodStatus {
		return corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: kind, Status: status, Reason: reason}}}
	}
	of := func(statuses ...corev1.ContainerStatus) corev1.PodStatus {
		return corev1.PodStatus{ContainerStatuses: statuses}
	}
	for name, test := range map[string]struct {
		status corev1.PodStatus
		want   delivery.Condition
		reason string
	}{
		"new":                       {corev1.PodStatus{}, delivery.Fine, ""},
		"running":                   {of(running), delivery.Fine, ""},
		"starting":                  {of(waiting("ContainerCreating")), delivery.Fine, ""},
		"restarted once":            {of(restarted(1)), delivery.Fine, ""},
		"restarted twice":           {of(running, restarted(2)), delivery.Broken, "it restarts again and again"},
		"crashing":                  {of(running, waiting("CrashLoopBackOff")), delivery.Broken, "CrashLoopBackOff"},
		"a key is missing":          {of(waiting("CreateContainerConfigError")), delivery.Broken, "CreateContainerConfigError"},
		"an init container crashes": {corev1.PodStatus{InitContainerStatuses: []corev1.ContainerStatus{waiting("CrashLoopBackOff")}}, delivery.Broken, "CrashLoopBackOff"},
		"no image":                  {of(waiting("ImagePullBackOff")), delivery.Blocked, "ImagePullBackOff"},
		"no image, another crashes": {of(waiting("ImagePullBackOff"), waiting("CrashLoopBackOff")), delivery.Broken, "CrashLoopBackOff"},
		"no node":                   {is(corev1.PodScheduled, corev1.ConditionFalse, "Unschedulable"), delivery.Blocked, "Unschedulable"},
		"scheduled":                 {is(corev1.PodScheduled, corev1.ConditionTrue, ""), delivery.Fine, ""},
		"not ready":                 {is(corev1.PodReady, corev1.ConditionFalse, "ContainersNotReady"), delivery.Fine, ""},
		"its node does not answer": {corev1.PodStatus{Conditions: []corev1.PodCondition{
			{Type: corev1.PodReady, Status: corev1.ConditionFalse}, {Type: corev1.ContainersReady, Status: corev1.ConditionTrue},
		}}, delivery.Blocked, "it is not ready, but its containers are"},
		"its condition is not known": {is(corev1.PodReady, corev1.ConditionUnknown, "NodeStatusUnknown"), delivery.Blocked, "its node is gone"},
		"evicted by a taint":         {is(corev1.DisruptionTarget, corev1.ConditionTrue, "DeletionByTaintManager"), delivery.Blocked, "its node is gone"},
	} {
		if got, reason := delivery.ConditionOf(&corev1.Pod{Status: test.status}, noon); got != test.want || reason != test.reason {
			t.Errorf("%s: %d %q, want %d %q", name, got, reason, test.want, test.reason)
		}
	}
}

func TestAPodThatTerminatesIsFineUnlessNoKubeletEndsIt(t *testing.T) {
	for seconds, want := range map[float64]delivery.Condition{-10: delivery.Fine, 29: delivery.Fine, 31: delivery.Blocked} {
		pod := corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{waiting("CrashLoopBackOff")}}}
		pod.DeletionTimestamp = &metav1.Time{Time: at(-seconds)}
		if got, reason := delivery.ConditionOf(&pod, noon); got != want || got == delivery.Blocked && reason != "it does not terminate" {
			t.Errorf("%v s after its deletion timestamp: %d %q, want %d", seconds, got, reason, want)
		}
	}
	evicted := corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodFailed, ContainerStatuses: []corev1.ContainerStatus{waiting("CrashLoopBackOff")}}}
	if got, _ := delivery.ConditionOf(&evicted, noon); got != delivery.Fine {
		t.Errorf("a pod that has finished: %d", got)
	}
}
