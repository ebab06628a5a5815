package rollout

import "slices"

// recreate takes the next step of the Recreate strategy: no old pods, then, when
// the last of them has ended, all new ones.
//
// See https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#recreate-deployment.
func (p *plan) recreate() {
	p.refreshNew()
	stopped := false
	for _, m := range p.old {
		stopped = p.resize(m, 0) || stopped
	}
	if stopped || p.hasOldPods() || !p.ensureNew() {
		return
	}
	p.resize(p.current, p.sizeOfNew())
	if p.isComplete() {
		p.prune()
	}
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
