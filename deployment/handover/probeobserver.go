package handover

import (
	"time"

	"kubernetes-deployment-restart-controller/deployment/rollout"
	"kubernetes-deployment-restart-controller/internal/watch"
)

// probeObserver takes in what the watch of the probe shows. It implements watch.Observer.
type probeObserver struct{ *Monitor }

// Observe implements watch.Observer. A probe that the watch shows after this process' own
// probe is as good as that, whichever process created it: another process of this installation
// is asking too. A process that drives makes itself known by replacing the probe with its own.
func (m probeObserver) Observe(s *probeState) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.token == "" || !m.isShown && s.token != m.token {
		return
	}
	isOwn, isNew := s.token == m.token, m.present.UID != s.UID || m.detector.shown.IsZero()
	m.isShown, m.present = true, s.Meta
	if isOwn {
		m.own, m.problem = s.UID, nil // the answer that says so may have been lost
	}
	switch {
	case isNew && isOwn:
		m.detector.probeShown(time.Now())
	case isNew:
		m.detector.probeDisplaced(time.Now())
	}
	if isNew && !isOwn && s.isFromDriver {
		m.detector.answered = true
		m.rivalDetected(rollout.FieldManager, replaced, s.Key())
	}
	if s.isAnswered && !m.detector.answered {
		m.detector.answered = true
		m.rivalDetected(s.answer.Manager, wroteStatus, s.Key())
	}
	m.wake()
}

// Forget implements watch.Observer.
func (m probeObserver) Forget(s *probeState) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.isShown && s.UID == m.present.UID {
		m.detector.probeDeleted(time.Now())
		m.wake()
	}
}

// Replace implements watch.Observer.
func (m probeObserver) Replace(all []*probeState, _ string) {
	for _, s := range all {
		m.Observe(s)
	}
	if len(all) > 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.isShown {
		m.detector.probeDeleted(time.Now())
		m.wake()
	}
}

// ProbeStatus returns the state of the watch of the probe. It reports false if the engine may
// not drive yet: then there is no such watch.
func (m *Monitor) ProbeStatus() (watch.Status, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.probes.Status(), m.detector != nil
}
