package rollout

import "k8s.io/apimachinery/pkg/labels"

// maxBatch is how many ReplicaSets a plan claims or deletes at most. The next plan goes on:
// a Deployment with thousands of them must not occupy a worker for minutes.
const maxBatch = 100

// claim orders that orphans which the Deployment selects become its own, and that
// its own which it does not select any more are released. ReplicaSets of other
// controllers are never touched. A Deployment that is being deleted claims
// nothing, so that deleting it without its ReplicaSets leaves them.
//
// What was to be released has no part in a plan; the state shows it until the
// release is answered, so the plan waits for that.
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

// selector returns what reports whether the Deployment selects a ReplicaSet. To make it costs
// as much as the selector is large, so it is made once for a plan.
func (d *Deployment) selector() func(*ReplicaSet) bool {
	matcher, _ := matcherOf(d.Selector) // what is invalid about it is told
	return func(rs *ReplicaSet) bool { return matcher.Matches(labels.Set(rs.Labels)) }
}
