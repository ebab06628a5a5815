package controller

import (
	"testing"
	"time"

	"kubernetes-deployment-restart-controller/catalog"
)

func TestARecordWaitsUntilNoCopyOfItsPredecessorCanCome(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		kind    catalog.WorkloadKind
		exposed bool
		written time.Time
		want    time.Duration
	}{
		"written just now":              {catalog.Deployment, true, now, cleanupDelay},
		"half of the time has passed":   {catalog.Deployment, true, now.Add(-cleanupDelay / 2), cleanupDelay / 2},
		"all of the time has passed":    {catalog.Deployment, true, now.Add(-cleanupDelay), 0},
		"nothing to remove":             {catalog.Deployment, false, now, 0},
		"copied at the creation only":   {catalog.StatefulSet, true, now, 0},
		"written at an unknown time":    {catalog.Deployment, true, time.Time{}, 0},
		"written by a clock that jumps": {catalog.Deployment, true, now.Add(time.Hour), 0},
	} {
		w := &catalog.Workload{Ref: catalog.WorkloadRef{Kind: c.kind}, Applied: catalog.AppliedState{Exposed: c.exposed, Written: c.written}}
		if got := cleanupWait(w, now); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
