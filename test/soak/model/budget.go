package model

import "time"

// Budget says how far apart restarts must be, as docs/restarts.md describes it.
type Budget struct {
	// Free restarts in a row are not spaced out. The next one is spaced by Grace, at
	// least a second, and each one after by twice as much, up to Limit. The row ends
	// when there was none for the present spacing and another Limit.
	Free         int
	Grace, Limit time.Duration
	// Write is how long a write may take, with faults.
	Write time.Duration
}

// row is a row of restarts.
type row struct {
	restarts int
	last     time.Time
}

// add adds a restart and returns by how much it came too soon. The time between two restarts may have been longer by rounded: that it
// was, is assumed. So may that between their decisions, of which the end of a row is told, if the write of the former took as long as
// late.
func (r *row) add(b Budget, at time.Time, rounded, late time.Duration) time.Duration {
	spacing := b.after(r.restarts)
	early := r.last.Add(spacing - rounded).Sub(at)
	if r.last.Add(spacing + b.Limit - rounded - late).Before(at) {
		r.restarts = 0
	}
	r.restarts++
	r.last = at
	return max(0, early)
}

func (b Budget) after(restarts int) time.Duration {
	if restarts < b.Free {
		return 0
	}
	spacing := max(b.Grace, time.Second)
	for range restarts - b.Free {
		if spacing = 2 * spacing; spacing > b.Limit {
			break
		}
	}
	return min(spacing, b.Limit)
}
