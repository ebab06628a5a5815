package controller

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/record"

	"kubernetes-deployment-restart-controller/catalog"
	catalogrecord "kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

// eventsOf returns the Events that were recorded so far.
func eventsOf(recorder *record.FakeRecorder) []string {
	var events []string
	for len(recorder.Events) > 0 {
		events = append(events, <-recorder.Events)
	}
	return events
}

func TestWhatIsWrongWithAWorkloadIsReportedOnceForEachReason(t *testing.T) {
	recorder, c := record.NewFakeRecorder(10), catalog.New()
	r := newRestarter(restarterParts{
		catalog: c, gate: openGate(c), backlogs: newBacklogs(), journal: newJournal(), metrics: newMetrics(), events: recorder, grace: time.Second,
		log: slog.New(slog.DiscardHandler), knowsConfigs: func(string) bool { return true },
	}, nil)
	tooMany := workload.Workload{Ref: web, UID: "1", Excess: workload.TooManyReferences}
	var version string
	for i, test := range []struct {
		workload workload.Workload
		want     []string
	}{
		{tooMany, []string{"Warning " + reasonTooMany}},
		{tooMany, nil},
		{workload.Workload{Ref: web, UID: "1", Applied: catalogrecord.AppliedState{Trusted: true}}, []string{"Normal " + reasonTooMany}},
		{workload.Workload{Ref: web, UID: "1", Applied: catalogrecord.AppliedState{Trusted: true}}, nil},
		{tooMany, []string{"Warning " + reasonTooMany}},
	} {
		version += "1"
		test.workload.ResourceVersion = version
		c.ObserveWorkload(test.workload)
		if err := r.handle(t.Context(), web); err != nil {
			t.Fatal(err)
		}
		got := eventsOf(recorder)
		if len(got) != len(test.want) {
			t.Errorf("step %d: events %q, want %q", i, got, test.want)
			continue
		}
		for j, want := range test.want {
			if !strings.HasPrefix(got[j], want+" ") {
				t.Errorf("step %d: event %q, want %s", i, got[j], want)
			}
		}
	}
	c.ForgetWorkload(web)
	if err := r.handle(t.Context(), web); err != nil || len(r.journal.problems) != 0 {
		t.Errorf("what was reported about a deleted workload is kept: %v, %v", r.journal.problems, err)
	}
}
