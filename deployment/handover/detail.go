package handover

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"kubernetes-deployment-restart-controller/internal/brief"
	"kubernetes-deployment-restart-controller/internal/watch"
)

// IsProbe reports whether a Deployment is the engine's own probe, which the engine does not
// drive because it must not answer itself. The probe of another installation is a Deployment
// like any other.
func (m *Monitor) IsProbe(key types.NamespacedName) bool {
	return key.Name == probeName && key.Namespace == m.prober.namespace
}

// ProbeStatus returns the state of the watch of the probe. It reports false if the engine may
// not drive yet: then there is no such watch.
func (m *Monitor) ProbeStatus() (watch.Status, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.probes.Status(), m.detector != nil
}

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
