package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Endpoints returns the handler of /metrics, /healthz and /readyz. Healthy is
// nil while the process and its election loop are alive. An unavailable API
// server does not make the process unhealthy, because the kubelet would then
// kill all replicas.
func Endpoints(registry *prometheus.Registry, healthy func(*http.Request) error, ready func() (bool, string)) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", newScrapes(registry))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, r *http.Request) {
		if err := healthy(r); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		writeText(w, http.StatusOK, "ok\n")
	})
	ready = askedSeldom(ready)
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		isReady, detail := ready()
		if !isReady {
			writeText(w, http.StatusServiceUnavailable, detail+"not ready\n")
			return
		}
		writeText(w, http.StatusOK, detail+"ready\n")
	})
	return mux
}

// An answer about readiness is given again for readyFor, and for restFactor times as long as it took to find: whoever asks without
// end must not cost much, whatever is missing.
const (
	readyFor   = 100 * time.Millisecond
	restFactor = 20
)

// askedSeldom returns a function that returns what another one has returned last, and asks that only now and then.
func askedSeldom(ready func() (bool, string)) func() (bool, string) {
	var mu sync.Mutex
	var next time.Time
	var isReady bool
	var detail string
	return func() (bool, string) {
		mu.Lock()
		defer mu.Unlock()
		if begun := time.Now(); !begun.Before(next) {
			isReady, detail = ready()
			answered := time.Now()
			next = answered.Add(max(readyFor, restFactor*answered.Sub(begun)))
		}
		return isReady, detail
	}
}

func writeText(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text) // the client may be gone, which needs no handling
}

// Serve listens on an address and answers requests for something until stop is called. At most limit connections are
// open at the same time, and no more than a quarter of the files that this process may have open.
func Serve(ctx context.Context, what, address string, limit int, handler http.Handler, log *slog.Logger) (stop func(), err error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("serve %s: %w", what, err)
	}
	log.Info("serving "+what, "address", listener.Addr().String())
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      15 * time.Second,
		IdleTimeout:       10 * time.Second,
		MaxHeaderBytes:    4 << 10, // the library reads another 4 KiB before it refuses a header
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	go func() {
		if err := limitConnections(listener, min(limit, maxFiles()/4)).serve(server); !errors.Is(err, http.ErrServerClosed) {
			log.Error("the server stopped", "of", what, "error", err)
		}
	}()
	return func() { _ = server.Close() }, nil
}

// maxFiles returns how many files this process may have open.
func maxFiles() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return math.MaxInt32
	}
	return int(min(limit.Cur, math.MaxInt32))
}
