package deployment

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubernetes-deployment-restart-controller/deployment/digest"
	"kubernetes-deployment-restart-controller/deployment/rollout"
)

// caches holds what the engine knows about the cluster.
type caches struct {
	deployments *cache[*rollout.Deployment, packedDeployment]
	replicaSets *cache[*rollout.ReplicaSet, packedReplicaSet]
	pods        *podTable
}

// noLimit is a limit that nothing exceeds.
const noLimit = math.MaxInt

// observe collects what a plan for a Deployment may look at.
func (c *caches) observe(d *rollout.Deployment, h writeHistory, now time.Time) *rollout.State {
	s := &rollout.State{
		Now:           now,
		Deployment:    d,
		ReplicaSets:   c.replicaSetsOf(d),
		Orphans:       c.orphansFor(d),
		Creation:      h.creation,
		Created:       h.created,
		StatusWritten: h.statusWritten,
		StepTaken:     h.stepTaken,
	}
	if d.NeedsPods() {
		s.Pods = c.pods.count(d, s.ReplicaSets)
	}
	return s
}

func reduceDeployment(object any) (packedDeployment, error) {
	d, ok := object.(*appsv1.Deployment)
	if !ok {
		return packedDeployment{}, fmt.Errorf("a %T is no Deployment", object)
	}
	return packDeployment(rollout.NewDeployment(d)), nil
}

func reduceReplicaSet(object any) (packedReplicaSet, error) {
	rs, ok := object.(*appsv1.ReplicaSet)
	if !ok {
		return packedReplicaSet{}, fmt.Errorf("a %T is no ReplicaSet", object)
	}
	return packReplicaSet(rollout.NewReplicaSet(rs)), nil
}

func reducePod(object any) (*pod, error) {
	p, ok := object.(*corev1.Pod)
	if !ok {
		return nil, fmt.Errorf("a %T is no Pod", object)
	}
	return newPod(p), nil
}

// hearing passes what a watch shows of Deployments into the cache, and listens for rivals. It
// implements watch.Observer.
type hearing struct {
	feed[*rollout.Deployment, packedDeployment]
	engine *Engine
	writes statusWrites
}

// Observe implements watch.Observer.
func (h hearing) Observe(shown packedDeployment) {
	if h.engine.isProbe(shown.key()) {
		return
	}
	d := shown.unpack()
	h.listen(d)
	h.show(d, shown)
}

// Forget implements watch.Observer.
func (h hearing) Forget(shown packedDeployment) {
	h.writes.forget(shown.unpack())
	h.feed.Forget(shown)
}

// Replace implements watch.Observer.
func (h hearing) Replace(all []packedDeployment, version string) {
	all = slices.DeleteFunc(all, func(shown packedDeployment) bool { return h.engine.isProbe(shown.key()) })
	listed := make(map[digest.Digest]struct{}, len(all))
	for _, shown := range all {
		d := shown.unpack()
		listed[keyDigest(&d.Meta)] = struct{}{}
		h.listen(d)
	}
	h.writes.retain(listed)
	h.feed.Replace(all, version)
}

// listen reports a write of a Deployment's status by another field manager to the lookout.
func (h hearing) listen(d *rollout.Deployment) {
	if h.writes.isNews(d) {
		h.engine.lookout.heard(d)
	}
}

// isProbe reports whether a Deployment is the engine's own probe, which the engine does not
// drive because it must not answer itself. The probe of another installation is a Deployment
// like any other.
func (e *Engine) isProbe(key types.NamespacedName) bool {
	return key.Name == probeName && key.Namespace == e.lookout.prober.namespace
}

// onDeployment wakes a Deployment that has changed.
func (e *Engine) onDeployment(before, after *rollout.Deployment) {
	if after == nil {
		e.wake(before.Key()) // to forget it
		if e.caches.deployments.count(deploymentsIn(before.Namespace)) == 0 {
			e.executor.dropping.remove(before.Namespace)
		}
		return
	}
	if after.Status.TerminatingReplicas != nil {
		e.executor.dropping.remove(after.Namespace)
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
	case after.Deleting, before != nil && before.Controller == "" && maps.Equal(before.Labels, after.Labels):
	default:
		e.wakeAdopters(after)
	}
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
