package podsight_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/internal/podsight"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

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
	ready := running
	ready.Ready = true
	lacks := func(message string) corev1.PodStatus {
		status := waiting("CreateContainerConfigError")
		status.State.Waiting.Message = message
		return of(running, status)
	}
	const started = "it has started and is not ready"
	suspects := func(isSecret bool, name string) bool { return !isSecret && name == "web" || isSecret && name == "tls" }
	for name, test := range map[string]struct {
		status corev1.PodStatus
		want   podsight.Condition
		reason string
	}{
		"new":                       {corev1.PodStatus{}, podsight.Unstarted, "no container has started"},
		"running":                   {of(running), podsight.Hanging, started},
		"ready":                     {of(ready), podsight.Fine, ""},
		"a sidecar starts":          {of(ready, waiting("ContainerCreating")), podsight.Unstarted, "it has not started: ContainerCreating"},
		"starting":                  {of(waiting("ContainerCreating")), podsight.Unstarted, "it has not started: ContainerCreating"},
		"restarted once":            {of(restarted(1)), podsight.Hanging, started},
		"an init container waits":   {corev1.PodStatus{InitContainerStatuses: []corev1.ContainerStatus{running}, ContainerStatuses: []corev1.ContainerStatus{waiting("PodInitializing")}}, podsight.Hanging, started},
		"its config does not exist": {lacks(`configmap "web" not found`), podsight.Broken, "CreateContainerConfigError"},
		"its config lacks a key":    {lacks("couldn't find key A in ConfigMap default/web"), podsight.Broken, "CreateContainerConfigError"},
		"its Secret lacks a key":    {lacks("couldn't find key A in Secret default/tls"), podsight.Broken, "CreateContainerConfigError"},
		"another config is missing": {lacks(`configmap "other" not found`), podsight.Blocked, "CreateContainerConfigError"},
		"another Secret lacks it":   {lacks("couldn't find key A in Secret default/web"), podsight.Blocked, "CreateContainerConfigError"},
		"it may not run as root":    {lacks("container has runAsNonRoot and image will run as root"), podsight.Broken, "CreateContainerConfigError"},
		"it has no such subPath":    {lacks(`failed to prepare subPath for volumeMount "data" of container "app"`), podsight.Broken, "CreateContainerConfigError"},
		"it may not read its own":   {lacks(`configmaps "web" is forbidden: User "system:node:n" cannot get`), podsight.Broken, "CreateContainerConfigError"},
		"it may not read another":   {lacks(`secrets "web" is forbidden: User "system:node:n" cannot get`), podsight.Blocked, "CreateContainerConfigError"},
		"nothing was read yet":      {lacks("failed to sync configmap cache: timed out waiting for the condition"), podsight.Blocked, "CreateContainerConfigError"},
		"restarted twice":           {of(running, restarted(2)), podsight.Broken, "it restarts again and again"},
		"crashing":                  {of(running, waiting("CrashLoopBackOff")), podsight.Broken, "CrashLoopBackOff"},
		"a key is missing":          {of(waiting("CreateContainerConfigError")), podsight.Broken, "CreateContainerConfigError"},
		"an init container crashes": {corev1.PodStatus{InitContainerStatuses: []corev1.ContainerStatus{waiting("CrashLoopBackOff")}}, podsight.Broken, "CrashLoopBackOff"},
		"no image":                  {of(waiting("ImagePullBackOff")), podsight.Blocked, "ImagePullBackOff"},
		"no image, another crashes": {of(waiting("ImagePullBackOff"), waiting("CrashLoopBackOff")), podsight.Broken, "CrashLoopBackOff"},
		"no node":                   {is(corev1.PodScheduled, corev1.ConditionFalse, "Unschedulable"), podsight.Blocked, "Unschedulable"},
		"scheduled":                 {is(corev1.PodScheduled, corev1.ConditionTrue, ""), podsight.Unstarted, "no container has started"},
		"not ready":                 {is(corev1.PodReady, corev1.ConditionFalse, "ContainersNotReady"), podsight.Unstarted, "no container has started"},
		"its node does not answer": {corev1.PodStatus{Conditions: []corev1.PodCondition{
			{Type: corev1.PodReady, Status: corev1.ConditionFalse}, {Type: corev1.ContainersReady, Status: corev1.ConditionTrue},
		}}, podsight.Blocked, "it is not ready, but its containers are"},
		"its condition is not known": {is(corev1.PodReady, corev1.ConditionUnknown, "NodeStatusUnknown"), podsight.Blocked, "its node is gone"},
		"evicted by a taint":         {is(corev1.DisruptionTarget, corev1.ConditionTrue, "DeletionByTaintManager"), podsight.Blocked, "its node is gone"},
	} {
		if got := podsight.Of(&corev1.Pod{Status: test.status}, suspects, noon); got.Condition != test.want || got.Reason != test.reason {
			t.Errorf("%s: %d %q, want %d %q", name, got.Condition, got.Reason, test.want, test.reason)
		}
	}
}

func TestAPodThatTerminatesIsFineUnlessNoKubeletEndsIt(t *testing.T) {
	for since, want := range map[time.Duration]podsight.Condition{-10 * time.Second: podsight.Fine, 29 * time.Second: podsight.Fine, 31 * time.Second: podsight.Blocked} {
		pod := corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{waiting("CrashLoopBackOff")}}}
		pod.DeletionTimestamp = &metav1.Time{Time: noon.Add(-since)}
		got := podsight.Of(&pod, nil, noon)
		if got.Condition != want || got.IsLeaving != (want == podsight.Fine) || want == podsight.Blocked && got.Reason != "it does not terminate" {
			t.Errorf("%v after its deletion timestamp: %+v, want %d", since, got, want)
		}
	}
	evicted := corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodFailed, ContainerStatuses: []corev1.ContainerStatus{waiting("CrashLoopBackOff")}}}
	if got := podsight.Of(&evicted, nil, noon); got.Condition != podsight.Fine {
		t.Errorf("a pod that has finished: %+v", got)
	}
}
