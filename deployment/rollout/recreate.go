package rollout

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
)

// recreate is the Recreate strategy: pods of two templates never run at the same time.
//
// See https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#recreate-deployment.
type recreate struct{}

func (recreate) limits(*appsv1.DeploymentStrategy, int64) (Limits, error) { return Limits{}, nil }

func (recreate) isProportional() bool { return false }

func (recreate) needsPods() bool { return true }

// step takes the next step: first it removes all old pods and then, when the last of them has
// ended, it creates all new pods.
func (r recreate) step(p *plan) {
	p.refreshNew()
	stopped := false
	for _, m := range p.others {
		stopped = p.resize(m, 0) || stopped
	}
	if !stopped && !p.hasOldPods() && (p.ensureNew() || p.isFallenBack()) {
		p.resize(p.target, r.sizeOfTarget(p))
	}
}

// sizeOfTarget returns the full size as soon as no old pod is left. A rollback creates the new
// ReplicaSet earlier.
func (recreate) sizeOfTarget(p *plan) int64 {
	if p.hasOldPods() {
		return p.target.size
	}
	return min(p.target.size+p.room(), p.d.Replicas)
}

// hasEndingPods reports whether a ReplicaSet is known to have terminating pods.
func (p *plan) hasEndingPods(m *member) bool { return m.hasTerminating() || p.s.Pods[m.UID] > 0 }

// hasOldPods reports whether a pod of another ReplicaSet than the target may still run. Terminating pods still
// run, although the ReplicaSet no longer counts them; the watch of pods may be behind. Until the
// ReplicaSet's controller has observed that no pods are wanted, it may still create some. If the
// pods are not known, some may exist. By the policy TerminationStarted, terminating pods do not matter.
func (p *plan) hasOldPods() bool {
	if p.d.Annotations[replacementAnnotation] == whenTerminating {
		return slices.ContainsFunc(p.others, func(m *member) bool { return m.Replicas > 0 || !m.Observed || m.Existing > 0 })
	}
	return slices.ContainsFunc(p.others, func(m *member) bool {
		return p.s.Pods == nil || m.Replicas > 0 || !m.Observed || m.Existing > 0 || p.hasEndingPods(m)
	})
}
