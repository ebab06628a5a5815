package deployment

import (
	"cmp"
	"math"
	"slices"
)

// prune orders that the old ReplicaSets beyond the history limit are deleted, the
// earliest revisions first. One that still has pods, or may get some, stays.
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
	slices.SortStableFunc(candidates, byRevision)
	for _, m := range candidates[:excess] {
		if m.isFinished() {
			p.deletions = append(p.deletions, DeleteReplicaSet{Target: m.Meta})
		}
	}
}

// byRevision orders by revision; where that cannot be read, the order by age
// stays.
func byRevision(a, b *member) int {
	first, ok1 := revisionOf(a.Annotations)
	second, ok2 := revisionOf(b.Annotations)
	if !ok1 || !ok2 {
		return byAge(a.ReplicaSet, b.ReplicaSet)
	}
	return cmp.Compare(first, second)
}
