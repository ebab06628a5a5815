package deployment

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
	isForeign := func(rs *ReplicaSet) bool { return !d.selects(rs) }
	var actions []Action
	for _, rs := range oldestFirst(s.ReplicaSets, isForeign) {
		actions = append(actions, ReleaseReplicaSet{Target: rs.Meta})
	}
	isOwn := func(rs *ReplicaSet) bool { return d.selects(rs) && !rs.Deleting }
	for _, rs := range oldestFirst(s.Orphans, isOwn) {
		actions = append(actions, AdoptReplicaSet{Target: rs.Meta})
	}
	return actions[:min(len(actions), maxBatch)]
}

func (d *Deployment) selects(rs *ReplicaSet) bool { return d.Matcher.Matches(labels.Set(rs.Labels)) }
