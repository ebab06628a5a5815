package main

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

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

// Missing permissions are checked again after recheckPeriod, and ever less often, down to once in longestRecheckPeriod, while all
// of them stay missing. A person may leave one out on purpose in each of very many namespaces, so only maxRechecked are checked
// at once. Each pause is longer by up to a fifth, so that replicas do not check at the same time.
const (
	recheckPeriod        = 20 * time.Second
	longestRecheckPeriod = 5 * time.Minute
	maxRechecked         = 50
	recheckJitter        = 0.2
)

// missingPermissions are those that were missing when they were checked last. The zero value has found none. It may be used
// by several goroutines at once.
type missingPermissions struct {
	last  atomic.Pointer[[]apiclient.Permission]
	since time.Time // of the first check, which is before the first that is stored
}

// check checks the permissions once the API server answers, logs each missing one, and checks those again, in turns, until none
// is missing or the context ends.
func (m *missingPermissions) check(ctx context.Context, config *rest.Config, permissions []apiclient.Permission, log *slog.Logger) {
	backoff := wait.Backoff{Duration: time.Second, Factor: 2, Jitter: recheckJitter, Steps: 6, Cap: time.Minute}
	period := recheckPeriod
	next, end := 0, len(permissions) // the first time, all are checked
	for len(permissions) > 0 {
		var pause time.Duration
		switch missing, err := apiclient.Missing(ctx, config, permissions[next:end]); {
		case err != nil:
			log.Debug("cannot check permissions, trying again", "error", err)
			pause = backoff.Step()
		default:
			log.Debug("permissions checked", "checked", end-next, "missing", len(missing))
			if len(missing) < end-next {
				period = recheckPeriod // whoever grants one may be about to grant others
			}
			permissions = slices.Concat(permissions[:next], missing, permissions[end:])
			m.see(permissions, log)
			pause = wait.Jitter(period, recheckJitter)
			if next += len(missing); next == len(permissions) { // each has had its turn
				next, period = 0, min(2*period, longestRecheckPeriod)
			}
			end = min(next+maxRechecked, len(permissions))
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
	}
}

// see takes in what a check has found missing, and logs it if it is the first check. Only one goroutine at a time may call it.
func (m *missingPermissions) see(missing []apiclient.Permission, log *slog.Logger) {
	if m.last.Load() == nil {
		m.since = time.Now().UTC()
		for _, permission := range missing {
			log.Warn("missing permission", "right", permission.String(), "without_it", permission.Impact, "remedy", remedyFor(&permission))
		}
	}
	m.last.Store(&missing)
}

// maxMissing is how many missing permissions are described. The log names all.
const maxMissing = 10

// gaps describes the missing permissions that concern a namespace, or all if it is empty, but for those whose refusals are
// part of what is said already.
func (m *missingPermissions) gaps(namespace, said string) (gaps []status.Gap) {
	missing := m.last.Load()
	if missing == nil {
		return nil
	}
	for i := range *missing {
		p := &(*missing)[i]
		resource, subresource, _ := strings.Cut(p.Resource, "/")
		isElsewhere := namespace != "" && p.Namespace != "" && p.Namespace != namespace && p.Name == ""
		if isElsewhere || subresource == "" && strings.Contains(said, fmt.Sprintf("cannot %s resource %q", p.Verb, resource)) {
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

// remedyFor says how to grant a permission.
func remedyFor(p *apiclient.Permission) string {
	if p.Manifest == "" {
		return status.ApplyManifest
	}
	return "Apply k8s-manifests/" + p.Manifest + ", or what you installed in its place, or upgrade the chart."
}
