package judge

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/controller/pending"
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

// Staleness counts the stale workloads of each namespace. Deciding about ten thousand
// workloads takes a third of a second, which is too long for a scrape. So everything that may
// change the verdict on a workload is noted as it happens, which costs next to nothing, and
// one goroutine judges the noted workloads. The counts are correct again a moment after the
// last change. A staleness may be used concurrently.
type Staleness struct {
	*pending.Unjudged
	catalog *catalog.Catalog
	Judge   func(names.WorkloadRef) Verdict
	waiting pending.Turns // the workloads to judge; only the judging goroutine uses it

	mu         sync.Mutex
	Stale      map[names.WorkloadRef]time.Time // since when they have been forgotten, zero if they are not
	Namespaces map[string]Tally                // the stale workloads of each
}

// Tally counts the stale workloads of a namespace that has any.
type Tally struct {
	count int
	since time.Time // when the first of them was found
}

// NewStaleness judges with the given function what is noted from now on.
func NewStaleness(notes *pending.Unjudged, known *catalog.Catalog, judge func(names.WorkloadRef) Verdict) *Staleness {
	return &Staleness{
		Unjudged: notes, catalog: known, Judge: judge,
		Stale: make(map[names.WorkloadRef]time.Time), Namespaces: make(map[string]Tally),
	}
}

// Run judges the noted workloads until the context ends.
func (s *Staleness) Run(ctx context.Context) {
	for {
		if s.waiting.IsEmpty() {
			select {
			case <-ctx.Done():
				return
			case <-s.Wake:
			}
		}
		begun := time.Now()
		s.Update(ctx, judgingSlice)
		select {
		case <-ctx.Done():
			return
		case <-time.After(max(judgingPause, judgingShare*time.Since(begun))):
		}
	}
}

// Update judges the workloads noted so far, until the time limit. Workloads noted in the
// meantime are judged the next time.
func (s *Staleness) Update(ctx context.Context, limit time.Duration) {
	for ref := range s.toJudge() {
		s.waiting.Add(ref)
	}
	for begun := time.Now(); !s.waiting.IsEmpty() && ctx.Err() == nil && time.Since(begun) < limit; {
		ref := s.waiting.Next()
		s.Put(ref, s.Judge(ref), time.Now())
	}
}

// toJudge takes the notes and returns the workloads that they are about.
func (s *Staleness) toJudge() map[names.WorkloadRef]bool {
	dirty := s.Unjudged.Take()
	s.mu.Lock()
	for ref, ifStale := range dirty.Workloads {
		if _, isStale := s.Stale[ref]; ifStale && !isStale {
			delete(dirty.Workloads, ref)
		}
	}
	if dirty.Everything || dirty.Stale {
		for ref := range s.Stale { // the catalog may no longer know them
			dirty.Workloads[ref] = false
		}
	}
	s.mu.Unlock()
	if dirty.Everything {
		for _, ref := range s.catalog.WorkloadsIn("") {
			dirty.Workloads[ref] = false
		}
	}
	for config := range dirty.Configs {
		for _, w := range s.catalog.WorkloadsReferencing(config) {
			dirty.Workloads[w.Ref] = false
		}
	}
	return dirty.Workloads
}

// Put stores the verdict on a workload.
func (s *Staleness) Put(ref names.WorkloadRef, v Verdict, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	since, was := s.Stale[ref]
	switch {
	case v == Fresh && was:
		s.count(ref.Namespace, -1, now)
		delete(s.Stale, ref)
	case v == Fresh:
	case v == Forgotten && since.IsZero():
		s.Stale[ref] = now
	case v == Stale:
		s.Stale[ref] = time.Time{}
	}
	if v != Fresh && !was {
		s.count(ref.Namespace, 1, now)
	}
}

func (s *Staleness) count(namespace string, more int, now time.Time) {
	t := s.Namespaces[namespace]
	if t.count == 0 {
		t.since = now
	}
	if t.count += more; t.count == 0 {
		delete(s.Namespaces, namespace)
	} else {
		s.Namespaces[namespace] = t
	}
}

// Samples returns how many workloads of each namespace are stale. It names the namespaces that
// have had stale workloads for the longest time, so that a namespace keeps its series while it
// has any.
func (s *Staleness) Samples() []series.Sample {
	type counted struct {
		namespace string
		Tally
	}
	s.mu.Lock()
	all := make([]counted, 0, len(s.Namespaces))
	for namespace, t := range s.Namespaces {
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
	return series.Limit(samples, NamedNamespaces, func(a, b float64) float64 { return a + b })
}

// AddForgotten adds how long workloads have been known to be forgotten to the longest
// waits of their namespaces.
func (s *Staleness) AddForgotten(waits map[string]time.Duration, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for ref, since := range s.Stale {
		if !since.IsZero() {
			waits[ref.Namespace] = max(waits[ref.Namespace], now.Sub(since))
		}
	}
}

// NamedNamespaces is how many namespaces have a series of their own in a metric, since tenants choose their names.
const NamedNamespaces = 50
