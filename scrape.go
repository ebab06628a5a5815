package main

import (
	"net/http"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
)

// concurrentScrapes is how many scrapes may be under way at once; further ones are
// refused. A client that does not read its answer keeps its place until the server's write
// timeout.
const concurrentScrapes = 32

// metricsHandler answers scrapes. However many arrive at once, it gathers the metrics at
// most twice for all of them.
func metricsHandler(registry *prometheus.Registry) http.Handler {
	return promhttp.HandlerFor(newSharedGatherer(registry), promhttp.HandlerOpts{
		Registry: registry, MaxRequestsInFlight: concurrentScrapes,
	})
}

// sharedGatherer gathers for one caller at a time. Callers that wait in the meantime share
// the next result, which is as fresh as if each had gathered by itself.
type sharedGatherer struct {
	inner prometheus.Gatherer
	begun atomic.Int64  // how many gatherings have begun
	turn  chan struct{} // has an element while a caller gathers; guards the following fields

	last     int64 // the number of the gathering that produced the following fields
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
