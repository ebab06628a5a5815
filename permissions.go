package main

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"kubernetes-deployment-restart-controller/apiclient"
	"kubernetes-deployment-restart-controller/status"
)

// neededPermissions returns the permissions that the engines and the leader election
// need.
func neededPermissions(o *options, all engines) []apiclient.Permission {
	var permissions []apiclient.Permission
	for _, e := range all {
		permissions = append(permissions, e.Permissions()...)
	}
	if o.elects() {
		const without = "no leader is elected and the controller does nothing"
		lease := apiclient.Permission{
			Group: "coordination.k8s.io", Resource: "leases", Namespace: o.LeaderElectNamespace, Name: o.LeaderElectLeaseName, Impact: without,
		}
		for _, verb := range []string{"get", "update"} {
			lease.Verb = verb
			permissions = append(permissions, lease)
		}
		// RBAC cannot limit create to a name, so the permission is to create any
		// lease.
		lease.Verb, lease.Name, lease.Impact = "create", "", "no leader is elected if the lease does not exist"
		permissions = append(permissions, lease)
	}
	return permissions
}

// Each missing permission is checked again after recheckPeriod, or in its turn if there are so many that this would be more than
// one request in recheckPause: a person may leave one out on purpose in each of very many namespaces. Whoever grants one grants
// others, so once one is there, maxRechecked others are checked at once.
const (
	recheckPeriod = 10 * time.Second
	recheckPause  = time.Second
	maxRechecked  = 50
)

// missingPermissions are those that were missing when they were checked last. The zero value has found none. It may be used
// by several goroutines at once.
type missingPermissions struct {
	last  atomic.Pointer[[]apiclient.Permission] // nil before the first check
	since time.Time                              // of the first check, which is before the first that is stored
}

// check checks the permissions once the API server answers, logs each missing one, and checks those again until none is missing
// or the context ends. It logs each that was granted meanwhile, and passes them on, after each check.
func (m *missingPermissions) check(ctx context.Context, config *rest.Config, permissions []apiclient.Permission, onGranted func([]apiclient.Permission), log *slog.Logger) {
	unanswered := wait.Backoff{Duration: recheckPause, Factor: 2, Steps: 6, Cap: time.Minute}
	backoff, next, end := unanswered, 0, len(permissions) // the first time, all are checked
	for len(permissions) > 0 {
		var pause time.Duration
		asked := permissions[next:end]
		if missing, err := apiclient.Missing(ctx, config, asked); err != nil {
			log.Debug("cannot check permissions, trying again", "error", err)
			pause = backoff.Step()
		} else {
			backoff = unanswered
			log.Debug("permissions checked", "checked", len(asked), "missing", len(missing))
			permissions = slices.Concat(permissions[:next], missing, permissions[end:])
			granted := m.see(permissions, asked, missing, log)
			if next += len(missing); next >= len(permissions) { // each has had its turn
				next = 0
			}
			end, pause = next+1, max(recheckPause, recheckPeriod/time.Duration(max(1, len(permissions))))
			if len(granted) > 0 {
				onGranted(granted)
				end, pause = next+maxRechecked, 0
			}
			end = min(end, len(permissions))
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
	}
}

// see takes in which permissions are missing, after a check of some of them, in their order. It logs those that the first check
// found missing, and those that a later one found granted, and returns the latter. Only one goroutine at a time may call it.
func (m *missingPermissions) see(all, asked, missing []apiclient.Permission, log *slog.Logger) (granted []apiclient.Permission) {
	isFirst := m.last.Load() == nil
	if isFirst {
		m.since = time.Now().UTC()
	}
	m.last.Store(&all)
	for i := range asked {
		switch p := &asked[i]; {
		case len(missing) > 0 && missing[0] == *p:
			if missing = missing[1:]; isFirst {
				log.Warn("missing permission", "right", p.String(), "without_it", p.Impact, "remedy", remedyFor(p))
			}
		case !isFirst:
			granted = append(granted, *p)
			log.Info("permission granted", "right", p.String(), "still_missing", len(all))
		}
	}
	return granted
}

// maxMissing is how many missing permissions are described. The log names all.
const maxMissing = 10

// gaps describes the missing permissions that concern a namespace, or all if it is empty, but for those whose refusals are
// said already: what says so begins when the permission was found missing, if that was earlier. What cannot be listed is not
// noticed late, but not at all, so that it cannot be watched is left out.
func (m *missingPermissions) gaps(namespace string, said []status.Gap) (gaps []status.Gap) {
	missing := m.last.Load()
	if missing == nil {
		return nil
	}
	for i := range *missing {
		p := &(*missing)[i]
		isElsewhere := namespace != "" && p.Namespace != "" && p.Namespace != namespace && p.Name == ""
		isUnlisted := i > 0 && p.Verb == "watch" && isListOfSame(&(*missing)[i-1], p)
		if isElsewhere || isUnlisted || m.isSaid(p, said) {
			continue
		}
		if len(gaps) == maxMissing {
			return append(gaps, status.Gap{Text: `The controller lacks more permissions: at its start it logs each "missing permission"`, Remedy: status.ApplyManifest})
		}
		gaps = append(gaps, status.Gap{
			Text:      fmt.Sprintf("The controller lacks the permission to %s, so %s", p, p.Impact),
			Beginning: status.Beginning{Since: m.since, AtLeast: true}, Remedy: remedyFor(p),
		})
	}
	return gaps
}

// isSaid reports whether the refusal of what a permission allows is said already, and makes that begin no later than the lack.
func (m *missingPermissions) isSaid(p *apiclient.Permission, said []status.Gap) bool {
	refusal := fmt.Sprintf("cannot %s resource %q", p.Verb, p.Resource) // a subresource has other words
	i := slices.IndexFunc(said, func(gap status.Gap) bool { return strings.Contains(gap.Why, refusal) })
	if i >= 0 && m.since.Before(said[i].Since) {
		said[i].Beginning = status.Beginning{Since: m.since, AtLeast: true}
	}
	return i >= 0
}

// isListOfSame reports whether a permission is that to list what another one, which follows it, is for.
func isListOfSame(list, other *apiclient.Permission) bool {
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
func (m *missingPermissions) Describe(descs chan<- *prometheus.Desc) { descs <- missingDesc }

// Collect implements [prometheus.Collector]. There is no series before the first check.
func (m *missingPermissions) Collect(metrics chan<- prometheus.Metric) {
	if missing := m.last.Load(); missing != nil {
		metrics <- prometheus.MustNewConstMetric(missingDesc, prometheus.GaugeValue, float64(len(*missing)))
	}
}
