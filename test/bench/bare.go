package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	// bareReady is what the bare process prints once it watches.
	bareReady = "ready"
	// bareWorkers is how many patches it has under way at once, as the controller.
	bareWorkers = 8
)

// bare is the least that a program can do to restart a Deployment when its
// ConfigMap changes: watch, hash, patch. It keeps no record, waits for nothing,
// and forgets what fails.
type bare struct {
	client      kubernetes.Interface
	deployments map[types.NamespacedName][]string // by ConfigMap
	checksums   map[types.NamespacedName]uint64
}

// runBare is the bare process: it restarts the Deployments that are annotated
// for it, until the context or its input ends.
func runBare(ctx context.Context, kubeconfig string, input io.Reader, output io.Writer) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("read kubeconfig: %w", err)
	}
	client, err := newClient(config)
	if err != nil {
		return err
	}
	b := &bare{client, make(map[types.NamespacedName][]string), make(map[types.NamespacedName]uint64)}
	if err := b.findDeployments(ctx); err != nil {
		return err
	}
	events, err := client.CoreV1().ConfigMaps(metav1.NamespaceAll).Watch(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("watch configmaps: %w", err)
	}
	defer events.Stop()
	ended := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, input) // until the process that started this one has ended
		close(ended)
	}()
	fmt.Fprintln(output, bareReady)
	return b.work(ctx, events, ended)
}

func (b *bare) findDeployments(ctx context.Context) error {
	list, err := b.client.AppsV1().Deployments(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list deployments: %w", err)
	}
	for i := range list.Items {
		deployment := &list.Items[i]
		if configMap, marked := deployment.Annotations[bareAnnotation]; marked {
			name := types.NamespacedName{Namespace: deployment.Namespace, Name: configMap}
			b.deployments[name] = append(b.deployments[name], deployment.Name)
		}
	}
	return nil
}

func (b *bare) work(ctx context.Context, events watch.Interface, ended <-chan struct{}) error {
	for {
		select {
		case <-ended:
			return nil
		case <-ctx.Done():
			return nil
		case event, open := <-events.ResultChan():
			if !open {
				return errors.New("the watch of configmaps ended")
			}
			if configMap, isConfigMap := event.Object.(*corev1.ConfigMap); isConfigMap {
				if err := b.observe(ctx, configMap); err != nil {
					return err
				}
			}
		}
	}
}

func (b *bare) observe(ctx context.Context, configMap *corev1.ConfigMap) error {
	name := types.NamespacedName{Namespace: configMap.Namespace, Name: configMap.Name}
	checksum := contentHash(configMap)
	before, known := b.checksums[name]
	b.checksums[name] = checksum
	if !known || before == checksum {
		return nil
	}
	deployments := b.deployments[name]
	return inParallel(ctx, bareWorkers, len(deployments), func(ctx context.Context, number int) error {
		return b.restart(ctx, configMap.Namespace, deployments[number], checksum)
	})
}

func contentHash(configMap *corev1.ConfigMap) uint64 {
	digest := xxhash.New()
	for _, key := range slices.Sorted(maps.Keys(configMap.Data)) {
		_, _ = digest.WriteString(key) // never fails
		_, _ = digest.WriteString(configMap.Data[key])
	}
	return digest.Sum64()
}

// restart sends a patch of the same form as the controller's.
func (b *bare) restart(ctx context.Context, namespace, name string, checksum uint64) error {
	type object map[string]any
	body, err := json.Marshal(object{
		"metadata": object{"annotations": object{bareAnnotation + "-checksum": fmt.Sprintf("%016x", checksum)}},
		"spec": object{"template": object{"metadata": object{"annotations": object{
			timestampAnnotation: time.Now().UTC().Format(time.RFC3339Nano),
		}}}},
	})
	if err != nil {
		return fmt.Errorf("build patch: %w", err)
	}
	if _, err := b.client.AppsV1().Deployments(namespace).Patch(ctx, name, types.MergePatchType, body, metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("patch %s/%s: %w", namespace, name, err)
	}
	return nil
}
