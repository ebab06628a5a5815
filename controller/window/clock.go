package window

import "time"

// A reading is what a clock in some time zone shows, written as a time in UTC. Readings can be
// compared and counted without regard to changes of the clock.

// shown returns the reading at a time, in the zone of the time.
func shown(t time.Time) time.Time {
	return t.Add(offset(t)).UTC()
}

func offset(t time.Time) time.Duration {
	_, seconds := t.Zone()
	return time.Duration(seconds) * time.Second
}

// latestShown returns the latest reading up to a time, in the zone of the time. After the clock has
// been set back, this is the reading before the change, until the clock shows later ones.
func latestShown(t time.Time) time.Time {
	now := shown(t)
	change, _ := t.ZoneBounds()
	if before := shown(change.Add(-1)); before.After(now) {
		return before
	}
	return now
}

// firstShown returns the first time at which a clock in the zone shows the reading or a later one.
func firstShown(reading time.Time, zone *time.Location) time.Time {
	// Near a change, Date uses the offset before it or the offset after it; which one is not specified.
	t := time.Date(reading.Year(), reading.Month(), reading.Day(), reading.Hour(), reading.Minute(), reading.Second(), 0, zone)
	begin, end := t.ZoneBounds()
	switch got := shown(t); {
	case got.After(reading):
		return begin // the clock skips the reading, and t is after the change
	case got.Before(reading):
		return end // the same, and t is before the change
	}
	back := offset(begin.Add(-1)) - offset(t)
	if first := t.Add(-back); first.Before(begin) {
		return first // the clock shows the reading twice
	}
	return t
}
