package main

import (
	"context"
	"fmt"
	"maps"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// podsStartLater is how long after the last edit the pods are said to have
// started: beyond what the controller allows clocks to differ.
const podsStartLater = 3 * time.Second

// createPods gives each Deployment of a namespace a ReplicaSet and a running pod,
// as a controller manager and a kubelet would.
func (s *stage) createPods(ctx context.Context, namespace string) error {
	if err := s.createAccount(ctx, namespace); err != nil {
		return err
	}
	list, err := s.client.AppsV1().Deployments(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list deployments: %w", err)
	}
	started := metav1.NewTime(time.Now().Add(podsStartLater))
	return inParallel(ctx, writers, len(list.Items), func(ctx context.Context, number int) error {
		return s.createPodOf(ctx, &list.Items[number], started)
	})
}

// createAccount makes what pods of a namespace need, as a controller manager would.
func (s *stage) createAccount(ctx context.Context, namespace string) error {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "default"}}
	_, err := s.client.CoreV1().ServiceAccounts(namespace).Create(ctx, account, metav1.CreateOptions{})
	return wrapCreate(err, "service account", account)
}

func (s *stage) createPodOf(ctx context.Context, deployment *appsv1.Deployment, started metav1.Time) error {
	const hash = "5d9c7c5f6b" // any value will do: pods are matched by owner
	template := deployment.Spec.Template.DeepCopy()
	template.Labels = maps.Clone(template.Labels)
	template.Labels[appsv1.DefaultDeploymentUniqueLabelKey] = hash
	owned := func(owner metav1.Object, kind string) metav1.ObjectMeta {
		return metav1.ObjectMeta{
			Namespace: deployment.Namespace, Name: owner.GetName() + "-" + hash, Labels: template.Labels,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, appsv1.SchemeGroupVersion.WithKind(kind))},
		}
	}
	replicaSet, err := s.client.AppsV1().ReplicaSets(deployment.Namespace).Create(ctx, &appsv1.ReplicaSet{
		ObjectMeta: owned(deployment, "Deployment"),
		Spec: appsv1.ReplicaSetSpec{
			Replicas: deployment.Spec.Replicas,
			Selector: &metav1.LabelSelector{MatchLabels: template.Labels},
			Template: *template,
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create replicaset of %s: %w", deployment.Name, err)
	}
	pods := s.client.CoreV1().Pods(deployment.Namespace)
	pod, err := pods.Create(ctx, &corev1.Pod{ObjectMeta: owned(replicaSet, "ReplicaSet"), Spec: template.Spec}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create pod of %s: %w", deployment.Name, err)
	}
	pod.Status = runningSince(started, &pod.Spec.Containers[0])
	if _, err := pods.UpdateStatus(ctx, pod, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("update status of pod %s: %w", pod.Name, err)
	}
	return nil
}

func runningSince(started metav1.Time, container *corev1.Container) corev1.PodStatus {
	return corev1.PodStatus{
		Phase:     corev1.PodRunning,
		StartTime: &started,
		ContainerStatuses: []corev1.ContainerStatus{{
			Name: container.Name, Image: container.Image, Ready: true,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: started}},
		}},
	}
}
