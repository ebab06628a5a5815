package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/deployment/rollout"
	"kubernetes-deployment-restart-controller/test/harness"
)

// The labels of the example's pods, and the annotation that counts its templates.
const (
	appLabel           = "app"
	revisionAnnotation = "deployment.kubernetes.io/revision"
)

// driven waits for the Deployment's ReplicaSet, and sees that it cannot be the work
// of kube-controller-manager.
func (s *story) driven(ctx context.Context) (string, error) {
	disabled, err := s.disabledMessage()
	if err != nil {
		return "", err
	}
	var seen string
	err = harness.Eventually(ctx, s.stage.limit, func(ctx context.Context) error {
		replicaSets, err := s.replicaSets(ctx)
		if err != nil {
			return err
		}
		if len(replicaSets) != 1 {
			return fmt.Errorf("the Deployment has %d ReplicaSets, want one", len(replicaSets))
		}
		seen, err = s.describe(&replicaSets[0])
		return err
	})
	return disabled + "\n" + seen, err
}

// disabledMessage finds where kube-controller-manager says that it runs without its
// deployment controller.
func (s *story) disabledMessage() (string, error) {
	log, err := s.stage.cluster.ComponentLog(harness.ControllerManager)
	if err != nil {
		return "", fmt.Errorf("read the log of %s: %w", harness.ControllerManager, err)
	}
	for line := range strings.Lines(log) {
		if _, message, found := strings.Cut(line, "] "); found && strings.Contains(message, `disabled" controller="deployment-controller"`) {
			return harness.ControllerManager + ": " + trimmed(message), nil
		}
	}
	return "", fmt.Errorf("the log of %s does not say that its deployment controller is disabled", harness.ControllerManager)
}

// rolledOver waits until all pods are of a second ReplicaSet, and shows them.
func (s *story) rolledOver(ctx context.Context) (string, error) {
	status, err := s.rolledOut(ctx)
	if err != nil {
		return "", err
	}
	s.rolled = time.Now()
	replicaSets, err := s.replicaSets(ctx)
	if err != nil {
		return "", err
	}
	if len(replicaSets) != 2 {
		return "", fmt.Errorf("the Deployment has %d ReplicaSets, want an old and a new one", len(replicaSets))
	}
	seen := []string{status}
	for i := range replicaSets {
		line, err := s.describe(&replicaSets[i])
		if err != nil {
			return "", err
		}
		seen = append(seen, line)
	}
	pods, err := s.readyPods(ctx, &replicaSets[1])
	if err != nil {
		return "", err
	}
	return strings.Join(append(seen, pods...), "\n"), nil
}

// replicaSets returns those of the Deployment in the order of their revisions.
func (s *story) replicaSets(ctx context.Context) ([]appsv1.ReplicaSet, error) {
	list, err := s.client.AppsV1().ReplicaSets(namespace).List(ctx, metav1.ListOptions{LabelSelector: appLabel + "=" + deploymentName})
	if err != nil {
		return nil, fmt.Errorf("list ReplicaSets: %w", err)
	}
	slices.SortFunc(list.Items, func(a, b appsv1.ReplicaSet) int {
		return cmp.Compare(a.Annotations[revisionAnnotation], b.Annotations[revisionAnnotation])
	})
	return list.Items, nil
}

// describe describes a ReplicaSet in one line. It is an error if the engine has not
// made it.
func (s *story) describe(rs *appsv1.ReplicaSet) (string, error) {
	made := func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Manager == rollout.FieldManager && entry.Operation == metav1.ManagedFieldsOperationUpdate
	}
	if !slices.ContainsFunc(rs.ManagedFields, made) {
		return "", fmt.Errorf("nothing in ReplicaSet %s was written by %s", rs.Name, rollout.FieldManager)
	}
	return fmt.Sprintf("replicaset %s: revision %s, wants %d pods, written by %s",
		rs.Name, rs.Annotations[revisionAnnotation], *rs.Spec.Replicas, rollout.FieldManager), nil
}

// readyPods waits until as many pods of a ReplicaSet are ready as it wants, and none
// of another is left, and names them.
func (s *story) readyPods(ctx context.Context, rs *appsv1.ReplicaSet) ([]string, error) {
	var seen []string
	err := harness.Eventually(ctx, s.stage.limit, func(ctx context.Context) error {
		pods, err := s.client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: appLabel + "=" + deploymentName})
		if err != nil {
			return fmt.Errorf("list pods: %w", err)
		}
		seen = nil
		for i := range pods.Items {
			pod := &pods.Items[i]
			if !metav1.IsControlledBy(pod, rs) {
				return fmt.Errorf("pod %s of the old ReplicaSet is still there", pod.Name)
			}
			if harness.IsReady(pod) {
				seen = append(seen, fmt.Sprintf("pod %s: Ready", pod.Name))
			}
		}
		if len(seen) != int(*rs.Spec.Replicas) {
			return errors.New("not all new pods are ready")
		}
		return nil
	})
	return seen, err
}
