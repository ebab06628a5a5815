package fairqueue

import "time"

// Failure is how an attempt failed.
type Failure int

// The failures.
const (
	// Refused is an attempt that was answered, for example with a denial.
	Refused Failure = iota
	// Unanswered is an attempt that got no answer because the connection broke.
	Unanswered
)

const (
	// brokenLimit is the longest pause after a connection broke while others get answers. A
	// broken connection says nothing about the request, which is likely to succeed the next
	// time.
	brokenLimit = time.Second
	// awayAfter is how many attempts in a row, at any items, must get no answer before the
	// API server counts as unavailable.
	awayAfter = 20
	// slowShare limits the share of its time that a slow, failing item may be under way: its
	// pause grows to this many times the longest attempt.
	slowShare = 20
	// slowLimit is the longest pause of all.
	slowLimit = 10 * time.Minute
)

// Backoff spaces out the attempts at an item that fails: the first pause doubles with each
// failure in a row, up to the longest one.
//
// After a broken connection, no pause is longer than a second, unless no item gets an
// answer; such attempts do not lengthen the pauses after attempts that are answered. A slow
// item pauses for at least as long as it was under way, and for up to 20 times as long, but
// no longer than the greater of the longest pause and 10 minutes: an item whose request
// hangs for 30 seconds pauses for 30 seconds, one minute and so on up to 10 minutes.
type Backoff struct{ First, Longest time.Duration }

// failures counts the failed attempts in a row.
type failures struct {
	all     int
	refused int
	slow    int           // refused since one of them, or one before, was slow
	longest time.Duration // how long the longest answered attempt was under way
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

// pause returns the pause after the last failure; isAway is whether the API server answers
// no requests.
func (b Backoff) pause(f failures, last Failure, isAway bool) time.Duration {
	switch {
	case last == Unanswered && !isAway:
		return Doubled(b.First, f.all, min(b.Longest, brokenLimit))
	case last == Unanswered:
		return Doubled(b.First, f.all, b.Longest)
	case f.slow > 0:
		hanging := Doubled(f.longest, f.slow, max(b.Longest, min(slowShare*f.longest, slowLimit)))
		return max(hanging, Doubled(b.First, f.refused, b.Longest))
	}
	return Doubled(b.First, f.refused, b.Longest)
}

// Doubled returns the nth pause in a series in which each is twice the previous one, up to a limit.
func Doubled(pause time.Duration, n int, limit time.Duration) time.Duration {
	for ; n > 1 && pause < limit; n-- {
		pause *= 2
	}
	return min(pause, limit)
}
