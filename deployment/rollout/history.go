package rollout

import (
	"cmp"
	"math"
	"slices"
)

// prune orders that the old ReplicaSets beyond the history limit are deleted, the
// earliest revisions first. One that still has pods, or may get some, stays; so does one
// that this plan changes.
//
// See https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#clean-up-policy.
func (p *plan) prune() {
	if p.d.HistoryLimit == nil || *p.d.HistoryLimit == math.MaxInt32 {
		return
	}
	var candidates []*member
	for _, m := range p.old {
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

// leeway is how many finished ReplicaSets beyond the history limit a rollout may
// leave behind, if the limit is not larger still.
const leeway = 10

// thin keeps the history from growing without end where no rollout gets to its end,
// because the template changes again before that: once far more finished ReplicaSets
// are there than the limit allows, it is cut to the limit. With a limit of 10 that is
// when there are 21, so that 11 go. Those with pods do not count and stay.
func (p *plan) thin() {
	if p.d.HistoryLimit == nil || *p.d.HistoryLimit == math.MaxInt32 || p.current == nil || len(p.deletions) > 0 || p.d.NeedsPods() && p.s.Pods == nil {
		return
	}
	var finished []*member
	for _, m := range p.old {
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

// ByRevision orders by revision and then by age. A revision that cannot be read counts as none,
// as the first: to compare it by age with some and others by revision would be no order.
func ByRevision(a, b *ReplicaSet) int {
	first, _ := revisionOf(a.Annotations)
	second, _ := revisionOf(b.Annotations)
	return cmp.Or(cmp.Compare(first, second), byAge(a, b))
}

// sortByRevision puts the earliest first.
func sortByRevision(members []*member) {
	slices.SortFunc(members, func(a, b *member) int { return ByRevision(a.ReplicaSet, b.ReplicaSet) })
}
