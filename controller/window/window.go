package window

import (
	"time"

	"github.com/robfig/cron/v3"
)

// Window is a recurring window of time. It is immutable. The zero Window is always open.
//
// A Window in a time zone refers to a few kilobytes that describe the zone, and each call of [Parse]
// makes its own. Copies of a Window share them.
type Window struct {
	schedule *cron.SpecSchedule // of readings
	zone     *time.Location
	length   time.Duration
}

// IsClosed reports whether a window is closed, and when it opens; zero if that is not known. The first two arguments
// are what [Parse] has returned: a window that cannot be read is closed, because nobody knows when its owner wants no
// restarts.
func IsClosed(w Window, err error, now time.Time) (isClosed bool, opens time.Time) {
	if err != nil {
		return true, time.Time{}
	}
	isOpen, opens := w.At(now)
	return !isOpen, opens
}

// At reports whether the window is open, and otherwise when it opens next, in its own time zone. That
// time is zero if the window does not open within five years. A window includes the time at which
// it opens, but not the time at which it closes. One that opens again before it closes stays open.
func (w Window) At(now time.Time) (isOpen bool, opens time.Time) {
	if w.schedule == nil {
		return true, time.Time{}
	}
	opens = w.openingAfter(now.Add(-w.length))
	if opens.IsZero() || opens.After(now) {
		return false, opens
	}
	return true, time.Time{}
}

// openingAfter returns the first opening after a time, or the zero time.
func (w Window) openingAfter(t time.Time) time.Time {
	next := w.schedule.Next(latestShown(t.In(w.zone)))
	if next.IsZero() {
		return time.Time{}
	}
	return firstShown(next, w.zone)
}
