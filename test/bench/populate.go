package main

import (
	"context"
	"fmt"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// writers is how many requests are under way at once while objects are made.
const writers = 16

// inParallel calls act with 0 to count-1, so many at a time. After the first
// error it calls it no more, and returns that error.
func inParallel(ctx context.Context, workers, count int, act func(ctx context.Context, number int) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	todo := make(chan int)
	var group sync.WaitGroup
	for range min(workers, count) {
		group.Go(func() {
			for number := range todo {
				if err := act(ctx, number); err != nil {
					stop(err)
					return
				}
			}
		})
	}
	for number := 0; number < count && ctx.Err() == nil; number++ {
		select {
		case todo <- number:
		case <-ctx.Done():
		}
	}
	close(todo)
	group.Wait()
	return context.Cause(ctx)
}

func (s *stage) createConfigMap(ctx context.Context, configMap *corev1.ConfigMap) error {
	_, err := s.client.CoreV1().ConfigMaps(configMap.Namespace).Create(ctx, configMap, metav1.CreateOptions{})
	return wrapCreate(err, "configmap", configMap)
}

func (s *stage) createSecret(ctx context.Context, secret *corev1.Secret) error {
	_, err := s.client.CoreV1().Secrets(secret.Namespace).Create(ctx, secret, metav1.CreateOptions{})
	return wrapCreate(err, "secret", secret)
}

func (s *stage) createDeployment(ctx context.Context, deployment *appsv1.Deployment) error {
	_, err := s.client.AppsV1().Deployments(deployment.Namespace).Create(ctx, deployment, metav1.CreateOptions{})
	return wrapCreate(err, "deployment", deployment)
}

func wrapCreate(err error, kind string, object metav1.Object) error {
	if err != nil {
		return fmt.Errorf("create %s %s/%s: %w", kind, object.GetNamespace(), object.GetName(), err)
	}
	return nil
}

// edit gives a ConfigMap new content, with one request that replaces it.
func (s *stage) edit(ctx context.Context, configMap *corev1.ConfigMap) error {
	if _, err := s.client.CoreV1().ConfigMaps(configMap.Namespace).Update(ctx, configMap, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("update configmap %s/%s: %w", configMap.Namespace, configMap.Name, err)
	}
	return nil
}

// The size of ConfigMaps of rows that are not about size.
const (
	smallSize = kibibyte
	smallKeys = 4
)

// workloadName names a Deployment and, in these rows, its ConfigMap.
func workloadName(number int) string { return fmt.Sprintf("workload-%04d", number) }

// createWorkloads makes a namespace with Deployments that have a ConfigMap each,
// of the same name. Prepare may change a Deployment before it is made.
func (s *stage) createWorkloads(ctx context.Context, namespace string, count int, prepare func(*appsv1.Deployment)) error {
	if err := s.makeNamespace(ctx, namespace); err != nil {
		return err
	}
	return inParallel(ctx, writers, count, func(ctx context.Context, number int) error {
		name := workloadName(number)
		if err := s.createConfigMap(ctx, newConfigMap(namespace, name, smallSize, smallKeys)); err != nil {
			return err
		}
		deployment := newDeployment(namespace, name, name)
		if prepare != nil {
			prepare(deployment)
		}
		return s.createDeployment(ctx, deployment)
	})
}

// editWorkload gives the ConfigMap of one of createWorkloads's workloads new content.
func (s *stage) editWorkload(ctx context.Context, namespace string, number int) error {
	return s.edit(ctx, newConfigMap(namespace, workloadName(number), smallSize, smallKeys))
}
