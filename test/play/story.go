package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	catalogannotation "kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/test/harness"
)

// What examples/web.yaml makes.
const (
	namespace      = "default"
	deploymentName = "web"
	configMapName  = "web-config"
)

// The edit.
const (
	editedKey   = "GREETING"
	editedValue = "good morning"
)

// story is what happens to the example's Deployment, and what was noted on the way.
type story struct {
	stage  *stage
	client kubernetes.Interface

	before    *appsv1.Deployment // when the ConfigMap was edited
	edited    time.Time
	restarted time.Time
	rolled    time.Time
}

func newStory(s *stage) *story { return &story{stage: s, client: s.cluster.Client()} }

func (s *story) steps() []step {
	return []step{
		{"the example is applied: a ConfigMap, and a Deployment that uses it and is annotated",
			"kubectl apply -f examples/web.yaml; deployment web, metadata.annotations", s.apply},
		{"the deployment engine creates its ReplicaSet, because Kubernetes' own deployment controller does not run here",
			"the log of kube-controller-manager; replicasets of the Deployment, metadata.managedFields", s.driven},
		{"its pods start",
			"deployment web, status", s.rolledOut},
		{"the controller records the checksums of the configs that the pods run with; nothing restarts",
			"deployment web, metadata.annotations and metadata.generation", s.recorded},
		{"the ConfigMap is edited",
			"configmap web-config, data", s.edit},
		{"the controller waits for the grace period, in case more edits follow, and restarts the Deployment",
			"deployment web, spec.template.metadata.annotations; events of the Deployment", s.restart},
		{"the deployment engine creates a new ReplicaSet and rolls the pods over to it",
			"deployment web, status; its replicasets and pods", s.rolledOver},
		{"the Deployment restarted once, and there is nothing left to do",
			"deployment web, metadata.generation; the controller's /metrics", s.settled},
	}
}

func (s *story) apply(ctx context.Context) (string, error) {
	applied, err := s.stage.applyExample(ctx)
	if err != nil {
		return "", err
	}
	deployment, err := s.deployment(ctx)
	if err != nil {
		return "", err
	}
	if !catalogannotation.IsEnabled(&deployment.ObjectMeta) {
		return "", fmt.Errorf("the Deployment lacks the annotation %s: %s", catalogannotation.EnabledAnnotation, catalogannotation.Enabled)
	}
	return applied + annotation(catalogannotation.EnabledAnnotation, catalogannotation.Enabled), nil
}

func (s *story) rolledOut(ctx context.Context) (string, error) {
	var seen string
	err := harness.Eventually(ctx, s.stage.limit, func(ctx context.Context) error {
		deployment, err := s.deployment(ctx)
		if err != nil {
			return err
		}
		status := deployment.Status
		seen = fmt.Sprintf("replicas: %d, updated: %d, available: %d", status.Replicas, status.UpdatedReplicas, status.AvailableReplicas)
		if !isRolledOut(deployment) {
			return fmt.Errorf("the rollout is not complete: %s", seen)
		}
		return nil
	})
	return seen, err
}

func (s *story) recorded(ctx context.Context) (string, error) {
	var seen string
	err := harness.Eventually(ctx, s.stage.limit, func(ctx context.Context) error {
		deployment, err := s.deployment(ctx)
		if err != nil {
			return err
		}
		if restartedAt(deployment) != "" {
			return harness.Final(errors.New("the Deployment was restarted although nothing was edited"))
		}
		checksums, found := deployment.Annotations[catalogannotation.ChecksumsAnnotation]
		if !found {
			return errors.New("no checksums yet")
		}
		seen = annotation(catalogannotation.ChecksumsAnnotation, checksums)
		return nil
	})
	return seen, err
}

func (s *story) edit(ctx context.Context) (seen string, err error) {
	configMaps := s.client.CoreV1().ConfigMaps(namespace)
	configMap, err := configMaps.Get(ctx, configMapName, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("read the ConfigMap: %w", err)
	}
	if s.before, err = s.deployment(ctx); err != nil {
		return "", err
	}
	was := configMap.Data[editedKey]
	configMap.Data[editedKey] = editedValue
	s.edited = time.Now()
	if _, err = configMaps.Update(ctx, configMap, metav1.UpdateOptions{}); err != nil {
		return "", fmt.Errorf("edit the ConfigMap: %w", err)
	}
	return fmt.Sprintf("%s: %s, was: %s", editedKey, editedValue, was), nil
}

