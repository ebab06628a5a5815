package handover

import (
	"context"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
)

// createProbe creates a new probe. If that fails, it is tried again, and the engine does not
// begin to drive until it succeeds.
func (m *Monitor) createProbe(ctx context.Context) {
	token := string(uuid.NewUUID())
	m.mu.Lock()
	m.detector.probeRequested(time.Now())
	m.token, m.isShown = token, false
	drives := m.detector.phase == driving
	m.mu.Unlock()

	bounded, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	created, err := m.prober.replace(bounded, token, drives)
	if ctx.Err() != nil && err != nil {
		return // the engine ends
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case err == nil:
		m.own, m.problem = created, nil
		return
	case m.isShown:
		return // the probe exists, only the answer was lost
	}
	m.detector.probeFailed(time.Now())
	level := slog.LevelWarn
	if m.problem != nil && m.problem.Error() == err.Error() {
		level = slog.LevelDebug // reported before
	}
	m.problem = err
	m.options.Log.Log(ctx, level, "cannot make sure that no other controller drives deployments, trying again; see docs/engine.md for the permissions that it needs", "error", err)
}

// takeOver makes the engine drive, unless a rival was detected just now.
func (m *Monitor) takeOver() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if step, _ := m.detector.next(time.Now()); step != takeOver {
		return
	}
	stoodBy := m.detector.phase == standingBy
	m.detector.drive()
	m.detector.verify()
	for namespace := range m.detector.unverified {
		m.options.RestIn(namespace)
	}
	m.options.Drive()
	m.options.Log.Info("driving deployments")
	if stoodBy {
		m.options.Events.Eventf(m.reference(), corev1.EventTypeNormal, reasonTookOver, "the deployment engine drives Deployments: it has detected no other controller for %s", takeoverDelay)
	}
}

// resume makes the engine continue where it rests, unless a rival was detected just now.
func (m *Monitor) resume() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if step, _ := m.detector.next(time.Now()); step != resume {
		return
	}
	verified := m.detector.verify()
	for _, namespace := range verified {
		m.options.ResumeIn(namespace)
	}
	m.options.FalseAlarms.Add(float64(len(verified)))
	m.options.Log.Info("driving deployments again where another field manager has written their status: no controller has answered the probe",
		"namespaces", len(verified), "first", verified[0], "last_write", m.lastForeign.String())
}

// Cleanup deletes the probe that this process created. It is for an engine that ends, after
// its last write.
func (m *Monitor) Cleanup(ctx context.Context) {
	m.mu.Lock()
	own := m.own
	m.mu.Unlock()
	if own == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	if err := m.prober.remove(ctx, own); err != nil {
		m.options.Log.Warn("cannot delete the probe", "error", err)
	}
}
