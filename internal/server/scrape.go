package server

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
)

// scrapeRest is how many times longer than it took to gather the metrics passes until they are gathered again, so that
// scrapes take a fifth of a core at most. Until then the last ones are the answer: clients that waited would keep their
// connections busy, and many of them would lock others out.
const scrapeRest = 4

// scrapes answers scrapes. It gathers and encodes the metrics for one client at a time. Clients that ask in the meantime, or
// soon after, share a result.
type scrapes struct {
	gatherer prometheus.Gatherer
	turn     chan struct{} // has an element while one of the clients gathers; guards the following fields

	next time.Time // when the metrics may be gathered again
	scrape
}

// scrape is the metrics of one time, encoded and also compressed, or why there are none.
type scrape struct {
	plain, zipped []byte
	err           error
}

func newScrapes(gatherer prometheus.Gatherer) *scrapes {
	return &scrapes{gatherer: gatherer, turn: make(chan struct{}, 1)}
}

// ServeHTTP implements [http.Handler].
func (s *scrapes) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	result := s.get(r.Context())
	if result.err != nil {
		http.Error(w, result.err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", string(expfmt.NewFormat(expfmt.TypeTextPlain)))
	w.Header().Set("Vary", "Accept-Encoding")
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(result.zipped) // the client may be gone, which needs no handling
		return
	}
	_, _ = w.Write(result.plain)
}

// get returns the metrics, or an error if the context ends before.
func (s *scrapes) get(ctx context.Context) scrape {
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return scrape{err: ctx.Err()}
	}
	defer func() { <-s.turn }()
	begin := time.Now()
	if begin.Before(s.next) {
		return s.scrape
	}
	s.scrape = gather(s.gatherer)
	s.next = time.Now().Add(scrapeRest * time.Since(begin))
	return s.scrape
}

func gather(gatherer prometheus.Gatherer) scrape {
	families, err := gatherer.Gather()
	if err != nil {
		return scrape{err: err}
	}
	var plain, zipped bytes.Buffer
	encoder := expfmt.NewEncoder(&plain, expfmt.NewFormat(expfmt.TypeTextPlain))
	for _, family := range families {
		err = errors.Join(err, encoder.Encode(family))
	}
	compressor := gzip.NewWriter(&zipped)
	_, _ = compressor.Write(plain.Bytes()) // a buffer takes everything
	_ = compressor.Close()
	return scrape{plain.Bytes(), zipped.Bytes(), err}
}
