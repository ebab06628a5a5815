package harness

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// CrashPods makes each pod of a namespace crash that isDoomed chooses and that becomes
// ready, as a kubelet reports it. KWOK leaves pods alone once they run. It does so until
// ctx ends or heal is called, which returns when no more pods crash, with the errors on
// the way. heal may be called again.
func CrashPods(ctx context.Context, client kubernetes.Interface, namespace string, isDoomed func(*corev1.Pod) bool) (heal func() error, err error) {
	ctx, stop := context.WithCancel(ctx)
	changes, err := client.CoreV1().Pods(namespace).Watch(ctx, metav1.ListOptions{})
	if err != nil {
		stop()
		return nil, fmt.Errorf("watch pods: %w", err)
	}
	var group sync.WaitGroup
	var errs []error
	group.Go(func() {
		for change := range changes.ResultChan() {
			pod, isPod := change.Object.(*corev1.Pod)
			if !isPod || !IsReady(pod) || !isDoomed(pod) {
				continue
			}
			if err := CrashPod(ctx, client, pod); err != nil && !apierrors.IsNotFound(err) && ctx.Err() == nil {
				errs = append(errs, fmt.Errorf("crash pod %s: %w", pod.Name, err))
			}
		}
	})
	return func() error {
		stop()
		group.Wait()
		return errors.Join(errs...)
	}, nil
}

const crashLooping = "CrashLoopBackOff"

// CrashPod makes a pod crash, as a kubelet reports it.
func CrashPod(ctx context.Context, client kubernetes.Interface, pod *corev1.Pod) error {
	const patch = `{"status":{"conditions":[{"type":"Ready","status":"False"},{"type":"ContainersReady","status":"False"}],"containerStatuses":[` +
		`{"name":%q,"image":"example/app","imageID":"","ready":false,"restartCount":1,"state":{"waiting":{"reason":%q,"message":"back-off"}}}]}}`
	_, err := client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType,
		fmt.Appendf(nil, patch, pod.Spec.Containers[0].Name, crashLooping), metav1.PatchOptions{}, "status")
	return err
}

// IsReady reports whether a pod is ready.
func IsReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// IsCrashing reports whether a container of a pod waits to be started again after a crash.
func IsCrashing(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool {
		return c.State.Waiting != nil && c.State.Waiting.Reason == crashLooping
	})
}
