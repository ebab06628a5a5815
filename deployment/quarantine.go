package deployment

import (
	"context"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kubernetes-deployment-restart-controller/deployment/rollout"
	"kubernetes-deployment-restart-controller/internal/quarantine"
)

// reasonInternalError is the reason of Events about objects that are left alone.
const reasonInternalError = "InternalError"

// leftAlonePause is how long a Deployment waits before its next sync if not everything about it is
// known.
const leftAlonePause = 10 * time.Second

// The kinds of the objects that this package works with, besides [rollout.DeploymentKind].
var (
	replicaSetKind = appsv1.SchemeGroupVersion.WithKind("ReplicaSet")
	podKind        = corev1.SchemeGroupVersion.WithKind("Pod")
)

// named returns a function that names the objects of a cache for the quarantine.
func named[T cached, P packed[T]](kind schema.GroupVersionKind, controllerOf func(T) types.UID) func(P) quarantine.Object {
	return func(shown P) quarantine.Object {
		value := shown.unpack()
		m := value.Identity()
		return quarantine.Object{
			Kind: kind, Namespace: m.Namespace, Name: m.Name, UID: m.UID, ResourceVersion: m.ResourceVersion, Controller: controllerOf(value),
		}
	}
}

// uncontrolled returns no controller, because controllers of Deployments do not matter here.
func uncontrolled(*rollout.Deployment) types.UID { return "" }

func controllerOfReplicaSet(rs *rollout.ReplicaSet) types.UID { return rs.Controller }

// nameOfPod names a pod for the quarantine.
func nameOfPod(p *pod) quarantine.Object {
	return quarantine.Object{
		Kind: podKind, Namespace: p.Namespace, Name: p.Name, UID: p.UID, ResourceVersion: p.ResourceVersion, Controller: p.controller,
	}
}

// work takes a step for a Deployment, while the engine drives. If that panics, the Deployment
// is left alone until something wakes it.
func (e *Engine) work(ctx context.Context, key types.NamespacedName) {
	if !e.driving.Load() {
		e.queue.Forget(key)
		return
	}
	d := quarantine.Object{Kind: rollout.DeploymentKind, Namespace: key.Namespace, Name: key.Name}
	e.quarantine.Try(quarantine.Decision, d, func() { e.sync(ctx, key) })
}

// isLeftAlone reports whether a Deployment is left alone at its intake, or one of its
// ReplicaSets, or, if they matter, one of their pods. A plan would be based on an outdated
// state.
func (e *Engine) isLeftAlone(d *rollout.Deployment) bool {
	leftAlone := e.quarantine.NotTakenIn(d.Namespace)
	if leftAlone.Has(d.UID) || leftAlone.Len() == 0 || !d.NeedsPods() {
		return leftAlone.Has(d.UID)
	}
	return slices.ContainsFunc(e.caches.replicaSetsOf(d), func(rs *rollout.ReplicaSet) bool { return leftAlone.Has(rs.UID) })
}

// panicked counts a panic and creates an Event for the owner of the object that caused it.
func (e *Engine) panicked(place quarantine.Place, o quarantine.Object) {
	e.metrics.panics.WithLabelValues(string(place)).Inc()
	if o.Name == "" {
		return // it was a list
	}
	if place == quarantine.Decision {
		if d := e.caches.deployments.get(types.NamespacedName{Namespace: o.Namespace, Name: o.Name}); d != nil {
			o.UID, o.ResourceVersion = d.UID, d.ResourceVersion
		}
	}
	e.ownEvents.Event(o.Reference(), corev1.EventTypeWarning, reasonInternalError,
		"internal error: the deployment engine leaves this object alone until it changes; the log has the details")
}
