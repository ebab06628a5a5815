package rollout

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/labels"
)

// maxBatch is how many ReplicaSets a plan claims or deletes at most. The next plan continues:
// a Deployment with thousands of ReplicaSets must not occupy a worker for minutes.
const maxBatch = 100

// claim orders the adoption of orphans that the Deployment selects, and the release of its
// ReplicaSets that it no longer selects. It never touches ReplicaSets of other controllers. A
// Deployment that is being deleted claims nothing, so that deleting it without its
// ReplicaSets leaves them in place.
//
// A ReplicaSet to release has no part in a plan. The state shows it until the API server has
// answered the release, so the plan waits for that.
func claim(s *State) []Action {
	d := s.Deployment
	if d.Deleting {
		return nil
	}
	_, foreign := d.selected(s.ReplicaSets)
	orphans, _ := d.selected(s.Orphans)
	var actions []Action
	for _, rs := range oldestFirst(foreign) {
		actions = append(actions, ReleaseReplicaSet{Target: rs.Meta})
	}
	for _, rs := range oldestFirst(orphans) {
		if !rs.Deleting {
			actions = append(actions, AdoptReplicaSet{Target: rs.Meta})
		}
	}
	return actions[:min(len(actions), maxBatch)]
}

// Selects reports whether the Deployment selects a ReplicaSet.
func (d *Deployment) Selects(rs *ReplicaSet) bool {
	selected, _ := d.selected([]*ReplicaSet{rs})
	return len(selected) > 0
}

// selected divides ReplicaSets into those that the Deployment selects and the others, in no order. The
// ReplicaSets of one Deployment mostly have the same labels, apart from the hash: these are unpacked only once.
func (d *Deployment) selected(sets []*ReplicaSet) (selected, others []*ReplicaSet) {
	if len(sets) == 0 {
		return nil, nil
	}
	matcher, _ := matcherOf(d.Selector) // an Event reports an invalid selector
	for _, group := range alike(sets) {
		all := labels.Set(group[0].Labels.Map(1))
		selected = slices.Grow(selected, len(group))
		for _, rs := range group {
			delete(all, HashLabel)
			if rs.Hash != nil {
				all[HashLabel] = *rs.Hash
			}
			if matcher.Matches(all) {
				selected = append(selected, rs)
			} else {
				others = append(others, rs)
			}
		}
	}
	return selected, others
}

// alike returns groups of ReplicaSets that have the same labels, apart from the hash.
func alike(sets []*ReplicaSet) [][]*ReplicaSet {
	isOther := func(rs *ReplicaSet) bool { return rs.Labels != sets[0].Labels }
	if !slices.ContainsFunc(sets, isOther) {
		return [][]*ReplicaSet{sets}
	}
	groups := map[Pairs][]*ReplicaSet{}
	for _, rs := range sets {
		groups[rs.Labels] = append(groups[rs.Labels], rs)
	}
	return slices.Collect(maps.Values(groups))
}
