package catalog

import "time"

// freeRestarts is how many restarts in a row are not spaced out: a release in
// several steps must not wait.
const freeRestarts = 3

// Budget is what a workload has used of its restarts: how many there were in a
// row, and when the last one was. It is kept in the workload's basis annotation,
// so that it survives the controller. The zero value is that of a workload that
// was not restarted lately.
type Budget struct {
	Restarts int       `json:"restarts,omitzero"`
	Last     time.Time `json:"restarted,omitzero"`
}

// Spacing says how far apart the restarts of a workload are to be when its configs
// keep changing. After three restarts in a row it doubles with each one, from the
// grace period up to the limit. A calm of another limit ends the row.
type Spacing struct {
	// Grace is the workload's grace period.
	Grace time.Duration
	// Limit is the longest spacing; 0 spaces nothing out.
	Limit time.Duration
}

// after is the spacing after so many restarts in a row.
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

// Wait tells how long from now the next restart has to wait, which is never longer
// than the limit. The clock of who made the last restart may be ahead; by more than
// the limit it has jumped, and holds up nothing.
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
