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
	selects := d.selector()
	isForeign := func(rs *ReplicaSet) bool { return !selects(rs) }
	var actions []Action
	for _, rs := range oldestFirst(s.ReplicaSets, isForeign) {
		actions = append(actions, ReleaseReplicaSet{Target: rs.Meta})
	}
	isOwn := func(rs *ReplicaSet) bool { return !rs.Deleting && selects(rs) }
	for _, rs := range oldestFirst(s.Orphans, isOwn) {
		actions = append(actions, AdoptReplicaSet{Target: rs.Meta})
	}
	return actions[:min(len(actions), maxBatch)]
}

// Selects reports whether the Deployment selects a ReplicaSet.
func (d *Deployment) Selects(rs *ReplicaSet) bool { return d.selector()(rs) }

// selector returns a function that reports whether the Deployment selects a ReplicaSet. Its
// cost grows with the size of the selector, so each plan makes it only once.
func (d *Deployment) selector() func(*ReplicaSet) bool {
	matcher, _ := matcherOf(d.Selector) // an Event reports an invalid selector
	return func(rs *ReplicaSet) bool { return matcher.Matches(labels.Set(rs.Labels)) }
}
