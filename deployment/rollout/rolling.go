package rollout

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
)

// rollingUpdate is the RollingUpdate strategy: new pods replace the old ones a few at a
// time.
//
// See https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#rolling-update-deployment.
type rollingUpdate struct{}

func (rollingUpdate) limits(spec *appsv1.DeploymentStrategy, replicas int64) (Limits, error) {
	return resolveLimits(spec, replicas)
}

func (rollingUpdate) isProportional() bool { return true }

func (rollingUpdate) needsPods() bool { return false }

// step takes the next step. It adds as many new pods as the surge allows; if it cannot, it
// removes as many old pods as the available ones allow.
func (r rollingUpdate) step(p *plan) {
	if !p.ensureNew() && !p.isFallenBack() {
		if p.isLimited() {
			p.rescaleLast() // a scaling does not wait for the new one
		}
		return
	}
	if !p.isSettling() && !p.resize(p.target, r.sizeOfTarget(p)) && !p.fillUp() {
		p.shrinkOld()
		p.shed()
	}
}

// settleLimit is how long a rolling update waits at most for the ReplicaSet
// controller to notice the last step.
const settleLimit = 100 * time.Millisecond

// isSettling reports whether the last step was taken just now and the ReplicaSet controller
// has not observed it yet. The controller will do so in a moment with a write of the
// ReplicaSet's status, and another step would only conflict with that write.
func (p *plan) isSettling() bool {
	due := p.s.StepTaken.Add(settleLimit)
	isUnnoticed := func(m *member) bool { return !m.Observed && !m.isOrdered }
	if !due.After(p.s.Now) || !slices.ContainsFunc(p.all(), isUnnoticed) {
		return false
	}
	p.wake = due
	return true
}

// sizeOfTarget returns how large the target may be now. For example, with 10 replicas,
// a surge of 3 and 10 old pods, the size is 3; when 5 of the old pods are gone, it is 8.
func (rollingUpdate) sizeOfTarget(p *plan) int64 {
	most := p.most()
	if p.target.size >= most {
		return min(p.target.size, p.d.Replicas)
	}
	return min(p.target.size+p.room(), most)
}

// shrinkOld removes pods from the other ReplicaSets, the oldest ReplicaSets first. It removes
// unavailable pods first, so that they cannot block the rollout, and then as many of the
// others as possible while enough pods stay available.
//
// At most, it removes the pods beyond the required minimum, not counting new pods that are
// not available yet: with 10 replicas, of which 2 may be unavailable, 8 old pods, and 5 new
// pods, of which 3 are not available, that is 13-8-3 = 2.
func (p *plan) shrinkOld() {
	unavailableNew := p.target.size - staying(p.target)
	excess := sum(p.all(), size) - p.d.minAvailable() - unavailableNew
	if excess <= 0 {
		return
	}
	spare := sum(p.all(), staying) - p.d.minAvailable()
	shrinking := p.others
	if p.isLimited() {
		shrinking = append(slices.Clone(shrinking), p.target) // a scaling may have made its pods too many
	}
	for _, m := range shrinking {
		unhealthy := min(max(m.size-m.Available, 0), excess, p.beyondLeast(m))
		excess -= unhealthy
		p.resize(m, m.size-unhealthy)
	}
	for _, m := range shrinking {
		healthy := min(p.beyondLeast(m), max(spare, 0))
		spare -= healthy
		p.resize(m, m.size-healthy)
	}
}
