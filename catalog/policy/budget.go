package policy

import "time"

// freeRestarts is how many restarts in a row are not spaced out, so that a release
// in several steps does not wait.
const freeRestarts = 3

// Budget is what a workload has used of its restarts: how many there were in a row,
// and when the last one was. The workload's basis annotation holds it, so it
// survives a restart of the controller. A workload that was not restarted recently
// has the zero value.
type Budget struct {
	Restarts int       `json:"restarts,omitzero"`
	Last     time.Time `json:"restarted,omitzero"`
}

// Spacing determines how far apart the restarts of a workload are when its configs
// keep changing. After three restarts in a row, the spacing doubles with each
// restart, from the grace period up to the limit. The row ends when, after the
// spacing, another limit passes without a restart.
type Spacing struct {
	// Grace is the workload's grace period.
	Grace time.Duration
	// Limit is the longest spacing; 0 spaces nothing out.
	Limit time.Duration
}

// after returns the spacing after the given number of restarts in a row.
func (s Spacing) after(restarts int) time.Duration {
	if restarts < freeRestarts {
		return 0
	}
	spacing := max(s.Grace, time.Second) // a grace period of 0 would double to 0
	for ; restarts > freeRestarts && spacing < s.Limit; restarts-- {
		spacing *= 2
	}
	return min(spacing, s.Limit)
}

// Wait returns how long the next restart has to wait from now, which is never
// longer than the limit. The last restart may have been made by a process whose
// clock is ahead. If that clock is ahead by more than the limit, it has jumped, and
// the restart does not wait for it.
func (b Budget) Wait(s Spacing, now time.Time) time.Duration {
	if b.Last.Sub(now) > s.Limit {
		return 0
	}
	return min(s.Limit, max(0, b.Last.Add(s.after(b.Restarts)).Sub(now)))
}

// Spend returns the budget after a restart now.
func (b Budget) Spend(s Spacing, now time.Time) Budget {
	if s.Limit == 0 {
		return Budget{}
	}
	if calm := s.after(b.Restarts) + s.Limit; b.Last.Add(calm).Before(now) {
		b.Restarts = 0
	}
	return Budget{Restarts: b.Restarts + 1, Last: now.UTC()}
}
