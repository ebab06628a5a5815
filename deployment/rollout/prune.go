package rollout

import "math"

// prune orders the deletion of the old ReplicaSets beyond the history limit, the earliest
// revisions first. A ReplicaSet stays if it still has pods or may get some, or if this plan
// changes it.
//
// See https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#clean-up-policy.
func (p *plan) prune() {
	if p.d.HistoryLimit == nil || *p.d.HistoryLimit == math.MaxInt32 {
		return
	}
	var candidates []*member
	for _, m := range p.oldRSs {
		if !m.Deleting {
			candidates = append(candidates, m)
		}
	}
	excess := len(candidates) - int(*p.d.HistoryLimit)
	if excess <= 0 {
		return
	}
	sortByRevision(candidates)
	for _, m := range candidates[:excess] {
		if m.isFinished() && !m.needsUpdate() {
			p.deletions = append(p.deletions, DeleteReplicaSet{Target: m.Meta})
		}
	}
}

// leeway is how many finished ReplicaSets beyond the history limit a rollout may leave behind,
// unless the limit is even larger.
const leeway = 10

// pruneMidRollout keeps the history from growing without bound if no rollout completes because
// the template always changes before that: once there are far more finished ReplicaSets than
// the limit allows, it cuts the history to the limit. With a limit of 10, that happens at 21
// ReplicaSets, of which 11 are deleted. ReplicaSets with pods do not count, and stay.
func (p *plan) pruneMidRollout() {
	if p.d.HistoryLimit == nil || *p.d.HistoryLimit == math.MaxInt32 || p.newRS == nil || len(p.deletions) > 0 || p.d.NeedsPods() && p.s.Pods == nil {
		return
	}
	var finished []*member
	for _, m := range p.oldRSs {
		if m.isFinished() && !m.needsUpdate() && !m.hasTerminating() && p.s.Pods[m.UID] == 0 {
			finished = append(finished, m)
		}
	}
	limit := int(*p.d.HistoryLimit)
	if len(finished) <= limit+max(limit, leeway) {
		return
	}
	sortByRevision(finished)
	for _, m := range finished[:len(finished)-limit] {
		p.deletions = append(p.deletions, DeleteReplicaSet{Target: m.Meta})
	}
}
