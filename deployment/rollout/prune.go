package rollout

import (
	"cmp"
	"math"
	"slices"
)

// leeway is how many finished ReplicaSets beyond those that it keeps a rollout may leave behind, unless the history limit is
// even larger.
const leeway = 10

// prune orders the deletion of old ReplicaSets beyond the history limit: when the rollout is complete, and if the template
// always changes before that, once there are far too many. A ReplicaSet stays if it still has pods or may get some, and all
// do while the strategy does not know the pods that it needs to know.
//
// See https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#clean-up-policy.
func (p *plan) prune() {
	switch {
	case p.d.HistoryLimit == nil || *p.d.HistoryLimit == math.MaxInt32:
	case p.newRS == nil || p.d.NeedsPods() && p.s.Pods == nil:
	case p.isComplete():
		p.deleteFinished(p.beyondLimit(int(*p.d.HistoryLimit)))
	default:
		p.deleteFinished(p.crowd(int(*p.d.HistoryLimit)))
	}
}

// isWayBack reports whether a ReplicaSet is the last one that completed, so that a failed release falls back to it; or the last of the
// release before, which restarts must not push out of the history; or shows that the present template has completed once, so that
// its rollout takes no steps.
func (p *plan) isWayBack(m, before *member) bool {
	if p.release == nil {
		return false
	}
	isBegun := p.newRS != nil && p.newRS.outcome().Ended != completed && p.d.Replicas > 0
	return m == p.release.last || m == before && *p.d.HistoryLimit > 0 || isBegun && p.isOfRelease(m) && m.outcome().Ended == completed
}

// releaseBefore returns the last ReplicaSet that completed before the release of the last one did, nil if none is known.
func (p *plan) releaseBefore() *member {
	if p.release == nil {
		return nil
	}
	return p.lastCompletedOf(func(m *member) bool { return p.release.last == nil || m.Bare != p.release.last.Bare })
}

func (p *plan) deleteFinished(members []*member) {
	before := p.releaseBefore() // which looks at all of them
	for _, m := range members {
		if m.isFinished() && !m.needsUpdate() && !p.isWayBack(m, before) && !(p.d.NeedsPods() && p.hasEndingPods(m)) {
			p.deletions = append(p.deletions, DeleteReplicaSet{Target: m.Meta})
		}
	}
}

// beyondLimit returns the earliest revisions of the old ReplicaSets, of which as many stay as the limit allows.
func (p *plan) beyondLimit(limit int) []*member {
	old := slices.DeleteFunc(slices.Clone(p.oldRSs), func(m *member) bool { return m.Deleting })
	sortByRevision(old)
	return old[:max(0, len(old)-limit)]
}

// crowd returns the finished ReplicaSets that a rollout does not need, if there are far too many. The oldest stay: the
// history was within its limit when a rollout was complete for the last time, so that one is among them. So do the latest,
// as many as the limit allows. With a limit of 10, that happens at 32, of which 11 go.
func (p *plan) crowd(limit int) []*member {
	finished := slices.DeleteFunc(slices.Clone(p.oldRSs), func(m *member) bool {
		return !m.isFinished() || p.hasEndingPods(m)
	})
	first := limit + 1
	if len(finished) <= first+limit+max(limit, leeway) {
		return nil
	}
	slices.SortFunc(finished, func(a, b *member) int {
		return cmp.Or(a.Created.Compare(b.Created), ByRevision(a.ReplicaSet, b.ReplicaSet))
	})
	later := finished[first:]
	sortByRevision(later)
	return later[:len(later)-limit]
}
