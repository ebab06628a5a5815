package main

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

func get(t *testing.T, handler http.Handler, path string) (int, string) {
	t.Helper()
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, nil))
	return answer.Code, answer.Body.String()
}

func TestEndpointsReportHealthAndReadinessWithDetail(t *testing.T) {
	var unhealthy error
	ready := false
	newHandler := func() http.Handler {
		return endpoints(prometheus.NewRegistry(),
			func(*http.Request) error { return unhealthy },
			func() (bool, string) { return ready, "[-] watch secrets: not synced yet\n" })
	}
	handler := newHandler()

	if code, body := get(t, handler, "/healthz"); code != http.StatusOK || body != "ok\n" {
		t.Errorf("healthy: %d %q", code, body)
	}
	unhealthy = errors.New("failed election to renew leadership")
	if code, body := get(t, handler, "/healthz"); code != http.StatusInternalServerError || !strings.Contains(body, unhealthy.Error()) {
		t.Errorf("unhealthy: %d %q", code, body)
	}
	if code, body := get(t, handler, "/readyz"); code != http.StatusServiceUnavailable || !strings.Contains(body, "watch secrets") {
		t.Errorf("not ready: %d %q", code, body)
	}
	ready = true
	if code, _ := get(t, newHandler(), "/readyz"); code != http.StatusOK {
		t.Errorf("ready: %d", code)
	}
	if code, _ := get(t, handler, "/"); code != http.StatusNotFound {
		t.Errorf("another path: %d", code)
	}
}

func TestReadinessIsBuiltAtMostOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		built := 0
		handler := endpoints(prometheus.NewRegistry(), func(*http.Request) error { return nil }, func() (bool, string) {
			built++
			return built > 1, ""
		})
		for range 10 {
			if code, _ := get(t, handler, "/readyz"); code != http.StatusServiceUnavailable {
				t.Errorf("got %d", code)
			}
		}
		time.Sleep(time.Second)
		if code, _ := get(t, handler, "/readyz"); code != http.StatusOK || built != 2 {
			t.Errorf("a second later: %d, built %d times", code, built)
		}
	})
}

func TestPortZeroTakesAFreePortAndReportsIt(t *testing.T) {
	var log strings.Builder
	stop, err := serve(t.Context(), "metrics and health", "127.0.0.1:0", 8, http.NotFoundHandler(), slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	if strings.Contains(log.String(), "address=127.0.0.1:0\n") || !strings.Contains(log.String(), "address=127.0.0.1:") {
		t.Errorf("log: %s", log.String())
	}
}

func TestAnAddressInUseIsAClearError(t *testing.T) {
	quiet := slog.New(slog.DiscardHandler)
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	if _, err := serve(t.Context(), "metrics and health", server.Listener.Addr().String(), 8, http.NotFoundHandler(), quiet); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("got %v", err)
	}
}
