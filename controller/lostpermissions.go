package controller

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/status"
)

// lostPermission is a permission without which workloads of a kind do not restart, as the last attempts at them show.
type lostPermission struct {
	verb    string
	kind    catalog.WorkloadKind
	waiting int
	since   time.Time
	atLeast bool   // it may have been lost before since
	why     string // of the first
}

// lostPermissions says for which permissions workloads of a namespace, or of all if it is empty, wait. A new attempt at any of
// them forgets it.
func (c *Controller) lostPermissions(namespace string) (gaps []status.Gap) {
	var lost []lostPermission
	note := func(ref catalog.WorkloadRef, found lostPermission) {
		if !isInside(namespace, ref.Namespace) {
			return
		}
		i := slices.IndexFunc(lost, func(l lostPermission) bool { return l.verb == found.verb && l.kind == found.kind })
		if i < 0 {
			i, lost = len(lost), append(lost, found)
		} else if found.since.Before(lost[i].since) {
			lost[i].since, lost[i].atLeast, lost[i].why = found.since, found.atLeast, found.why
		}
		lost[i].waiting++
	}
	c.restarter.backlogs.each(func(ref catalog.WorkloadRef, w backlog) {
		if w.failure.remedy == status.GrantPermission {
			note(ref, lostPermission{verb: "restart", kind: ref.Kind, since: w.failure.since, atLeast: w.isInherited || w.atLeast, why: w.failure.problem})
		}
	})
	c.evictor.each(func(ref catalog.WorkloadRef, row eviction) {
		if row.wait.remedy == status.GrantPermission {
			note(ref, lostPermission{verb: "replace the pods of", kind: ref.Kind, since: row.wait.since, why: row.wait.text})
		}
	})
	slices.SortFunc(lost, func(a, b lostPermission) int { return cmp.Or(cmp.Compare(a.verb, b.verb), cmp.Compare(a.kind, b.kind)) })
	for _, l := range lost {
		gaps = append(gaps, status.Gap{
			Text:      fmt.Sprintf("The controller lacks a permission that it needs to %s workloads of the kind %s (waiting: %d)", l.verb, l.kind, l.waiting),
			Beginning: status.Beginning{Since: l.since.UTC(), AtLeast: l.atLeast}, Why: l.why, Remedy: status.ApplyManifest,
		})
	}
	return gaps
}
