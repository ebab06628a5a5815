package show

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/controller/failures"
	"kubernetes-deployment-restart-controller/controller/tracker"
	"kubernetes-deployment-restart-controller/internal/notes"
	"kubernetes-deployment-restart-controller/internal/status"
)

// lostPermission is a permission without which workloads of a kind do not restart, as the last attempts at them show.
type lostPermission struct {
	verb    string
	besides string // what else is known of the workloads
	kind    names.WorkloadKind
	waiting int
	since   time.Time
	atLeast bool   // it may have been lost before since
	isSeen  bool   // an attempt is to be repeated; otherwise all wait for something else, and it may be there again
	why     string // of the first
}

// LostPermissions says for which permissions workloads of a namespace, or of all if it is empty, wait. An attempt that
// succeeds forgets it.
func LostPermissions(namespace string, table *tracker.Table) (gaps []status.Gap) {
	var lost []lostPermission
	note := func(ref names.WorkloadRef, found lostPermission) {
		if !notes.IsInside(namespace, ref.Namespace) {
			return
		}
		i := slices.IndexFunc(lost, func(l lostPermission) bool { return l.verb == found.verb && l.kind == found.kind })
		if i < 0 {
			i, lost = len(lost), append(lost, found)
		} else if found.since.Before(lost[i].since) {
			lost[i].since, lost[i].atLeast, lost[i].why = found.since, found.atLeast, found.why
		}
		lost[i].waiting++
		lost[i].isSeen = lost[i].isSeen || found.isSeen
	}
	for ref, row := range table.All() {
		if w := row.Backlog; w != nil && w.Failure.Remedy == status.GrantPermission {
			found := lostPermission{verb: "restart", isSeen: !w.Failure.Next.IsZero(), kind: ref.Kind, since: w.Failure.Since, atLeast: w.IsInherited || w.AtLeast, why: w.Failure.Problem}
			if errors.Is(w.Failure.Record, failures.ErrOnlyRecord) {
				found.verb, found.besides = "write the records of", ", no pods of which wait"
			}
			note(ref, found)
		}
		if e := row.Eviction; e != nil && e.Wait.Remedy == status.GrantPermission {
			note(ref, lostPermission{verb: "replace the pods of", isSeen: true, kind: ref.Kind, since: e.Wait.Since, why: e.Wait.Text})
		}
	}
	lost = slices.DeleteFunc(lost, func(l lostPermission) bool { return !l.isSeen })
	slices.SortFunc(lost, func(a, b lostPermission) int { return cmp.Or(cmp.Compare(a.verb, b.verb), cmp.Compare(a.kind, b.kind)) })
	for _, l := range lost {
		gaps = append(gaps, status.Gap{
			Text:      fmt.Sprintf("The controller lacks a permission that it needs to %s workloads of the kind %s (waiting: %d)%s", l.verb, l.kind, l.waiting, l.besides),
			Beginning: status.Beginning{Since: l.since.UTC(), AtLeast: l.atLeast}, Why: l.why, Remedy: status.ApplyManifest,
		})
	}
	return gaps
}
