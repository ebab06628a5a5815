package main

import (
	"fmt"
	"slices"
	"time"
)

// times are how long restarts took to come.
type times []time.Duration

// answers returns those of restarts whose edit was made while there were no hostile objects, and
// those of the others.
func (s *soak) answers() (calm, hostile times) {
	for _, answer := range s.judge.answers() {
		switch {
		case !s.disturbed.has(answer.Edited):
		case slices.ContainsFunc(s.spells, func(s spell) bool { return s.has(answer.Edited) }):
			hostile = append(hostile, answer.Took)
		default:
			calm = append(calm, answer.Took)
		}
	}
	return calm, hostile
}

// String shows the median and the 95th percentile.
func (t times) String() string {
	if len(t) == 0 {
		return "none"
	}
	sorted := slices.Sorted(slices.Values(t))
	at := func(hundredths int) time.Duration {
		return sorted[(len(sorted)-1)*hundredths/100].Round(10 * time.Millisecond)
	}
	return fmt.Sprintf("%d, median %s, 95th percentile %s", len(sorted), at(50), at(95))
}
