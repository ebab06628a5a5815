package model

import (
	"cmp"
	"slices"
	"time"
)

// timeline tells when a resource version can have been written at the earliest: not before the observer saw an earlier one.
// As a rule that is a moment before it saw the version itself. If etcd or the API server is killed, it can be seconds.
type timeline struct {
	ticks    []tick
	isSorted bool
}

type tick struct {
	version uint64
	at      time.Time
}

// see takes in that a version was seen. What a list shows says nothing about others.
func (t *timeline) see(version uint64, at time.Time, isListed bool) {
	if !isListed {
		t.ticks, t.isSorted = append(t.ticks, tick{version, at}), false
	}
}

// before returns when a version was written at the earliest that was seen at a time, which is that time if nothing earlier
// was seen.
func (t *timeline) before(version uint64, at time.Time) time.Time {
	if !t.isSorted {
		slices.SortFunc(t.ticks, func(a, b tick) int { return cmp.Compare(a.version, b.version) })
		for i := 1; i < len(t.ticks); i++ {
			t.ticks[i].at = later(t.ticks[i].at, t.ticks[i-1].at)
		}
		t.isSorted = true
	}
	i, _ := slices.BinarySearchFunc(t.ticks, version, func(other tick, version uint64) int { return cmp.Compare(other.version, version) })
	if i == 0 || t.ticks[i-1].at.After(at) {
		return at
	}
	return t.ticks[i-1].at
}
