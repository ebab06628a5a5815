package rollout

import "k8s.io/apimachinery/pkg/labels"

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
	ours, orphans := d.selected(s.ReplicaSets), d.selected(s.Orphans)
	var actions []Action
	for _, rs := range oldestFirst(s.ReplicaSets, func(rs *ReplicaSet) bool { return !ours[rs] }) {
		actions = append(actions, ReleaseReplicaSet{Target: rs.Meta})
	}
	for _, rs := range oldestFirst(s.Orphans, func(rs *ReplicaSet) bool { return !rs.Deleting && orphans[rs] }) {
		actions = append(actions, AdoptReplicaSet{Target: rs.Meta})
	}
	return actions[:min(len(actions), maxBatch)]
}

// Selects reports whether the Deployment selects a ReplicaSet.
func (d *Deployment) Selects(rs *ReplicaSet) bool { return d.selected([]*ReplicaSet{rs})[rs] }

// selected returns those of the ReplicaSets that the Deployment selects. The ReplicaSets of one
// Deployment mostly have the same labels, apart from the hash: these are unpacked only once.
func (d *Deployment) selected(sets []*ReplicaSet) map[*ReplicaSet]bool {
	matcher, _ := matcherOf(d.Selector) // an Event reports an invalid selector
	alike := map[Pairs][]*ReplicaSet{}
	for _, rs := range sets {
		alike[rs.Labels] = append(alike[rs.Labels], rs)
	}
	selected := make(map[*ReplicaSet]bool, len(sets))
	for shared, group := range alike {
		all := labels.Set(shared.Map(1))
		for _, rs := range group {
			delete(all, HashLabel)
			if rs.Hash != nil {
				all[HashLabel] = *rs.Hash
			}
			if matcher.Matches(all) {
				selected[rs] = true
			}
		}
	}
	return selected
}
