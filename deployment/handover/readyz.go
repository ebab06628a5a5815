package handover

import (
	"fmt"
	"strings"
	"time"

	"kubernetes-deployment-restart-controller/internal/brief"
)

// Detail describes in one line what the engine is doing, for /readyz. Until [Monitor.Run] is
// called, that depends on whether this process leads.
func (m *Monitor) Detail(leads bool) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var line strings.Builder
	probes := m.probes.Status()
	if m.problem != nil || probes.Problem != nil {
		line.WriteString("[!] deployment engine: ")
	} else {
		line.WriteString("[+] deployment engine: ")
	}
	switch {
	case m.detector == nil && leads:
		line.WriteString("waiting until its watches are synced")
	case m.detector == nil:
		line.WriteString("waiting for leadership")
	case m.detector.phase == driving && len(m.detector.unverified) == 0:
		line.WriteString("driving deployments")
	case m.detector.phase == driving:
		namespaces := "1 namespace"
		if resting := len(m.detector.unverified); resting > 1 {
			namespaces = fmt.Sprintf("%d namespaces", resting)
		}
		fmt.Fprintf(&line, "driving deployments, but resting in %s; last %s at %s",
			namespaces, m.lastForeign, m.lastForeign.time.UTC().Format(time.RFC3339))
	case m.detector.phase == makingSure:
		line.WriteString("making sure that no other controller drives deployments")
	case m.rival == detection{}:
		line.WriteString("standing by for another deployment controller")
	default:
		fmt.Fprintf(&line, "standing by, since %s at %s", m.rival, m.rival.time.UTC().Format(time.RFC3339))
	}
	if m.problem != nil {
		fmt.Fprintf(&line, "; cannot make its probe: %s", brief.Line(m.problem.Error()))
	}
	if probes.Problem != nil {
		fmt.Fprintf(&line, "; cannot watch its probe: %s", brief.Line(probes.Problem.Error()))
	}
	return line.String()
}
