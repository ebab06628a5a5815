package follow

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"kubernetes-deployment-restart-controller/controller/objecttest"
	"kubernetes-deployment-restart-controller/internal/status"
)

func TestTheLastRestartsAreRememberedWithTheirOutcomes(t *testing.T) {
	var h History
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	for i := range maxHistoryOf + 20 {
		h.Begin(objecttest.WorkloadNamed(fmt.Sprint("app-", i)), "id", strings.Repeat("x", 1000), now.Add(time.Duration(i)*time.Second))
	}
	last := objecttest.WorkloadNamed(fmt.Sprint("app-", maxHistoryOf+19))
	h.End(last, "another", status.Broken, "", now)
	h.End(last, "id", status.Delivered, "", now.Add(10*time.Minute))
	all := h.All("")
	if all.Total != maxHistoryOf || len(all.Items) != status.Limit || all.Items[0].Workload != last.String() || all.Items[0].Outcome != status.Delivered || all.Items[0].Took != 600-(maxHistoryOf+19) || len(all.Items[0].Cause) > LongestWhy {
		t.Errorf("got %d, the last is %+v", all.Total, all.Items[0])
	}
	h.Begin(last, "next", "", now)
	if got := h.All("").Items[1]; got.Outcome != status.Delivered {
		t.Errorf("an outcome was replaced: %+v", got)
	}
	h.Begin(last, "third", "", now)
	if got := h.All("").Items[1]; got.Outcome != status.Unknown || got.Why == "" {
		t.Errorf("a restart that another one followed: %+v", got)
	}
	if h.Of(objecttest.WorkloadNamed("app-0")) != nil || h.Of(last).Outcome != "" {
		t.Error("wrong last restarts")
	}
}

func TestTheLastRestartsOfANamespaceOutliveThoseOfOthers(t *testing.T) {
	var h History
	restarts := 0
	restart := func(namespace string, count int) {
		for range count {
			restarts++
			h.Begin(objecttest.DeploymentNamed(namespace+"/web"), fmt.Sprint(restarts), "", time.Now())
		}
	}
	restart("quiet", 3)
	const others = 2 * MaxHistory / maxHistoryOf
	for i := range others {
		restart(fmt.Sprint("busy-", i), maxHistoryOf+1)
	}
	if quiet, all := h.All("quiet").Total, h.All("").Total; quiet != 3 || all != MaxHistory || h.kept != MaxHistory {
		t.Errorf("of the quiet one: %d, in all %d, counted %d", quiet, all, h.kept)
	}
	for i := range others {
		if got, fair := h.All(fmt.Sprint("busy-", i)).Total, MaxHistory/(others+1); got < fair || got > fair+5 {
			t.Errorf("of busy-%d: %d", i, got)
		}
	}
	for i := range 2 * MaxHistory {
		restart(fmt.Sprint("once-", i), 1)
	}
	if last, all := h.All(fmt.Sprint("once-", 2*MaxHistory-1)).Total, h.All("").Total; last != 1 || all != MaxHistory || len(h.in) != MaxHistory {
		t.Errorf("of the last of very many: %d, in all %d of %d", last, all, len(h.in))
	}
}
