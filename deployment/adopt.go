package deployment

import "k8s.io/apimachinery/pkg/labels"

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
	var actions []Action
	for _, rs := range oldestFirst(s.ReplicaSets) {
		if !d.selects(rs) {
			actions = append(actions, ReleaseReplicaSet{Target: rs.Meta})
		}
	}
	for _, rs := range oldestFirst(s.Orphans) {
		if d.selects(rs) && !rs.Deleting {
			actions = append(actions, AdoptReplicaSet{Target: rs.Meta})
		}
	}
	return actions
}

func (d *Deployment) selects(rs *ReplicaSet) bool { return d.Matcher.Matches(labels.Set(rs.Labels)) }
