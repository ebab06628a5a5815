package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus"
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
		handler := metricsHandler(registry)
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
		close(slow.released)
		group.Wait()
		if !strings.Contains(first, "asked 1\n") {
			t.Errorf("the first answer is %s", first)
		}
		for _, answer := range later {
			if !strings.Contains(answer, "asked 2\n") {
				t.Errorf("one of the others, which share the second, is %s", answer)
			}
		}
		if _, answer := get(t, handler, "/metrics"); !strings.Contains(answer, "asked 3\n") {
			t.Errorf("a later answer is %s", answer)
		}
	})
}

func TestMoreScrapesThanCanBeAnsweredAtOnceAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow, registry := newSlowCollector(), prometheus.NewRegistry()
		registry.MustRegister(slow)
		handler := metricsHandler(registry)
		var group sync.WaitGroup
		for range concurrentScrapes {
			group.Go(func() { get(t, handler, "/metrics") })
		}
		synctest.Wait()
		if code, _ := get(t, handler, "/metrics"); code != http.StatusServiceUnavailable {
			t.Errorf("one more scrape got %d", code)
		}
		close(slow.released)
		group.Wait()
	})
}

// Each of these clients asks for more than fits into the buffers of its connection, and
// reads nothing of it.
func TestClientsThatDoNotReadTheirAnswerDoNotBlockOthers(t *testing.T) {
	registry := prometheus.NewRegistry()
	large := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "large", Help: "A lot."}, []string{"text"})
	for i := range 2000 {
		large.WithLabelValues(fmt.Sprint(i, strings.Repeat("x", 8<<10)))
	}
	registry.MustRegister(large)
	server := httptest.NewServer(metricsHandler(registry))
	defer server.Close()
	for range concurrentScrapes - 1 {
		client, err := new(net.Dialer).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close() //nolint:gocritic // all of them are to stay open until the end
		fmt.Fprintf(client, "GET /metrics HTTP/1.1\r\nHost: test\r\n\r\n")
		if status, err := bufio.NewReader(io.LimitReader(client, 100)).ReadString('\n'); err != nil || !strings.Contains(status, "200") {
			t.Fatalf("got %q, %v", status, err)
		}
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		t.Errorf("got %d", answer.StatusCode)
	}
}
