package deployment

import (
	"fmt"
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func (s *stage) setPods(rs *appsv1.ReplicaSet, available int32) {
	s.cluster.changeReplicaSet(rs, func(rs *appsv1.ReplicaSet) {
		rs.Status = appsv1.ReplicaSetStatus{
			ObservedGeneration: rs.Generation, Replicas: *rs.Spec.Replicas, ReadyReplicas: available, AvailableReplicas: available, TerminatingReplicas: new(int32(0)),
		}
	})
	s.showPods()
}

// restarted is what pods show that are ready, and have restarted too often.
const restarted = "restarted"

// showPods brings pods up to date with the status of their ReplicaSets, and with what they show. It puts only those that look
// different then.
func (s *stage) showPods() {
	for _, name := range slices.Sorted(maps.Keys(s.cluster.replicaSets)) {
		rs := s.cluster.replicaSets[name]
		for i := range rs.Status.Replicas {
			s.showPod(rs, i, s.cluster.pods[podName(rs, i)])
		}
		for i := rs.Status.Replicas; s.cluster.pods[podName(rs, i)] != nil; i++ {
			s.cluster.delete(s.cluster.pods[podName(rs, i)])
		}
	}
}

func podName(rs *appsv1.ReplicaSet, i int32) string { return fmt.Sprintf("%s-%d", rs.Name, i) }

func (s *stage) showPod(rs *appsv1.ReplicaSet, i int32, present *corev1.Pod) {
	made := s.now
	if present != nil {
		made = present.Status.StartTime.Time
	}
	pod := podOwnedBy(rs, podName(rs, i))
	pod.Labels, pod.Status = rs.Spec.Template.Labels, podStatus(s.sights[imageOf(&rs.Spec.Template)], i < rs.Status.ReadyReplicas, made)
	if present == nil || !apiequality.Semantic.DeepEqual(pod.Status, present.Status) {
		s.cluster.put(pod)
	}
}

func podOwnedBy(rs *appsv1.ReplicaSet, name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: name,
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(rs, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))},
	}}
}

// podStatus is the status of a pod with one container.
func podStatus(sight string, isReady bool, made time.Time) corev1.PodStatus {
	container := corev1.ContainerStatus{Name: "app", Ready: isReady}
	waiting := func(reason string) {
		container.State.Waiting = &corev1.ContainerStateWaiting{Reason: reason}
	}
	switch {
	case sight == "crash" && !isReady:
		container.RestartCount = 1
		waiting("CrashLoopBackOff")
	case sight == "config" && !isReady:
		waiting("CreateContainerConfigError")
	case sight == "image" && !isReady:
		waiting("ImagePullBackOff")
	case sight == "hanging", isReady, sight == restarted:
		container.State.Running = &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(made)}
	}
	if sight == restarted {
		container.RestartCount = 2
	}
	status := corev1.PodStatus{StartTime: new(metav1.NewTime(made)), Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}}}
	if isReady {
		status.Conditions[0].Status = corev1.ConditionTrue
	}
	if container.State != (corev1.ContainerState{}) {
		status.ContainerStatuses = []corev1.ContainerStatus{container}
	}
	return status
}

func (s *stage) endPods(rs *appsv1.ReplicaSet, n int32) {
	for _, pod := range s.cluster.pods {
		if pod.DeletionTimestamp != nil {
			s.cluster.delete(pod)
		}
	}
	for i := range n {
		pod := podOwnedBy(rs, fmt.Sprint("pod-", i))
		pod.DeletionTimestamp = &metav1.Time{Time: s.now}
		s.cluster.put(pod)
	}
}
