package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"kubernetes-deployment-restart-controller/test/harness"
	"kubernetes-deployment-restart-controller/test/soak/model"
)

// restLimit bounds the wait for everything to calm down. It covers retries that were
// put off (30 s) and the rollouts that follow.
const restLimit = 15 * time.Minute

// rolloutPatience is how long the cluster may take to complete the rollouts after the last restart, before its own
// controllers are restarted.
const rolloutPatience = 45 * time.Second

var errUnfinished = errors.New("rollouts are not complete")

// awaitRest returns when there has been nothing to do for a while: nothing waits in the
// controller, no workload runs with old content as far as it knows, every rollout is
// complete, and all this holds for longer than a grace period. Meanwhile it prints what it
// waits for.
func (s *soak) awaitRest(ctx context.Context, limit time.Duration) error {
	var since, unfinishedSince time.Time
	before, printed := -1, time.Now().Add(-10*time.Second)
	return harness.Eventually(ctx, limit, func(ctx context.Context) error {
		err := s.atRest(ctx)
		restarts := s.judge.restarts()
		hasRestarted := restarts != before
		if before = restarts; hasRestarted && err == nil {
			err = errors.New("a workload has restarted")
		}
		if hasRestarted || !errors.Is(err, errUnfinished) {
			unfinishedSince = time.Now()
		} else if time.Since(unfinishedSince) > rolloutPatience {
			unfinishedSince = time.Now()
			if err := s.startClusterAnew(ctx); err != nil {
				return err
			}
		}
		if err != nil {
			since = time.Time{}
			if time.Since(printed) > 20*time.Second {
				s.printf("not at rest: %v", err)
				printed = time.Now()
				if err := s.sweep(ctx); err != nil {
					return err
				}
			}
			pause(ctx, 500*time.Millisecond)
			return err
		}
		if since.IsZero() {
			since = time.Now()
		}
		if time.Since(since) < 3*grace {
			return errors.New("it has not been at rest for long enough")
		}
		return nil
	})
}

func (s *soak) atRest(ctx context.Context) error {
	leader, err := s.replicas.leader(ctx)
	if err != nil {
		return err
	}
	if err := leader.Idle(ctx); err != nil {
		return err
	}
	if stale, err := leader.Metric(ctx, "stale_workloads", nil); err != nil || stale != 0 {
		return errors.Join(fmt.Errorf("%.0f workloads are stale", stale), err)
	}
	if err := s.people.requireNone(ctx); err != nil {
		return err
	}
	unfinished, err := s.unfinishedRollouts(ctx)
	if err != nil {
		return err
	}
	for _, metric := range []string{"held_workloads", "undelivered_restarts", "evicting_workloads"} {
		if count, err := leader.Metric(ctx, metric, nil); err != nil || count != 0 {
			return errors.Join(fmt.Errorf("%s is %.0f", metric, count), err, errorOf(unfinished)) // which they may wait for
		}
	}
	return errorOf(unfinished)
}

// errorOf returns an error if rollouts are not complete.
func errorOf(unfinished []rollout) error {
	if len(unfinished) == 0 {
		return nil
	}
	return fmt.Errorf("%d %w: %s", len(unfinished), errUnfinished, textsOf(unfinished[:min(5, len(unfinished))]))
}

// family is all pods, and by the UID of their controller what it controls them for.
type family struct {
	pods      []corev1.Pod
	workloads map[types.UID]model.WorkloadRef // StatefulSets, DaemonSets and ReplicaSets of what exists
	emptied   map[types.UID]bool              // ReplicaSets that want no pods
}

// look reads the pods first, so that what is missing is gone and not yet to come.
func look(ctx context.Context, client kubernetes.Interface) (*family, error) {
	apps := client.AppsV1()
	pods, err1 := client.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
	replicaSets, err2 := apps.ReplicaSets("").List(ctx, metav1.ListOptions{})
	deployments, err3 := apps.Deployments("").List(ctx, metav1.ListOptions{})
	sets, err4 := apps.StatefulSets("").List(ctx, metav1.ListOptions{})
	daemons, err5 := apps.DaemonSets("").List(ctx, metav1.ListOptions{})
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		return nil, fmt.Errorf("list pods and what controls them: %w", err)
	}
	f := &family{pods: pods.Items, workloads: map[types.UID]model.WorkloadRef{}, emptied: map[types.UID]bool{}}
	for i := range deployments.Items {
		f.workloads[deployments.Items[i].UID] = refOf("Deployment", &deployments.Items[i])
		if owner := metav1.GetControllerOf(&deployments.Items[i]); owner != nil && owner.Kind == gadgetKind {
			f.workloads[deployments.Items[i].UID] = refOf(gadgetKind, &deployments.Items[i])
		}
	}
	for i := range sets.Items {
		f.workloads[sets.Items[i].UID] = refOf("StatefulSet", &sets.Items[i])
	}
	for i := range daemons.Items {
		f.workloads[daemons.Items[i].UID] = refOf("DaemonSet", &daemons.Items[i])
	}
	for i := range replicaSets.Items {
		f.emptied[replicaSets.Items[i].UID] = *replicaSets.Items[i].Spec.Replicas == 0
		if owner := metav1.GetControllerOf(&replicaSets.Items[i]); owner != nil {
			if ref, exists := f.workloads[owner.UID]; exists {
				f.workloads[replicaSets.Items[i].UID] = ref
			}
		}
	}
	return f, nil
}

