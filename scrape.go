package main

import (
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
)

const (
	// concurrentScrapes is how many answers are written down at once; one more is refused.
	concurrentScrapes = 8
	// scrapeTimeout is how long an answer may take until it is written down. An answer of
	// which the client reads nothing does not count: it waits aside.
	scrapeTimeout = 10 * time.Second
)

// metricsHandler answers scrapes. However many come at once, the metrics are gathered at
// most twice for all of them.
func metricsHandler(registry *prometheus.Registry) http.Handler {
	return promhttp.HandlerFor(newSharedGatherer(registry), promhttp.HandlerOpts{
		Registry: registry, MaxRequestsInFlight: concurrentScrapes, Timeout: scrapeTimeout,
	})
}

// sharedGatherer gathers for one caller at a time. Those that wait meanwhile share what is
// gathered next, which is as fresh as if each had gathered by itself.
type sharedGatherer struct {
	inner prometheus.Gatherer
	begun atomic.Int64  // how many gatherings have begun
	turn  chan struct{} // has an element while somebody gathers, which guards what follows

	last     int64 // the number of the gathering that brought these
	families []*dto.MetricFamily
	err      error
}

func newSharedGatherer(inner prometheus.Gatherer) *sharedGatherer {
	return &sharedGatherer{inner: inner, turn: make(chan struct{}, 1)}
}

// Gather implements [prometheus.Gatherer].
func (g *sharedGatherer) Gather() ([]*dto.MetricFamily, error) {
	before := g.begun.Load()
	g.turn <- struct{}{}
	defer func() { <-g.turn }()
	if g.last <= before {
		g.last = g.begun.Add(1)
		g.families, g.err = g.inner.Gather()
	}
	return g.families, g.err
}
