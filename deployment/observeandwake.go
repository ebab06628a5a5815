package deployment

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubernetes-deployment-restart-controller/deployment/handover"
	"kubernetes-deployment-restart-controller/deployment/rollout"
)

func reduceDeployment(object any) (packedDeployment, error) {
	d, ok := object.(*appsv1.Deployment)
	if !ok {
		return packedDeployment{}, fmt.Errorf("unexpected type %T, want Deployment", object)
	}
	return packDeployment(rollout.NewDeployment(d)), nil
}

func reduceReplicaSet(object any) (packedReplicaSet, error) {
	rs, ok := object.(*appsv1.ReplicaSet)
	if !ok {
		return packedReplicaSet{}, fmt.Errorf("unexpected type %T, want ReplicaSet", object)
	}
	return packReplicaSet(rollout.NewReplicaSet(rs)), nil
}

func reducePod(object any) (*pod, error) {
	p, ok := object.(*corev1.Pod)
	if !ok {
		return nil, fmt.Errorf("unexpected type %T, want Pod", object)
	}
	return newPod(p), nil
}

// deploymentObserver passes what a watch shows of Deployments into the cache, and lets the
// monitor look for writes of their status by others. It implements watch.Observer.
type deploymentObserver struct {
	feed[*rollout.Deployment, packedDeployment]
	monitor *handover.Monitor
	status  *handover.StatusObserver
}

// Observe implements watch.Observer.
func (o deploymentObserver) Observe(shown packedDeployment) {
	if o.isProbe(shown) {
		return
	}
	d := shown.unpack()
	o.status.Observe(d)
	o.show(d, shown)
}

// Forget implements watch.Observer.
func (o deploymentObserver) Forget(shown packedDeployment) {
	o.status.Forget(shown.unpack())
	o.feed.Forget(shown)
}

// Replace implements watch.Observer.
func (o deploymentObserver) Replace(all []packedDeployment, version string) {
	all = slices.DeleteFunc(all, o.isProbe)
	o.status.Replace(func(yield func(*rollout.Deployment) bool) {
		for _, shown := range all {
			if !yield(shown.unpack()) {
				return
			}
		}
	})
	o.feed.Replace(all, version)
}

func (o deploymentObserver) isProbe(shown packedDeployment) bool {
	return o.monitor.IsProbe(shown.key())
}

// onDeployment wakes a Deployment that has changed.
func (e *Engine) onDeployment(before, after *rollout.Deployment) {
	if after == nil {
		e.wake(before.Key()) // to forget it
		return
	}
	e.wake(after.Key())
}

// onReplicaSet wakes the Deployments that control a ReplicaSet or did so before. An orphan
// wakes the Deployments that could adopt it, unless they had the chance before.
func (e *Engine) onReplicaSet(before, after *rollout.ReplicaSet) {
	if before != nil && (after == nil || before.Controller != after.Controller) {
		e.wakeController(before)
	}
	switch {
	case after == nil:
	case after.Controller != "":
		e.wakeController(after)
	case after.Deleting, before != nil && before.Controller == "" && hasSameLabels(before, after):
	default:
		e.wakeAdopters(after)
	}
}

func hasSameLabels(a, b *rollout.ReplicaSet) bool {
	return a.Labels == b.Labels && (a.Hash == nil) == (b.Hash == nil) && (a.Hash == nil || *a.Hash == *b.Hash)
}

func (e *Engine) wakeController(rs *rollout.ReplicaSet) {
	key := types.NamespacedName{Namespace: rs.Namespace, Name: rs.ControllerName}
	if rs.ControllerName != "" && e.caches.deployments.has(key) {
		e.wake(key)
	}
}

func (e *Engine) wakeAdopters(rs *rollout.ReplicaSet) {
	for _, key := range e.caches.adoptersOf(rs) {
		e.wake(key)
	}
}

// isRecreated reports whether a Deployment of a namespace has the strategy Recreate.
func (e *Engine) isRecreated(namespace string) bool {
	return e.caches.deployments.count(recreatedIn(namespace)) > 0
}

// wakeRecreated wakes the Deployments with the strategy Recreate in a namespace, or in all of
// them if that is empty: their pods are known now.
func (e *Engine) wakeRecreated(namespace string) {
	for _, key := range e.caches.deployments.keys(noLimit, recreatedIn(namespace)) {
		e.wake(key)
	}
}