// workloadOf returns the workload that a pod belongs to, if it exists.
func (f *family) workloadOf(pod *corev1.Pod) (ref model.WorkloadRef, exists bool) {
	if owner := metav1.GetControllerOf(pod); owner != nil {
		ref, exists = f.workloads[owner.UID]
	}
	return ref, exists
}

// isDismissed reports whether the ReplicaSet of a pod wants no pods any more. That the pod still
// runs is then the fault of kube-controller-manager, and no restart is lost.
func (f *family) isDismissed(pod *corev1.Pod) bool {
	owner := metav1.GetControllerOf(pod)
	return owner != nil && f.emptied[owner.UID]
}

// sweep frees what the cluster itself has lost sight of, which happens when the API server
// or etcd is killed. It deletes pods whose workload is gone: the garbage collector does not
// know of those that a controller has made after the deletion, and they stand in the way of a
// StatefulSet of the same name. And it touches what does not move, so that all watchers
// see it once more: an event that the API server has lost is lost to KWOK and to
// kube-controller-manager alike.
func (s *soak) sweep(ctx context.Context) error {
	f, err := look(ctx, s.cluster.Client())
	if err != nil {
		return err
	}
	for i := range f.pods {
		pod := &f.pods[i]
		if !strings.HasPrefix(pod.Namespace, "soak-") {
			continue
		}
		if _, exists := f.workloadOf(pod); !exists {
			err = s.deleteOrphan(ctx, pod)
		} else if unfinished(pod) {
			err = s.wakePod(ctx, pod)
		} else {
			err = deleteCrashing(ctx, s.cluster.Client(), f.pods[i:i+1], s.breaker)
		}
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("sweep pod %s/%s: %w", pod.Namespace, pod.Name, err)
		}
	}
	return s.driver.wakeStatefulSets(ctx)
}

func (s *soak) deleteOrphan(ctx context.Context, pod *corev1.Pod) error {
	return s.cluster.Client().CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name,
		metav1.DeleteOptions{GracePeriodSeconds: new(int64(0)), Preconditions: &metav1.Preconditions{UID: &pod.UID}})
}

func (s *soak) wakePod(ctx context.Context, pod *corev1.Pod) error {
	patch := fmt.Appendf(nil, `{"metadata":{"labels":{"woken":%q}}}`, s.driver.value())
	_, err := s.cluster.Client().CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "waker"})
	return err
}

// startClusterAnew starts kube-controller-manager and KWOK once more. Each time that the API
// server was away, kube-controller-manager doubles the pause after which it tries an object
// again, up to a quarter of an hour; and since Kubernetes 1.37 it counts it as a failure, too,
// if its caches are behind its own writes.
func (s *soak) startClusterAnew(ctx context.Context) error {
	s.printf("restarting kube-controller-manager and KWOK")
	s.startedAnew++
	for _, component := range []string{harness.ControllerManager, harness.KWOK} {
		if err := s.cluster.KillComponent(ctx, component); err != nil {
			return fmt.Errorf("stop %s: %w", component, err)
		}
		if err := s.cluster.StartComponent(ctx, component); err != nil {
			return fmt.Errorf("start %s: %w", component, err)
		}
	}
	return nil
}

// unfinished reports whether a pod does not run yet, or is to go.
func unfinished(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp != nil || pod.Status.Phase != corev1.PodRunning
}

// podsAtRest returns the pods of all workloads that are to run on.
func podsAtRest(ctx context.Context, client kubernetes.Interface) ([]model.Pod, error) {
	f, err := look(ctx, client)
	if err != nil {
		return nil, err
	}
	var pods []model.Pod
	for i := range f.pods {
		pod := &f.pods[i]
		if ref, exists := f.workloadOf(pod); exists && !unfinished(pod) && !f.isDismissed(pod) {
			pods = append(pods, podOf(pod, ref))
		}
	}
	return pods, nil
}

// startOf is when the last container of a pod started that runs.
func startOf(pod *corev1.Pod) (last time.Time) {
	for i := range pod.Status.ContainerStatuses {
		if running := pod.Status.ContainerStatuses[i].State.Running; running != nil && running.StartedAt.After(last) {
			last = running.StartedAt.Time
		}
	}
	return last
}

// lastLook shows the judge everything as it is at the end, which a watch may not have
// shown yet.
func (s *soak) lastLook(ctx context.Context) error {
	apps := s.cluster.Client().AppsV1()
	deployments, err1 := apps.Deployments("").List(ctx, metav1.ListOptions{})
	sets, err2 := apps.StatefulSets("").List(ctx, metav1.ListOptions{})
	daemons, err3 := apps.DaemonSets("").List(ctx, metav1.ListOptions{})
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	see(s.judge, deployments.Items, func(d *appsv1.Deployment) metav1.Object { return d })
	see(s.judge, sets.Items, func(d *appsv1.StatefulSet) metav1.Object { return d })
	see(s.judge, daemons.Items, func(d *appsv1.DaemonSet) metav1.Object { return d })
	list, err := s.objects.Resource(gadgets).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list gadgets: %w", err)
	}
	see(s.judge, list.Items, func(g *unstructured.Unstructured) metav1.Object { return g })
	pods, err := podsAtRest(ctx, s.cluster.Client())
	if err != nil {
		return err
	}
	s.judge.rest(pods)
	s.pods = pods
	return nil
}

func see[T any](j *judge, items []T, object func(*T) metav1.Object) {
	for i := range items {
		j.see(object(&items[i]), true)
	}
}
