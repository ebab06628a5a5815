// Package permissions finds out which of the permissions that the program needs it lacks, keeps that up to date, and says so.
package permissions

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"kubernetes-deployment-restart-controller/internal/apiclient"
	"kubernetes-deployment-restart-controller/internal/status"
)

// Missing are the permissions that were missing when they were checked last. The zero value has found none. It may be used
// by several goroutines at once.
type Missing struct {
	mu    sync.Mutex
	last  []apiclient.Permission
	lacks map[apiclient.Permission]time.Time // since when each of those is known to be missing; nil before the first check
}

// see takes in which permissions are missing, after a check of some of them, in their order. It logs those that were not missing
// before, and those that were and have been granted, and returns the latter.
func (m *Missing) see(all, asked, missing []apiclient.Permission, log *slog.Logger) (granted []apiclient.Permission) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.lacks == nil {
		m.lacks = make(map[apiclient.Permission]time.Time)
	}
	m.last = all
	now := time.Now().UTC()
	for i := range all {
		p := &all[i]
		if _, isKnown := m.lacks[*p]; !isKnown {
			m.lacks[*p] = now
			log.Warn("missing permission", "right", p.String(), "without_it", p.Impact, "remedy", remedyFor(p))
		}
	}
	for i := range asked {
		p := &asked[i]
		if len(missing) > 0 && missing[0] == *p {
			missing = missing[1:]
		} else if _, wasMissing := m.lacks[*p]; wasMissing {
			delete(m.lacks, *p)
			granted = append(granted, *p)
			log.Info("permission granted", "right", p.String(), "still_missing", len(all))
		}
	}
	return granted
}

// maxMissing is how many missing permissions are described. The log names all.
const maxMissing = 10

// Gaps describes the missing permissions that concern a namespace, or all if it is empty, but for those whose refusals are
// said already: what says so begins when the permission was found missing, if that was earlier. What cannot be listed is not
// noticed late, but not at all, so that it cannot be watched is left out.
func (m *Missing) Gaps(namespace string, said []status.Gap) (gaps []status.Gap) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range m.last {
		p := &m.last[i]
		isElsewhere := namespace != "" && p.Namespace != "" && p.Namespace != namespace && p.Name == ""
		if isElsewhere || isUnlisted(m.last, i) || m.isSaid(p, said) {
			continue
		}
		if len(gaps) == maxMissing {
			return append(gaps, status.Gap{Text: `The controller lacks more permissions: its log names each as a "missing permission"`, Remedy: status.ApplyManifest})
		}
		gaps = append(gaps, status.Gap{
			Text:      fmt.Sprintf("The controller lacks the permission to %s, so %s", p, p.Impact),
			Beginning: status.Beginning{Since: m.lacks[*p], AtLeast: true}, Remedy: remedyFor(p),
		})
	}
	return gaps
}

// isSaid reports whether the refusal of what a permission allows is said already, and makes that begin no later than the lack.
// It must be called with the lock held.
func (m *Missing) isSaid(p *apiclient.Permission, said []status.Gap) bool {
	i := slices.IndexFunc(said, func(gap status.Gap) bool {
		return p.IsRefusedIn(gap.Why) && (p.Namespace == "" || strings.Contains(gap.Why, fmt.Sprintf("in the namespace %q", p.Namespace)))
	})
	if since := m.lacks[*p]; i >= 0 && since.Before(said[i].Since) {
		said[i].Beginning = status.Beginning{Since: since, AtLeast: true}
	}
	return i >= 0
}

// isUnlisted reports whether one of the missing permissions is that to watch what cannot be listed either, as the one before it
// says.
func isUnlisted(missing []apiclient.Permission, i int) bool {
	if i == 0 || missing[i].Verb != "watch" {
		return false
	}
	list, other := &missing[i-1], &missing[i]
	return list.Verb == "list" && list.Group == other.Group && list.Resource == other.Resource && list.Namespace == other.Namespace && list.Name == other.Name
}

// remedyFor says how to grant a permission.
func remedyFor(p *apiclient.Permission) string {
	if p.Manifest == "" {
		return status.ApplyManifest
	}
	return "Apply k8s-manifests/" + p.Manifest + ", or what you installed in its place, or upgrade the chart."
}

var missingDesc = prometheus.NewDesc("deployment_restart_controller_missing_permissions",
	"The number of permissions that the controller needs and lacked when it checked them last.", nil, nil)

// Describe implements [prometheus.Collector].
func (m *Missing) Describe(descs chan<- *prometheus.Desc) { descs <- missingDesc }

// Collect implements [prometheus.Collector]. There is no series before the first check.
func (m *Missing) Collect(metrics chan<- prometheus.Metric) {
	m.mu.Lock()
	isChecked, n := m.lacks != nil, len(m.last)
	m.mu.Unlock()
	if isChecked {
		metrics <- prometheus.MustNewConstMetric(missingDesc, prometheus.GaugeValue, float64(n))
	}
}
