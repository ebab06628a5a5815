package fairqueue

import "time"

// Failure is how an attempt failed.
type Failure int

// The failures.
const (
	// Refused is an attempt that was answered, as one is that was denied.
	Refused Failure = iota
	// Unanswered is one that got no answer: the connection broke.
	Unanswered
)

const (
	// brokenLimit is the longest pause after a connection broke while others get answers.
	// That says nothing about the request, which is likely to pass the next time.
	brokenLimit = time.Second
	// awayAfter is how many attempts in a row, at whatever items, get no answer before the
	// API server counts as away.
	awayAfter = 20
	// slowShare bounds how much of its time an item may be under way that is slow and fails:
	// a pause grows to so many times the longest attempt.
	slowShare = 20
	// slowLimit is the longest pause of all.
	slowLimit = 10 * time.Minute
)

// Backoff spaces out the attempts at an item that fails: the first pause doubles with each
// failure in a row, up to the longest one.
//
// After a broken connection no pause is longer than a second, unless nobody gets an answer.
// An item that is slow pauses for at least as long as it was under way, and for up to 20
// times as long, but no longer than the greater of the longest pause and 10 minutes: one
// whose request hangs for 30 seconds pauses for 30 seconds, one minute and so on up to 10.
type Backoff struct{ First, Longest time.Duration }

// attempt is one that has failed.
type attempt struct {
	failures int           // in a row, this one included
	longest  time.Duration // how long the longest of them was under way
	failure  Failure
	isAway   bool // the API server answers nobody
}

func (b Backoff) pause(a attempt) time.Duration {
	first, limit := b.First, b.Longest
	switch {
	case a.failure == Unanswered && !a.isAway:
		limit = min(limit, brokenLimit)
	case a.failure != Unanswered && a.longest > slowAfter:
		first = max(first, a.longest)
		limit = max(limit, min(slowShare*a.longest, slowLimit))
	}
	doublings := min(a.failures-1, 20) // more would overflow, and pass any limit
	return min(first<<doublings, limit)
}
