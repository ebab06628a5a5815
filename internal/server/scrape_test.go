package server

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// slowCollector takes until it is released, and counts how often it is asked.
type slowCollector struct {
	asked    prometheus.Gauge
	released chan struct{}
}

func (c slowCollector) Describe(descs chan<- *prometheus.Desc) { c.asked.Describe(descs) }

func (c slowCollector) Collect(samples chan<- prometheus.Metric) {
	c.asked.Inc()
	<-c.released
	c.asked.Collect(samples)
}

func newSlowCollector() slowCollector {
	return slowCollector{prometheus.NewGauge(prometheus.GaugeOpts{Name: "asked", Help: "How often it was asked."}), make(chan struct{})}
}

func TestScrapesThatComeAtOnceShareTheWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow, registry := newSlowCollector(), prometheus.NewRegistry()
		registry.MustRegister(slow)
		handler := newScrapes(registry)
		var group sync.WaitGroup
		first, later := "", make([]string, 5)
		scrape := func(answer *string) {
			group.Go(func() { _, *answer = get(t, handler, "/metrics") })
			synctest.Wait()
		}
		scrape(&first)
		for i := range later {
			scrape(&later[i])
		}
		time.Sleep(time.Second)
		close(slow.released)
		group.Wait()
		for _, answer := range append([]string{first}, later...) {
			if !strings.Contains(answer, "asked 1\n") {
				t.Errorf("one of those that share the first answer is %s", answer)
			}
		}
		time.Sleep(5 * time.Second)
		if _, answer := get(t, handler, "/metrics"); !strings.Contains(answer, "asked 2\n") {
			t.Errorf("a later answer is %s", answer)
		}
	})
}

// Nobody waits for the next turn, or those who ask in a loop would keep many connections busy.
func TestScrapesTakeNoMoreThanAFifthOfTheTimeAndNobodyWaitsForTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gathered := 0.0
		taking := prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "gathered", Help: "How often."}, func() float64 {
			time.Sleep(time.Second)
			gathered++
			return gathered
		})
		registry := prometheus.NewRegistry()
		registry.MustRegister(taking)
		handler := newScrapes(registry)
		for begin := time.Now(); time.Since(begin) < 50*time.Second; time.Sleep(10 * time.Millisecond) {
			asked := time.Now()
			if code, answer := get(t, handler, "/metrics"); code != http.StatusOK || !strings.Contains(answer, "gathered ") {
				t.Errorf("got %d %s", code, answer)
			}
			if took := time.Since(asked); took > time.Second {
				t.Errorf("an answer took %s", took)
			}
		}
		if gathered != 10 {
			t.Errorf("gathered %v times in 50 s, want 10", gathered)
		}
	})
}

func TestAClientThatIsGoneDoesNotWaitForItsScrape(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow, registry := newSlowCollector(), prometheus.NewRegistry()
		registry.MustRegister(slow)
		handler := newScrapes(registry)
		go get(t, handler, "/metrics")
		synctest.Wait()
		gone, leave := context.WithCancel(t.Context())
		leave()
		handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(gone, http.MethodGet, "/metrics", nil)) // returns
		close(slow.released)
	})
}

func TestAScrapeIsCompressedIfTheClientAsksForIt(t *testing.T) {
	slow, registry := newSlowCollector(), prometheus.NewRegistry()
	registry.MustRegister(slow)
	close(slow.released)
	request, answer := httptest.NewRequest(http.MethodGet, "/metrics", nil), httptest.NewRecorder()
	request.Header.Set("Accept-Encoding", "gzip")
	newScrapes(registry).ServeHTTP(answer, request)
	reader, err := gzip.NewReader(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(reader)
	if err != nil || !strings.Contains(string(plain), "asked 1\n") || answer.Header().Get("Content-Encoding") != "gzip" {
		t.Errorf("got %q, %v, %v", plain, err, answer.Header())
	}
}

func TestMetricsThatCannotBeGatheredAreAnError(t *testing.T) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "good", Help: "It."}, func() float64 { return 1 }))
	failing := prometheus.Gatherers{registry, prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) { return nil, errors.New("no metrics") })}
	if code, answer := get(t, newScrapes(failing), "/metrics"); code != http.StatusInternalServerError || !strings.Contains(answer, "no metrics") {
		t.Errorf("got %d %s", code, answer)
	}
}
