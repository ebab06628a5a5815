package main

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	crowdNamespace = "engine-crowd"
	crowdHistory   = 10  // ReplicaSets of each Deployment, the newest of which has pods
	crowdReplicas  = 10  // of each Deployment
	crowdTarget    = 200 // MiB
)

// measureEngineCrowd measures the memory of the engine in a namespace of very many
// Deployments, ReplicaSets and pods. One Deployment has the strategy Recreate, so that all
// pods are watched. Without a controller manager nothing else moves.
func (b *bench) measureEngineCrowd(ctx context.Context) ([]row, error) {
	var steady, peak samples
	err := b.onStage(ctx, func(s *stage) error {
		if err := s.install(ctx, "rbac.yaml", "rbac-deployment-engine.yaml"); err != nil {
			return err
		}
		if err := b.fillCrowd(ctx, s); err != nil {
			return err
		}
		b.progress.say("letting the engine write all statuses")
		if err := b.withEngine(ctx, s, func(*shift) error { return nil }); err != nil {
			return err
		}
		for range b.repetitions {
			err := b.withEngine(ctx, s, func(engine *shift) error {
				if err := pause(ctx, b.settleTime()); err != nil {
					return err
				}
				used, err := memoryOf(engine.engine.PID())
				steady.add(used.resident)
				peak.add(used.peak)
				b.progress.say("%.1f MiB, peak %.1f", used.resident, used.peak)
				return err
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	what := fmt.Sprintf("resident memory of the engine with %d Deployments, %d ReplicaSets and %d pods", b.crowd, b.crowd*crowdHistory, b.crowd*crowdReplicas)
	return []row{
		upTo(what+", steady", crowdTarget, steady, "%.1f", "MiB"),
		upTo("the same, peak", crowdTarget, peak, "%.1f", "MiB"),
	}, nil
}

// withEngine runs an act with an engine that drives and has done what there was to do.
func (b *bench) withEngine(ctx context.Context, s *stage, act func(*shift) error) error {
	controller, err := s.installation.LaunchController(ctx, nil, engineFlags...)
	if err != nil {
		return err
	}
	engine := &shift{driver: ours, engine: controller}
	if err = controller.AwaitDriving(ctx, calmLimit); err == nil {
		err = engine.awaitCalm(ctx)
	}
	if err == nil {
		err = act(engine)
	}
	return errors.Join(err, controller.Stop())
}

// fillCrowd makes Deployments with all their ReplicaSets and pods.
func (b *bench) fillCrowd(ctx context.Context, s *stage) error {
	b.progress.say("creating %d Deployments with %d ReplicaSets and %d pods each", b.crowd, crowdHistory, crowdReplicas)
	if err := s.makeNamespace(ctx, crowdNamespace); err != nil {
		return err
	}
	if err := s.createAccount(ctx, crowdNamespace); err != nil {
		return err
	}
	return inParallel(ctx, writers, b.crowd, func(ctx context.Context, number int) error {
		if number > 0 && number%(b.crowd/4) == 0 {
			b.progress.say("%d of %d", number, b.crowd)
		}
		return s.createRolledOut(ctx, newCrowded(number))
	})
}

// newCrowded is a Deployment as it is found in clusters, with labels and annotations of the
// tool that made it.
func newCrowded(number int) *appsv1.Deployment {
	name := fmt.Sprintf("backend-%05d", number)
	d := newDeployment(crowdNamespace, name, name)
	addReferences(d, name, name, name, name)
	d.Annotations = map[string]string{"meta.helm.sh/release-name": name, "meta.helm.sh/release-namespace": crowdNamespace}
	labels := map[string]string{"app.kubernetes.io/name": "backend", "app.kubernetes.io/instance": name}
	d.Labels = map[string]string{"app.kubernetes.io/managed-by": "Helm", "helm.sh/chart": "backend-1.2.3"}
	d.Spec.Selector, d.Spec.Template.Labels = &metav1.LabelSelector{MatchLabels: labels}, labels
	d.Spec.Replicas = new(int32(crowdReplicas))
	if number == 0 {
		d.Spec.Strategy.Type = appsv1.RecreateDeploymentStrategyType
	}
	return d
}

// createRolledOut makes a Deployment, its ReplicaSets and the pods of the newest, as a
// controller manager would have left them.
func (s *stage) createRolledOut(ctx context.Context, deployment *appsv1.Deployment) error {
	d, err := s.client.AppsV1().Deployments(deployment.Namespace).Create(ctx, deployment, metav1.CreateOptions{})
	if err != nil {
		return wrapCreate(err, "deployment", deployment)
	}
	for revision := 1; revision < crowdHistory; revision++ {
		if _, err := s.createReplicaSet(ctx, oldReplicaSet(d, revision)); err != nil {
			return err
		}
	}
	present := oldReplicaSet(d, crowdHistory)
	present.Spec.Template.Spec = d.Spec.Template.Spec
	present.Spec.Replicas = d.Spec.Replicas
	newest, err := s.createReplicaSet(ctx, present)
	if err != nil {
		return err
	}
	newest.Status = appsv1.ReplicaSetStatus{
		ObservedGeneration: newest.Generation, Replicas: crowdReplicas, ReadyReplicas: crowdReplicas, AvailableReplicas: crowdReplicas,
	}
	if _, err := s.client.AppsV1().ReplicaSets(newest.Namespace).UpdateStatus(ctx, newest, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("update status of replicaset %s: %w", newest.Name, err)
	}
	return s.createPodsOf(ctx, newest)
}

func (s *stage) createReplicaSet(ctx context.Context, rs *appsv1.ReplicaSet) (*appsv1.ReplicaSet, error) {
	created, err := s.client.AppsV1().ReplicaSets(rs.Namespace).Create(ctx, rs, metav1.CreateOptions{})
	return created, wrapCreate(err, "replicaset", rs)
}

func (s *stage) createPodsOf(ctx context.Context, rs *appsv1.ReplicaSet) error {
	var errs []error
	for number := range crowdReplicas {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: rs.Namespace, Name: fmt.Sprintf("%s-%d", rs.Name, number), Labels: rs.Spec.Template.Labels,
				OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(rs, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))},
			},
			Spec: rs.Spec.Template.Spec,
		}
		_, err := s.client.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{})
		errs = append(errs, wrapCreate(err, "pod", pod))
	}
	return errors.Join(errs...)
}