func (s *story) restart(ctx context.Context) (string, error) {
	var deployment *appsv1.Deployment
	err := harness.Eventually(ctx, s.stage.limit, func(ctx context.Context) (err error) {
		if deployment, err = s.deployment(ctx); err != nil {
			return err
		}
		if restartedAt(deployment) == "" {
			return errors.New("the pod template has no restart timestamp yet")
		}
		s.restarted = time.Now()
		return nil
	})
	if err != nil {
		return "", err
	}
	checksums := deployment.Annotations[catalogannotation.ChecksumsAnnotation]
	if checksums == s.before.Annotations[catalogannotation.ChecksumsAnnotation] {
		return "", errors.New("the Deployment was restarted, but the checksums are still the old ones")
	}
	event, err := s.restartEvent(ctx)
	if err != nil {
		return "", err
	}
	return strings.Join([]string{
		annotation(catalogannotation.TimestampAnnotation, restartedAt(deployment)),
		annotation(catalogannotation.ChecksumsAnnotation, checksums),
		fmt.Sprintf("event: %s %s", event.Reason, event.Message),
	}, "\n"), nil
}

func (s *story) restartEvent(ctx context.Context) (event corev1.Event, err error) {
	err = harness.Eventually(ctx, s.stage.limit, func(ctx context.Context) error {
		events, err := s.client.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{
			FieldSelector: "reason=Restarting,involvedObject.name=" + deploymentName,
		})
		if err != nil {
			return fmt.Errorf("list events: %w", err)
		}
		if len(events.Items) == 0 {
			return errors.New("no event of the restart yet")
		}
		event = events.Items[0]
		return nil
	})
	return event, err
}

func (s *story) settled(ctx context.Context) (string, error) {
	err := harness.Eventually(ctx, s.stage.limit, func(ctx context.Context) error {
		return s.stage.controller.Idle(ctx)
	})
	if err != nil {
		return "", err
	}
	restarts, err := s.stage.controller.Metric(ctx, "deployment_restarts_total", nil)
	if err != nil {
		return "", err
	}
	rollouts, err := s.stage.controller.Metric(ctx, "deployment_engine_rollouts_in_progress", nil)
	if err != nil {
		return "", err
	}
	deployment, err := s.deployment(ctx)
	if err != nil {
		return "", err
	}
	if generations := deployment.Generation - s.before.Generation; generations != 1 || restarts != 1 {
		return "", fmt.Errorf("the Deployment changed %d times and the controller counts %.0f restarts: want one", generations, restarts)
	}
	if rollouts != 0 {
		return "", fmt.Errorf("the deployment engine still counts %.0f rollouts in progress", rollouts)
	}
	return fmt.Sprintf("metadata.generation: %d, was %d\ndeployment_restart_controller_deployment_restarts_total: %.0f\ndeployment_engine_rollouts_in_progress: %.0f",
		deployment.Generation, s.before.Generation, restarts, rollouts), nil
}

func (s *story) deployment(ctx context.Context) (*appsv1.Deployment, error) {
	deployment, err := s.client.AppsV1().Deployments(namespace).Get(ctx, deploymentName, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read the Deployment: %w", err)
	}
	return deployment, nil
}

// isRolledOut reports whether all pods are of the present template and available.
func isRolledOut(deployment *appsv1.Deployment) bool {
	status, want := deployment.Status, *deployment.Spec.Replicas
	return status.ObservedGeneration >= deployment.Generation &&
		status.Replicas == want && status.UpdatedReplicas == want && status.AvailableReplicas == want
}

func restartedAt(deployment *appsv1.Deployment) string {
	return deployment.Spec.Template.Annotations[catalogannotation.TimestampAnnotation]
}

func annotation(name, value string) string { return name + ": " + value }
