package decide

import (
	"slices"
	"sort"
	"time"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/template"
)

// reads holds when pods read their configs: their volumes, and the environment of each container. It knows the first and the
// last read of each kind and, if they are kept, all of them.
type reads struct {
	keepsAll bool
	mounted  times
	started  map[string]times // by container, without anyContainer
	// any is when any of the containers started. All of these times are kept once something asks for them.
	any times
	// vague holds the pods of which only the first and the last start are known. Each container may have started in between.
	// firsts are the first ones.
	vague  []names.Interval
	firsts times
}

// times are when something was done. [newReads] sorts those that are kept.
type times struct {
	first, last time.Time // zero if it was not done
	kept        []time.Time
}

func (t *times) add(at time.Time, keep bool) {
	if at.IsZero() {
		return
	}
	if t.last = names.Latest(t.last, at); t.first.IsZero() || at.Before(t.first) {
		t.first = at
	}
	if keep {
		t.kept = append(t.kept, at)
	}
}

// hasAny reports whether one of the times that are kept, and sorted, is in an interval.
func (t *times) hasAny(in names.Interval) bool {
	i, _ := slices.BinarySearchFunc(t.kept, in.From, time.Time.Compare)
	return i < len(t.kept) && in.Has(t.kept[i])
}

// newReads returns the reads of pods. With keepsAll, it answers [reads.isAnyIn] for any interval.
func newReads(pods []Pod, keepsAll bool) *reads {
	r := &reads{keepsAll: keepsAll, started: make(map[string]times)}
	for i := range pods {
		r.add(&pods[i])
	}
	r.sort()
	return r
}

func (r *reads) add(pod *Pod) {
	r.mounted.add(pod.Mounted, r.keepsAll)
	if len(pod.Started) > 0 && pod.Started[0].Container == anyContainer {
		first, last := pod.Started[0].At, pod.Started[1].At
		r.firsts.add(first, false)
		r.any.add(first, false) // only the first start is certainly not too late
		if r.keepsAll {
			r.vague = append(r.vague, names.Interval{From: first, Until: last})
		}
		return
	}
	for _, start := range pod.Started {
		r.start(start.Container, start.At)
	}
}

func (r *reads) start(container string, at time.Time) {
	of := r.started[container]
	of.add(at, r.keepsAll)
	r.started[container] = of
	r.any.add(at, false)
}

func (r *reads) sort() {
	slices.SortFunc(r.mounted.kept, time.Time.Compare)
	for _, of := range r.started {
		slices.SortFunc(of.kept, time.Time.Compare)
	}
	// The end of each is the latest end so far.
	slices.SortFunc(r.vague, func(a, b names.Interval) int { return a.From.Compare(b.From) })
	for i := 1; i < len(r.vague); i++ {
		r.vague[i].Until = names.Latest(r.vague[i].Until, r.vague[i-1].Until)
	}
}

// of returns when the first and the last of some readers read their config, zero if none has.
func (r *reads) of(readers []template.Reference) (both times) {
	for i := range readers {
		for _, by := range r.by(&readers[i]) {
			both.add(by.first, false)
			both.add(by.last, false)
		}
	}
	return both
}

// by returns the times at which a reader read its config.
func (r *reads) by(reader *template.Reference) [2]times {
	switch reader.Channel {
	case template.Volume:
		return [2]times{r.mounted}
	case template.API:
		return [2]times{r.any}
	case template.Environment:
	}
	return [2]times{r.started[reader.Container], r.firsts}
}

// isAnyIn reports whether a pod read, or may have read, a config by a reference in an interval.
func (r *reads) isAnyIn(in names.Interval, reader *template.Reference) bool {
	of := r.mounted
	switch reader.Channel {
	case template.Volume:
		return of.hasAny(in)
	case template.API:
		of = r.ofAny()
	case template.Environment:
		of = r.started[reader.Container]
	}
	return of.hasAny(in) || r.isVagueIn(in)
}

func (r *reads) isVagueIn(in names.Interval) bool {
	begun := sort.Search(len(r.vague), func(i int) bool { return r.vague[i].From.After(in.Until) })
	return begun > 0 && !r.vague[begun-1].Until.Before(in.From)
}

// ofAny returns the times at which any container started whose starts are all known.
func (r *reads) ofAny() times {
	if len(r.any.kept) == 0 {
		for _, of := range r.started {
			r.any.kept = append(r.any.kept, of.kept...)
		}
		slices.SortFunc(r.any.kept, time.Time.Compare)
	}
	return r.any
}

// FirstRead returns when the pod first read a config by a reference, and false if it has not done so yet.
func (p *Pod) FirstRead(by *template.Reference) (time.Time, bool) {
	first := newReads([]Pod{*p}, false).of([]template.Reference{*by}).first
	return first, !first.IsZero()
}
