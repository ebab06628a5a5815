package decide

import (
	"maps"
	"slices"
	"sort"
	"time"

	"kubernetes-deployment-restart-controller/catalog/template"
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
func (a *allReads) isAny(reader *template.Reference, from, until time.Time) bool {
	switch reader.Channel {
	case template.Volume:
		return isAnyIn(a.mounted, from, until)
	case template.API:
		return isAnyIn(a.ofAny(), from, until) || a.spans.meet(from, until)
	case template.Environment:
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

// reads holds when the first of a workload's pods read their configs: its volumes, and the
// environment of each container. A pod that read a config later has not missed more edits.
type reads struct {
	mounted time.Time // zero if no pod has mounted its volumes
	started map[string]time.Time
	// any is when any of the containers started.
	any time.Time
}

// FirstRead returns when the pod first read a config by a reference, and false if it has not done so yet.
func (p *Pod) FirstRead(by *template.Reference) (time.Time, bool) {
	return firstReads([]Pod{*p}).of([]template.Reference{*by})
}

func firstReads(pods []Pod) reads {
	first := reads{started: make(map[string]time.Time)}
	for _, pod := range pods {
		first.mounted = firstOf(first.mounted, pod.Mounted)
		for _, start := range pod.Started {
			first.note(start, firstOf)
		}
	}
	return first
}

// note takes in a start. The function choose chooses between two times.
func (r *reads) note(start Start, choose func(a, b time.Time) time.Time) {
	r.started[start.Container] = choose(r.started[start.Container], start.At)
	r.any = choose(r.any, start.At)
}

// of returns when the first reader read its config, and false if no reader has done so yet.
func (r reads) of(readers []template.Reference) (time.Time, bool) {
	var first time.Time
	for i := range readers {
		first = firstOf(first, r.by(&readers[i], firstOf))
	}
	return first, !first.IsZero()
}

// by returns when a reader read its config. The function choose chooses between the starts of a container
// and those of any container.
func (r *reads) by(reader *template.Reference, choose func(a, b time.Time) time.Time) time.Time {
	switch reader.Channel {
	case template.Volume:
		return r.mounted
	case template.API:
		return r.any
	case template.Environment:
	}
	return choose(r.started[reader.Container], r.started[anyContainer])
}

// firstOf returns the earlier of two times. A zero time does not count.
func firstOf(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
