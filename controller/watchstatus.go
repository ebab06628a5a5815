package controller

import (
	"context"
	"time"
)

// watchStatus is the state of a watch, for /readyz and the metrics.
type watchStatus struct {
	resource, namespace string
	// synced tells that all objects have been seen at least once.
	synced bool
	// brokenSince is zero while the watch works.
	brokenSince time.Time
	problem     error
}

func (w *watch) status() watchStatus {
	w.mu.Lock()
	defer w.mu.Unlock()
	return watchStatus{w.name, w.namespace, w.synced, w.brokenSince, w.problem}
}

// settled returns after the first list or the first failure.
func (w *watch) settled(ctx context.Context) {
	select {
	case <-w.tried:
	case <-ctx.Done():
	}
}

func (w *watch) listed() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.synced {
		w.synced = true
		close(w.first)
	}
	w.markTried()
}

func (w *watch) working() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.brokenSince.IsZero() {
		w.log.Info("watching again", "resource", w.name, "namespace", w.namespace,
			"after", time.Since(w.brokenSince).Round(time.Millisecond).String())
	}
	w.brokenSince, w.problem = time.Time{}, nil
}

func (w *watch) broken(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return // the controller stops
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.brokenSince.IsZero() {
		w.brokenSince = time.Now()
		w.log.Warn("cannot watch, trying again until it works", "resource", w.name, "namespace", w.namespace, "error", err)
	} else {
		w.log.Debug("still cannot watch", "resource", w.name, "namespace", w.namespace, "error", err)
	}
	w.problem = err
	w.markTried()
}

func (w *watch) markTried() {
	select {
	case <-w.tried:
	default:
		close(w.tried)
	}
}
