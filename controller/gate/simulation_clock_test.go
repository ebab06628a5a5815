package gate

import "time"

// The clocks of two leaders may differ by minutes. The times that one leader gives to its ledger always pass
// as quickly as the true time, whatever happens to its clock, because Go's clock is monotonic; but what it
// leaves to the next leader has the time of its clock.

// skew returns by how much the clock of a leader is ahead.
func (f *fleet) skew() time.Duration {
	if f.chance(2) {
		return 0
	}
	return f.upTo(10*time.Minute) - 5*time.Minute
}

// clock returns what time it is for the leader.
func (l *leader) clock() time.Time { return l.now.Add(l.skew) }

// noteTakeover makes the best of what the former leader says about when a restart began: if that is in the
// future, the clock of the former leader was ahead.
func (l *leader) noteTakeover(r *simRollout) {
	if r.stamp.After(l.clock()) {
		r.began, r.stamp = l.now, l.clock()
	}
}
