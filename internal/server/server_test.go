package server

import (
	"bufio"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
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
		return Endpoints(prometheus.NewRegistry(),
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

func TestReadinessIsNotBuiltForEachRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		built, takes := 0, time.Duration(0)
		handler := Endpoints(prometheus.NewRegistry(), func(*http.Request) error { return nil }, func() (bool, string) {
			built++
			time.Sleep(takes)
			return built > 1, ""
		})
		for range 10 {
			if code, _ := get(t, handler, "/readyz"); code != http.StatusServiceUnavailable {
				t.Errorf("got %d", code)
			}
		}
		time.Sleep(readyFor)
		takes = time.Second
		if code, _ := get(t, handler, "/readyz"); code != http.StatusOK || built != 2 {
			t.Errorf("later: %d, built %d times", code, built)
		}
		time.Sleep(restFactor*takes - 1)
		if get(t, handler, "/readyz"); built != 2 {
			t.Errorf("what took %v to build was built again at once", takes)
		}
		time.Sleep(time.Nanosecond)
		if get(t, handler, "/readyz"); built != 3 {
			t.Errorf("built %d times", built)
		}
	})
}

func TestPortZeroTakesAFreePortAndReportsIt(t *testing.T) {
	var log strings.Builder
	stop, err := Serve(t.Context(), "metrics and health", "127.0.0.1:0", 8, http.NotFoundHandler(), slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	if strings.Contains(log.String(), "address=127.0.0.1:0\n") || !strings.Contains(log.String(), "address=127.0.0.1:") {
		t.Errorf("log: %s", log.String())
	}
}

func TestThePortKeepsFewConnectionsAndShortHeaders(t *testing.T) {
	const limit = 8
	var log strings.Builder
	stop, err := Serve(t.Context(), "metrics and health", "127.0.0.1:0", limit, http.NotFoundHandler(), slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	_, address, _ := strings.Cut(strings.TrimSpace(log.String()), "address=")
	dial := func(beginning string) net.Conn {
		connection, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = connection.Close() })
		_ = connection.SetReadDeadline(time.Now().Add(time.Minute))
		if _, err := io.WriteString(connection, beginning); err != nil {
			t.Fatal(err)
		}
		return connection
	}
	long := dial("GET /healthz HTTP/1.1\r\nHost: a\r\nX-Long: " + strings.Repeat("x", 10<<10))
	answer, err := http.ReadResponse(bufio.NewReader(long), nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("10 KiB of a header that has not ended are answered with %d", answer.StatusCode)
	}
	// Each header has five seconds to end. Those of the oldest connections do not get them.
	for range 5 {
		many, begun := make([]net.Conn, 3*limit), time.Now()
		for i := range many {
			many[i] = dial("GET /healthz HTTP/1.1\r\nHost: a\r\nX: ")
		}
		for _, connection := range many[:2*limit] {
			if _, err := io.Copy(io.Discard, connection); errors.Is(err, os.ErrDeadlineExceeded) {
				t.Fatal("the header of a connection may take for ever")
			}
		}
		if time.Since(begun) < 4*time.Second {
			return
		}
	}
	t.Errorf("of %d connections, the oldest stay as long as the others", 3*limit)
}

func TestAnAddressInUseIsAClearError(t *testing.T) {
	quiet := slog.New(slog.DiscardHandler)
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	if _, err := Serve(t.Context(), "metrics and health", server.Listener.Addr().String(), 8, http.NotFoundHandler(), quiet); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("got %v", err)
	}
}
