package rollout

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
)

// recreate is the Recreate strategy: no pods of two templates run at a time.
//
// See https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#recreate-deployment.
type recreate struct{}

func (recreate) limits(*appsv1.DeploymentStrategy, int64) (Limits, error) { return Limits{}, nil }

func (recreate) isProportional() bool { return false }

func (recreate) needsPods() bool { return true }

// step takes the next step: no old pods, then, when the last of them has ended, all new ones.
func (r recreate) step(p *plan) {
	p.refreshNew()
	stopped := false
	for _, m := range p.old {
		stopped = p.resize(m, 0) || stopped
	}
	if stopped || p.hasOldPods() || !p.ensureNew() {
		return
	}
	p.resize(p.current, r.sizeOfNew(p))
	if p.isComplete() {
		p.prune()
	}
}

// sizeOfNew is all as soon as no old pod is left. A rollback wants the new ReplicaSet before
// its time.
func (recreate) sizeOfNew(p *plan) int64 {
	if p.hasOldPods() {
		return p.current.size
	}
	return p.d.Replicas
}

// hasOldPods tells whether a pod of an old ReplicaSet still runs. Those that
// terminate still do, although the ReplicaSet does not count them among its own any
// more; the watch of pods may be behind. And until it has noticed that it is to have
// none, it may just be making some. Pods that are not known may be there.
func (p *plan) hasOldPods() bool {
	return slices.ContainsFunc(p.old, func(m *member) bool {
		return p.s.Pods == nil || m.Replicas > 0 || !m.Observed || m.Existing > 0 || m.hasTerminating() || p.s.Pods[m.UID] > 0
	})
}
