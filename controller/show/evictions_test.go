package show

import (
	"testing"
	"time"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/controller/tracker"
	"kubernetes-deployment-restart-controller/internal/status"
)

func TestARestartByEvictionCountsFromItsRecordAndItsWaitAtLeastFromWhenANewLeaderSawIt(t *testing.T) {
	began := time.Unix(1_800_000_000, 0)
	wait := tracker.EvictionWait{Reason: tracker.WaitsForBudget}
	for name, test := range map[string]struct {
		seen, waits time.Duration // after the restart began; 0 if it does not wait
		atLeast     bool
	}{
		"it rolls":                         {seen: time.Hour},
		"a new leader finds that it waits": {seen: time.Hour, waits: time.Hour + time.Second, atLeast: true},
		"it waits later":                   {seen: time.Hour, waits: 2 * time.Hour},
		"the leader that has made it sees it waiting": {seen: time.Second, waits: 2 * time.Second},
	} {
		row := &tracker.Eviction{Of: uint32(began.Unix()), Seen: began.Add(test.seen)}
		want, state := began, status.Rolling
		if test.waits > 0 {
			wait.Since = began.Add(test.waits)
			row.Wait, want, state = wait, wait.Since, status.Held
		}
		if s := standingOfEviction(names.WorkloadRef{}, row); !s.Since.Equal(want) || s.AtLeast != test.atLeast || s.State != state {
			t.Errorf("%s: %+v", name, s)
		}
	}
}
