package names

import (
	"math"
	"time"
)

// Sequence orders the observations of the watches: a later observation has a larger
// sequence. 0 is the time before the catalog watched.
type Sequence uint64

// ClockTolerance is how far the clocks of the controller, the API server and the nodes may differ,
// given that the API truncates times to whole seconds.
const ClockTolerance = time.Second

// Latest returns the later of two times.
func Latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// Earliest returns the earlier one of two times.
func Earliest(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// Sighting is when a watch showed something: by the clock, and in the order of observations.
type Sighting struct {
	At   time.Time
	Seen Sequence
}

// Interval is a time in which something was read that counts. Both ends belong to it. The zero beginning is before all times.
type Interval struct{ From, Until time.Time }

// Always is the interval of all times that the API can express.
var Always = Interval{Until: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}

// IsAfter reports whether one time was after another, of which different clocks may have shown each. They leave in doubt what
// came within [ClockTolerance] of each other; then inDoubt is the answer.
func IsAfter(a, b time.Time, inDoubt bool) bool {
	if inDoubt {
		return a.Sub(b) >= -ClockTolerance
	}
	return a.Sub(b) > ClockTolerance
}

// Before returns the time before an event: with inDoubt, what [IsAfter] leaves in doubt belongs to it.
func Before(event time.Time, inDoubt bool) Interval {
	if inDoubt {
		return Interval{Until: event.Add(ClockTolerance)}
	}
	return Interval{Until: event.Add(-ClockTolerance - 1)}
}

// After returns the part of the interval that is after an event, like [Before].
func (i Interval) After(event time.Time, inDoubt bool) Interval {
	if i.From = event.Add(ClockTolerance + 1); inDoubt {
		i.From = event.Add(-ClockTolerance)
	}
	return i
}

// Has reports whether a time belongs to the interval.
func (i Interval) Has(at time.Time) bool { return !at.Before(i.From) && !at.After(i.Until) }

// UnixSeconds returns a time in seconds of Unix time, and 0 for a time before 1970 or after 2105,
// which no clock shows.
func UnixSeconds(at time.Time) uint32 {
	if seconds := at.Unix(); seconds > 0 && seconds <= math.MaxUint32 {
		return uint32(seconds)
	}
	return 0
}
