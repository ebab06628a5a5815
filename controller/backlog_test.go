package controller

import (
	"testing"
	"time"

	"kubernetes-deployment-restart-controller/catalog"
)

func TestTheLongestWaitIsThatOfTheOldestChange(t *testing.T) {
	begin := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	api := catalog.WorkloadRef{Kind: catalog.Deployment, Namespace: "ns", Name: "api"}
	b := newBacklogs()
	require := func(what string, want time.Duration) {
		t.Helper()
		if got := b.longestWait(begin.Add(time.Minute)); got != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	b.noteDue(web)
	require("due without a change", 0)
	b.note(Change{Workload: web, Since: begin.Add(20 * time.Second), Count: 1})
	require("one change", 40*time.Second)
	b.note(Change{Workload: api, Since: begin, Count: 2})
	require("an older one of another workload", time.Minute)
	b.putOff(api, []catalog.Cause{{}})
	require("put off", time.Minute)
	b.settle(api)
	require("applied", 40*time.Second)
	b.settle(web)
	require("all applied", 0)
}
