package catalog

import (
	"math"
	"time"
)

// discardForgedTimes drops times that no clock shows. Anyone can write a basis, and a year
// without exactly four digits could be read but never written again. The last day of 9999
// has such a year in UTC with the right offset.
func (b *basis) discardForgedTimes() {
	for _, at := range []*time.Time{&b.Written, &b.Contradicted, &b.Last} {
		if IsForged(*at) {
			*at = time.Time{}
		}
	}
}

// IsForged reports whether no clock shows a time. Whoever may write an object may also write the times in its managedFields.
func IsForged(at time.Time) bool {
	year := at.UTC().Year()
	return year < 1970 || year > 9998
}

// unixSeconds returns a time in seconds of Unix time, and 0 for a time before 1970 or after 2105,
// which no clock shows.
func unixSeconds(at time.Time) uint32 {
	if seconds := at.Unix(); seconds > 0 && seconds <= math.MaxUint32 {
		return uint32(seconds)
	}
	return 0
}
