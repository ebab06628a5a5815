package rollout

import (
	"cmp"
	"math"
	"slices"
)

// isRescaled reports whether the Deployment has been scaled since the sizes of its ReplicaSets
// were computed.
func (p *plan) isRescaled() bool { return slices.ContainsFunc(active(p.all()), p.isOutdated) }

// isOutdated reports whether a ReplicaSet's size was computed for another number of replicas.
func (p *plan) isOutdated(m *member) bool {
	desired, ok := countOf(m.Annotations, desiredReplicasAnnotation)
	return ok && desired != p.d.Replicas
}

// rescale adjusts the ReplicaSets to the number of replicas without moving pods between them. It
// returns false if that is up to the strategy.
func (p *plan) rescale() bool {
	if p.isLimited() {
		p.rescaleLast()
		return true
	}
	m := p.activeOrLatest()
	if p.isFallenBack() && m != p.target {
		return false // what has failed must not grow
	}
	if m != nil {
		p.scaleTo(m, p.d.Replicas)
		if m.size > 0 && m.size == p.d.Replicas && p.isOutdated(m) {
			p.noteSize(m)
		}
		return true
	}
	switch {
	case p.isSaturated():
		for _, m := range p.others {
			p.resize(m, 0)
		}
		return true
	case p.strategy.isProportional():
		p.scaleProportionally()
		return true
	}
	return false
}

// activeOrLatest returns the only active ReplicaSet. It returns the target, or else the latest, if none is
// active, and nil if several are active.
func (p *plan) activeOrLatest() *member {
	switch active := active(p.all()); {
	case len(active) == 1:
		return active[0]
	case len(active) > 1:
		return nil
	case p.target != nil:
		return p.target
	case p.release != nil && p.release.last != nil:
		return p.release.last // the latest one may have failed
	case len(p.others) > 0:
		return p.others[len(p.others)-1]
	}
	return nil
}

// scaleProportionally scales the active ReplicaSets in proportion to their sizes. The remainder after rounding
// goes to the largest.
//
// See https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#proportional-scaling.
func (p *plan) scaleProportionally() {
	members := active(p.all())
	if len(members) == 0 {
		return
	}
	allowed := int64(0)
	if p.d.Replicas > 0 {
		allowed = p.d.maxReplicas()
	}
	add := allowed - sum(members, size)
	if room := p.room(); add > room {
		if p.d.Paused {
			return // until there is room for all
		}
		add = room // the rest is of the new template
	}
	slices.SortStableFunc(members, func(a, b *member) int { return bySize(a, b, add > 0) })

	sizes := make([]int64, len(members))
	rest := add
	for i, m := range members {
		share := p.share(m, add, rest)
		sizes[i] = m.size + share
		rest -= share
	}
	sizes[0] = max(sizes[0]+rest, 0)
	for i, m := range members {
		p.resize(m, sizes[i])
		p.noteSize(m)
	}
}

// bySize puts the largest first, and among ReplicaSets of the same size either the newer or the
// older.
func bySize(a, b *member, newerFirst bool) int {
	if order := cmp.Compare(b.size, a.size); order != 0 {
		return order
	}
	if newerFirst {
		return byAge(b.ReplicaSet, a.ReplicaSet)
	}
	return byAge(a.ReplicaSet, b.ReplicaSet)
}

// share returns how many pods a ReplicaSet gains or loses when all ReplicaSets together gain or
// lose add, of which rest is left. For example, with 10 replicas and a surge of 3, there were 8
// and 5 pods; with 15 replicas and a surge of 5, there may be 20, and the first ReplicaSet gets
// round(8×20/13) = 12.
func (p *plan) share(m *member, add, rest int64) int64 {
	if rest == 0 {
		return 0
	}
	if p.d.Replicas == 0 {
		return max(-m.size, rest)
	}
	before := p.maxBefore(m)
	if before == 0 {
		return 0
	}
	// In float64, because the product of two int32 may overflow an int32.
	fraction := int64(math.Round(float64(m.size)*float64(p.d.maxReplicas())/float64(before))) - m.size
	if add > 0 {
		if p.d.countsTerminating() {
			fraction = max(fraction, 0) // the pods that one loses would take up the room of those that another gains
		}
		return min(fraction, rest)
	}
	// No ReplicaSet grows while all together shrink, although the number that its annotation
	// holds may be smaller than the present one.
	return max(min(fraction, 0), rest)
}

// maxBefore returns how many pods were allowed when a ReplicaSet got its size.
func (p *plan) maxBefore(m *member) int64 {
	before, ok := countOf(m.Annotations, maxReplicasAnnotation)
	if !ok || before == 0 {
		return int64(p.d.Status.Replicas) // not exact, but rest keeps it within the limits
	}
	return before
}
