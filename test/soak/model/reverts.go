package model

import "time"

// Revert is a write of somebody's that took the restart timestamp out of a pod template, or may
// have done so. It took effect between Begin and End.
type Revert struct {
	Begin, End time.Time
	Workload   WorkloadRef
}

// Revert takes in a revert. Those of one workload must come in order.
func (m *Model) Revert(r Revert) {
	h := m.history(r.Workload)
	h.reverts = append(h.reverts, r)
}

// answersRevert reports whether a restart may have been made again after a revert, and uses up
// all reverts before it. The controller's patch fails if somebody wrote meanwhile, so it knew of
// each revert that was carried out before. Of one that was under way that is not known.
func (r *replay) answersRevert(s *Sight) (found bool) {
	for i, revert := range r.history.reverts {
		if r.answered[i] || !revert.Begin.Before(s.RestartedAt) {
			continue
		}
		r.answered[i] = revert.End.Before(s.RestartedAt)
		isOld := r.options.Patience > 0 && revert.End.Before(s.RestartedAt.Add(-r.options.Patience))
		found = found || !isOld && revert.End.After(r.created)
	}
	return found
}
