package deployment

import (
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// caches hold what is known of the cluster.
type caches struct {
	deployments *cache[*Deployment]
	replicaSets *cache[*ReplicaSet]
	pods        *podTable
}

// group makes Deployments found by their namespace.
func (d *Deployment) group() string { return d.Namespace }

// group makes ReplicaSets found by the UID of their controller, and orphans by
// their namespace. So the cost of a sync does not grow with what else lives in
// the namespace.
func (rs *ReplicaSet) group() string {
	if rs.Controller == "" {
		return orphansOf(rs.Namespace)
	}
	return string(rs.Controller)
}

func orphansOf(namespace string) string { return "orphans/" + namespace }

// observe collects what a plan for a Deployment may look at.
func (c *caches) observe(d *Deployment, n note, now time.Time) *State {
	s := &State{
		Now:           now,
		Deployment:    d,
		ReplicaSets:   c.replicaSets.find(string(d.UID)),
		Orphans:       c.replicaSets.find(orphansOf(d.Namespace)),
		Creation:      n.creation,
		Created:       n.created,
		StatusWritten: n.statusWritten,
		StepTaken:     n.stepTaken,
	}
	if d.isRecreated() {
		s.Pods = c.pods.count(d, s.ReplicaSets)
	}
	return s
}

func reduceDeployment(object any) (*Deployment, error) {
	d, ok := object.(*appsv1.Deployment)
	if !ok {
		return nil, fmt.Errorf("a %T is no Deployment", object)
	}
	return NewDeployment(d), nil
}

func reduceReplicaSet(object any) (*ReplicaSet, error) {
	rs, ok := object.(*appsv1.ReplicaSet)
	if !ok {
		return nil, fmt.Errorf("a %T is no ReplicaSet", object)
	}
	return NewReplicaSet(rs), nil
}

func reducePod(object any) (*pod, error) {
	p, ok := object.(*corev1.Pod)
	if !ok {
		return nil, fmt.Errorf("a %T is no Pod", object)
	}
	return newPod(p), nil
}

// hearing takes what a watch shows of Deployments into the cache, and listens for
// rivals. It implements watch.Observer.
type hearing struct {
	feed[*Deployment]
	engine *Engine
}

// Observe implements watch.Observer.
func (h hearing) Observe(d *Deployment) {
	if h.engine.isProbe(d) {
		return
	}
	h.engine.listen(d)
	h.feed.Observe(d)
}

// Forget implements watch.Observer.
func (h hearing) Forget(d *Deployment) {
	h.engine.statusWrites.forget(d)
	h.feed.Forget(d)
}

// Replace implements watch.Observer.
func (h hearing) Replace(all []*Deployment, version string) {
	all = slices.DeleteFunc(all, h.engine.isProbe)
	h.engine.statusWrites.retain(h.namespace, all)
	for _, d := range all {
		h.engine.listen(d)
	}
	h.feed.Replace(all, version)
}

// isProbe tells the engine's own probe from what it drives: it must not answer itself.
// That of another installation is a Deployment like any other.
func (e *Engine) isProbe(d *Deployment) bool {
	return d.Name == ProbeName && d.Namespace == e.lookout.prober.namespace
}

// listen tells of a write of a Deployment's status by somebody else.
func (e *Engine) listen(d *Deployment) {
	if e.statusWrites.isNews(d) {
		e.lookout.heard(d)
	}
}

// onDeployment wakes a Deployment that has changed.
func (e *Engine) onDeployment(before, after *Deployment) {
	if after == nil {
		e.wake(before.key()) // to forget it
		return
	}
	if after.Status.TerminatingReplicas != nil {
		e.executor.keepsTerminating.Store(true)
	}
	e.wake(after.key())
}

// onReplicaSet wakes the Deployments that control a ReplicaSet now or did so
// before. An orphan wakes those that could adopt it.
func (e *Engine) onReplicaSet(before, after *ReplicaSet) {
	if before != nil && (after == nil || before.Controller != after.Controller) {
		e.wakeController(before)
	}
	switch {
	case after == nil:
	case after.Controller != "":
		e.wakeController(after)
	default:
		e.wakeAdopters(after)
	}
}

func (e *Engine) wakeController(rs *ReplicaSet) {
	if rs.ControllerName == "" {
		return
	}
	key := types.NamespacedName{Namespace: rs.Namespace, Name: rs.ControllerName}
	if d := e.caches.deployments.get(key); d != nil && d.UID == rs.Controller {
		e.wake(key)
	}
}

func (e *Engine) wakeAdopters(rs *ReplicaSet) {
	for _, d := range e.caches.deployments.find(rs.Namespace) {
		if d.selects(rs) {
			e.wake(d.key())
		}
	}
}

// isRecreated reports whether a Deployment of a namespace has the strategy Recreate.
func (e *Engine) isRecreated(namespace string) bool {
	return slices.ContainsFunc(e.caches.deployments.find(namespace), (*Deployment).isRecreated)
}

// wakeRecreated wakes the Deployments with the strategy Recreate in a namespace, or in all of
// them if that is empty: their pods are known now.
func (e *Engine) wakeRecreated(namespace string) {
	e.caches.deployments.each(func(d *Deployment) {
		if d.isRecreated() && (namespace == "" || namespace == d.Namespace) {
			e.wake(d.key())
		}
	})
}
