package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// endpoints returns the handler of /metrics, /healthz and /readyz. Healthy is
// nil while the process and its election loop are alive. An unavailable API
// server does not make the process unhealthy, because the kubelet would then
// kill all replicas.
func endpoints(registry *prometheus.Registry, healthy func(*http.Request) error, ready func() (bool, string)) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metricsHandler(registry))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, r *http.Request) {
		if err := healthy(r); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		writeText(w, http.StatusOK, "ok\n")
	})
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

func writeText(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text) // the client may be gone, which needs no handling
}

// serve listens on an address and answers requests for something until stop is called.
func serve(ctx context.Context, what, address string, handler http.Handler, log *slog.Logger) (stop func(), err error) {
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
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    1 << 16,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			log.Error("the server stopped", "of", what, "error", err)
		}
	}()
	return func() { _ = server.Close() }, nil
}
