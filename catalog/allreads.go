package catalog

import (
	"maps"
	"slices"
	"sort"
	"time"
)

// allReads are the times at which pods read their configs, each list sorted.
type allReads struct {
	mounted []time.Time
	started map[string][]time.Time
	// any are the times in started, of whichever container, once something asked for them.
	any []time.Time
	// spans holds the pods of which only the first and the last start are known.
	spans readSpans
}

// endOfTime is later than any time that the API can express.
var endOfTime = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)

func newAllReads(pods []Pod) *allReads {
	all := &allReads{started: make(map[string][]time.Time)}
	for i := range pods {
		if !pods[i].Mounted.IsZero() {
			all.mounted = append(all.mounted, pods[i].Mounted)
		}
		all.addStarts(pods[i].Started)
	}
	slices.SortFunc(all.mounted, time.Time.Compare)
	for _, times := range all.started {
		slices.SortFunc(times, time.Time.Compare)
	}
	all.spans.sort()
	return all
}

// addStarts adds the starts of one pod.
func (a *allReads) addStarts(starts []Start) {
	if len(starts) > 0 && starts[0].Container == anyContainer {
		a.spans = append(a.spans, readSpan{starts[0].At, starts[1].At})
		return
	}
	for _, start := range starts {
		a.started[start.Container] = append(a.started[start.Container], start.At)
	}
}

// isAny reports whether a pod read, or may have read, a config through a reference in an
// interval.
func (a *allReads) isAny(reader *Reference, from, until time.Time) bool {
	switch reader.Channel {
	case Volume:
		return isAnyIn(a.mounted, from, until)
	case API:
		return isAnyIn(a.ofAny(), from, until) || a.spans.meet(from, until)
	case Environment:
	}
	return isAnyIn(a.started[reader.Container], from, until) || a.spans.meet(from, until)
}

// ofAny returns the times at which any container started.
func (a *allReads) ofAny() []time.Time {
	if a.any == nil {
		a.any = slices.Concat(slices.Collect(maps.Values(a.started))...)
		slices.SortFunc(a.any, time.Time.Compare)
	}
	return a.any
}

// isAnyIn reports whether one of sorted times lies in an interval.
func isAnyIn(times []time.Time, from, until time.Time) bool {
	i, _ := slices.BinarySearchFunc(times, from, time.Time.Compare)
	return i < len(times) && !times[i].After(until)
}

// readSpan is an interval in which a pod read its config.
type readSpan struct{ first, last time.Time }

// readSpans are sorted by their beginnings. The end of each is the latest end so far.
type readSpans []readSpan

func (r readSpans) sort() {
	slices.SortFunc(r, func(a, b readSpan) int { return a.first.Compare(b.first) })
	for i := 1; i < len(r); i++ {
		if r[i-1].last.After(r[i].last) {
			r[i].last = r[i-1].last
		}
	}
}

// meet reports whether one of the spans overlaps an interval.
func (r readSpans) meet(from, until time.Time) bool {
	begun := sort.Search(len(r), func(i int) bool { return r[i].first.After(until) })
	return begun > 0 && !r[begun-1].last.Before(from)
}
