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

// Sighting is when a watch showed something: by the clock, and in the order of observations.
type Sighting struct {
	At   time.Time
	Seen Sequence
}

// UnixSeconds returns a time in seconds of Unix time, and 0 for a time before 1970 or after 2105,
// which no clock shows.
func UnixSeconds(at time.Time) uint32 {
	if seconds := at.Unix(); seconds > 0 && seconds <= math.MaxUint32 {
		return uint32(seconds)
	}
	return 0
}
