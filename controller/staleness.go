package controller

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/series"
)

const (
	// judgingPause is the least time between two rounds of judging, so that a workload is
	// judged once a second however often it changes.
	judgingPause = time.Second
	// judgingSlice bounds a round, but for the last judgement. What is left over waits for the
	// next one, in turns by namespace.
	judgingSlice = 200 * time.Millisecond
	// judgingShare bounds the part of a processor that judging takes: after a round it
	// pauses for so many times as long as the round took.
	judgingShare = 10
)

// verdict is how a workload was judged.
type verdict int

const (
	// fresh workloads run with the present content, as far as the catalog knows.
	fresh verdict = iota
	// stale ones run with an earlier content.
	stale
	// forgotten ones do as well, and nothing is under way that would restart them. That
	// should never happen.
	forgotten
)

// staleness counts the stale workloads of each namespace. To decide about ten thousand
// workloads takes a third of a second, too long for a scrape. So what may make a difference
// to a workload is noted as it happens, which takes next to nothing, and one goroutine
// judges what was noted. The counts are right again a moment after the last change. It may
// be used concurrently.
type staleness struct {
	catalog *catalog.Catalog
	judge   func(catalog.WorkloadRef) verdict
	wake    chan struct{} // has an element when something was noted
	waiting *turns        // what is to be judged, only for the goroutine that judges

	mu         sync.Mutex
	noted      notes
	stale      map[catalog.WorkloadRef]time.Time // since when they are forgotten, zero if they are not
	namespaces map[string]tally                  // of stale
}

// notes are what may have changed the verdict on some workloads.
type notes struct {
	everything bool
	stale      bool // all that are stale
	configs    map[catalog.ConfigRef]struct{}
	workloads  map[catalog.WorkloadRef]bool // of which some only if they are stale
}

// tally counts the stale workloads of a namespace, of which there are some.
type tally struct {
	count int
	since time.Time // when the first of them was found
}

func newStaleness(known *catalog.Catalog, judge func(catalog.WorkloadRef) verdict) *staleness {
	return &staleness{
		catalog: known, judge: judge, wake: make(chan struct{}, 1), waiting: newTurns(), noted: noNotes(),
		stale: make(map[catalog.WorkloadRef]time.Time), namespaces: make(map[string]tally),
	}
}

func noNotes() notes {
	return notes{configs: make(map[catalog.ConfigRef]struct{}), workloads: make(map[catalog.WorkloadRef]bool)}
}

// noteWorkload notes that the verdict on a workload may be another now.
func (s *staleness) noteWorkload(ref catalog.WorkloadRef) {
	s.note(func(n *notes) { n.workloads[ref] = false })
}

// noteWaiting notes that something is under way for a workload, which makes no difference
// to one that is fresh.
func (s *staleness) noteWaiting(ref catalog.WorkloadRef) {
	s.note(func(n *notes) {
		if _, found := n.workloads[ref]; !found {
			n.workloads[ref] = true
		}
	})
}

// noteLeading notes that stale workloads are to be restarted from now on.
func (s *staleness) noteLeading() {
	s.note(func(n *notes) { n.stale = true })
}

// noteConfig notes that the verdict on what references a config may be another now.
func (s *staleness) noteConfig(ref catalog.ConfigRef) {
	s.note(func(n *notes) { n.configs[ref] = struct{}{} })
}

// noteEverything notes that the verdict on any workload may be another now.
func (s *staleness) noteEverything() {
	s.note(func(n *notes) { n.everything = true })
}

func (s *staleness) note(add func(*notes)) {
	s.mu.Lock()
	add(&s.noted)
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// run judges what is noted until the context ends.
func (s *staleness) run(ctx context.Context) {
	for {
		if s.waiting.isEmpty() {
			select {
			case <-ctx.Done():
				return
			case <-s.wake:
			}
		}
		begun := time.Now()
		s.update(ctx, judgingSlice)
		select {
		case <-ctx.Done():
			return
		case <-time.After(max(judgingPause, judgingShare*time.Since(begun))):
		}
	}
}

// update judges what was noted so far, until the time is over. What is noted meanwhile is
// judged the next time.
func (s *staleness) update(ctx context.Context, limit time.Duration) {
	for ref := range s.take() {
		s.waiting.add(ref)
	}
	for begun := time.Now(); !s.waiting.isEmpty() && ctx.Err() == nil && time.Since(begun) < limit; {
		ref := s.waiting.next()
		s.put(ref, s.judge(ref), time.Now())
	}
}

// take removes the notes and returns the workloads that they are about.
func (s *staleness) take() map[catalog.WorkloadRef]bool {
	s.mu.Lock()
	noted := s.noted
	s.noted = noNotes()
	for ref, ifStale := range noted.workloads {
		if _, isStale := s.stale[ref]; ifStale && !isStale {
			delete(noted.workloads, ref)
		}
	}
	if noted.everything || noted.stale {
		for ref := range s.stale { // the catalog may not know them any more
			noted.workloads[ref] = false
		}
	}
	s.mu.Unlock()
	if noted.everything {
		for _, ref := range s.catalog.Workloads() {
			noted.workloads[ref] = false
		}
	}
	for config := range noted.configs {
		for _, w := range s.catalog.WorkloadsReferencing(config) {
			noted.workloads[w.Ref] = false
		}
	}
	return noted.workloads
}

// put stores the verdict on a workload.
func (s *staleness) put(ref catalog.WorkloadRef, v verdict, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	since, was := s.stale[ref]
	switch {
	case v == fresh && was:
		s.count(ref.Namespace, -1, now)
		delete(s.stale, ref)
	case v == fresh:
	case v == forgotten && since.IsZero():
		s.stale[ref] = now
	case v == stale:
		s.stale[ref] = time.Time{}
	}
	if v != fresh && !was {
		s.count(ref.Namespace, 1, now)
	}
}

func (s *staleness) count(namespace string, more int, now time.Time) {
	t := s.namespaces[namespace]
	if t.count == 0 {
		t.since = now
	}
	if t.count += more; t.count == 0 {
		delete(s.namespaces, namespace)
	} else {
		s.namespaces[namespace] = t
	}
}

// samples returns how many workloads of each namespace are stale. It names the namespaces
// that have had some for longest, so that a namespace keeps its series while it has some.
func (s *staleness) samples() []series.Sample {
	type counted struct {
		namespace string
		tally
	}
	s.mu.Lock()
	all := make([]counted, 0, len(s.namespaces))
	for namespace, t := range s.namespaces {
		all = append(all, counted{namespace, t})
	}
	s.mu.Unlock()
	slices.SortFunc(all, func(a, b counted) int {
		return cmp.Or(a.since.Compare(b.since), cmp.Compare(a.namespace, b.namespace))
	})
	samples := make([]series.Sample, 0, len(all)+1)
	for _, c := range all {
		samples = append(samples, series.Sample{Label: c.namespace, Value: float64(c.count)})
	}
	return series.Limit(samples, namedNamespaces, func(a, b float64) float64 { return a + b })
}

// addForgotten adds how long workloads have been known to be forgotten to the longest
// waits of their namespaces.
func (s *staleness) addForgotten(waits map[string]time.Duration, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for ref, since := range s.stale {
		if !since.IsZero() {
			waits[ref.Namespace] = max(waits[ref.Namespace], now.Sub(since))
		}
	}
}
