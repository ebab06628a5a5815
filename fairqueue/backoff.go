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
// After a broken connection no pause is longer than a second, unless nobody gets an answer;
// such attempts do not lengthen the pauses after those that are answered. An item that is
// slow pauses for at least as long as it was under way, and for up to 20 times as long, but
// no longer than the greater of the longest pause and 10 minutes: one whose request hangs
// for 30 seconds pauses for 30 seconds, one minute and so on up to 10.
type Backoff struct{ First, Longest time.Duration }

// failures counts the attempts in a row that have failed.
type failures struct {
	all     int
	refused int
	slow    int           // refused since one of them, or one before, was slow
	longest time.Duration // how long the longest attempt was under way that was answered
}

func (f *failures) add(failure Failure) {
	f.all++
	if failure == Unanswered {
		return
	}
	f.refused++
	if f.longest > slowAfter {
		f.slow++
	}
}

// pause returns the pause after the last of some failures; isAway is whether the API server
// answers nobody.
func (b Backoff) pause(f failures, last Failure, isAway bool) time.Duration {
	switch {
	case last == Unanswered && !isAway:
		return doubled(b.First, f.all, min(b.Longest, brokenLimit))
	case last == Unanswered:
		return doubled(b.First, f.all, b.Longest)
	case f.slow > 0:
		hanging := doubled(f.longest, f.slow, max(b.Longest, min(slowShare*f.longest, slowLimit)))
		return max(hanging, doubled(b.First, f.refused, b.Longest))
	}
	return doubled(b.First, f.refused, b.Longest)
}

// doubled returns the nth of pauses each of which is twice the one before.
func doubled(first time.Duration, n int, limit time.Duration) time.Duration {
	return min(first<<min(n-1, 20), limit) // more would overflow, and pass any limit
}
