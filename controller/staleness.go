package controller

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/internal/series"
)

const (
	// judgingPause is the shortest time between two rounds of judging, so that a workload is
	// judged at most once a second, however often it changes.
	judgingPause = time.Second
	// judgingSlice limits the duration of a round, apart from its last judgment. The
	// remaining workloads wait for the next round, in turns by namespace.
	judgingSlice = 200 * time.Millisecond
	// judgingShare limits the share of a processor that judging takes: the pause after a round
	// is this many times as long as the round.
	judgingShare = 10
)

// verdict is the result of judging a workload.
type verdict int

const (
	// fresh workloads run with the present content, as far as the catalog knows.
	fresh verdict = iota
	// stale workloads run with earlier content.
	stale
	// forgotten workloads are stale too, and nothing is under way that would restart them.
	// That should never happen.
	forgotten
)

// staleness counts the stale workloads of each namespace. Deciding about ten thousand
// workloads takes a third of a second, which is too long for a scrape. So everything that may
// change the verdict on a workload is noted as it happens, which costs next to nothing, and
// one goroutine judges the noted workloads. The counts are correct again a moment after the
// last change. A staleness may be used concurrently.
type staleness struct {
	*unjudged
	catalog *catalog.Catalog
	judge   func(names.WorkloadRef) verdict
	waiting turns // the workloads to judge; only the judging goroutine uses it

	mu         sync.Mutex
	stale      map[names.WorkloadRef]time.Time // since when they have been forgotten, zero if they are not
	namespaces map[string]tally                // the stale workloads of each
}

// tally counts the stale workloads of a namespace that has any.
type tally struct {
	count int
	since time.Time // when the first of them was found
}

func newStaleness(notes *unjudged, known *catalog.Catalog, judge func(names.WorkloadRef) verdict) *staleness {
	return &staleness{
		unjudged: notes, catalog: known, judge: judge,
		stale: make(map[names.WorkloadRef]time.Time), namespaces: make(map[string]tally),
	}
}

// run judges the noted workloads until the context ends.
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

// update judges the workloads noted so far, until the time limit. Workloads noted in the
// meantime are judged the next time.
func (s *staleness) update(ctx context.Context, limit time.Duration) {
	for ref := range s.toJudge() {
		s.waiting.add(ref)
	}
	for begun := time.Now(); !s.waiting.isEmpty() && ctx.Err() == nil && time.Since(begun) < limit; {
		ref := s.waiting.next()
		s.put(ref, s.judge(ref), time.Now())
	}
}

// toJudge takes the notes and returns the workloads that they are about.
func (s *staleness) toJudge() map[names.WorkloadRef]bool {
	dirty := s.unjudged.take()
	s.mu.Lock()
	for ref, ifStale := range dirty.workloads {
		if _, isStale := s.stale[ref]; ifStale && !isStale {
			delete(dirty.workloads, ref)
		}
	}
	if dirty.everything || dirty.stale {
		for ref := range s.stale { // the catalog may no longer know them
			dirty.workloads[ref] = false
		}
	}
	s.mu.Unlock()
	if dirty.everything {
		for _, ref := range s.catalog.Workloads() {
			dirty.workloads[ref] = false
		}
	}
	for config := range dirty.configs {
		for _, w := range s.catalog.WorkloadsReferencing(config) {
			dirty.workloads[w.Ref] = false
		}
	}
	return dirty.workloads
}

// put stores the verdict on a workload.
func (s *staleness) put(ref names.WorkloadRef, v verdict, now time.Time) {
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

// samples returns how many workloads of each namespace are stale. It names the namespaces that
// have had stale workloads for the longest time, so that a namespace keeps its series while it
// has any.
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
