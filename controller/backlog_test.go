package controller

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"k8s.io/client-go/tools/record"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/internal/series"
)

func TestAWaitCountsFromWhenTheRestartWasDue(t *testing.T) {
	begin := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	api := names.WorkloadRef{Kind: names.Deployment, Namespace: "ns", Name: "api"}
	other := names.WorkloadRef{Kind: names.Deployment, Namespace: "other-ns", Name: "web"}
	b := newBacklogs()
	after := func(d time.Duration) time.Time { return begin.Add(d) }
	require := func(what string, now time.Duration, want map[string]time.Duration) {
		t.Helper()
		if diff := cmp.Diff(want, b.longestWaits(after(now))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	type waits = map[string]time.Duration
	require("nothing", 0, waits{})
	b.note(observedChange{Workload: web, Since: begin, Due: after(2 * time.Minute), Count: 1})
	require("the grace period does not count", 2*time.Minute, waits{})
	require("what follows counts", 3*time.Minute, waits{"ns": time.Minute})
	b.note(observedChange{Workload: web, Since: begin, Due: after(3 * time.Minute), Count: 1})
	require("another change does not shorten it", 4*time.Minute, waits{"ns": 2 * time.Minute})
	b.note(observedChange{Workload: other, Since: begin, Due: after(3 * time.Minute), Count: 1})
	b.note(observedChange{Workload: api, Since: begin, Due: after(3 * time.Minute), Count: 1})
	require("each namespace has its own", 4*time.Minute, waits{"ns": 2 * time.Minute, "other-ns": time.Minute})

	b.putOff(web, []decide.Cause{{}}, slowedUntil(after(10*time.Minute)), begin)
	b.putOff(api, []decide.Cause{{}}, slowedUntil(after(8*time.Minute)), begin)
	require("the spacing of the budget does not count", 8*time.Minute, waits{"other-ns": 5 * time.Minute})
	b.note(observedChange{Workload: web, Since: after(6 * time.Minute), Due: after(8 * time.Minute), Count: 1})
	require("nor does an edit meanwhile", 9*time.Minute, waits{"ns": time.Minute, "other-ns": 6 * time.Minute})
	b.noteDue(web, false, after(10*time.Minute))
	require("what follows counts", 12*time.Minute, waits{"ns": 4 * time.Minute, "other-ns": 9 * time.Minute})

	b.settle(api)
	require("one is applied", 12*time.Minute, waits{"ns": 2 * time.Minute, "other-ns": 9 * time.Minute})
	b.settle(web)
	b.settle(other)
	require("all are applied or gone", 12*time.Minute, waits{})
	b.noteDue(web, false, after(12*time.Minute))
	require("a restart without a change", 13*time.Minute, waits{"ns": time.Minute})
}

func TestOnlyTheFirstConfigsThatSlowAWorkloadDownAreRemembered(t *testing.T) {
	b := newBacklogs()
	var causes []decide.Cause
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"} {
		causes = append(causes, decide.Cause{Config: names.ConfigRef{Kind: names.ConfigMap, Namespace: "ns", Name: name}})
	}
	slowed := slowedUntil(time.Now())
	if _, isNews := b.putOff(web, causes, slowed, time.Now()); !isNews {
		t.Error("it is no news")
	}
	if _, isNews := b.putOff(web, causes, slowed, time.Now().Add(3*reminderPeriod)); isNews {
		t.Error("it is news again, and counts as another slowdown")
	}
	if slowed := b.slowed(); len(slowed) != maxSlowing || slowed[0].Value != 1 {
		t.Errorf("slowed %v", slowed)
	}
	api := names.WorkloadRef{Kind: names.Deployment, Namespace: "ns", Name: "api"}
	b.putOff(api, causes[:1], slowed, time.Now())
	b.settle(web)
	if diff := cmp.Diff([]series.Sample{{Label: mapA.String(), Value: 1}}, b.slowed()); diff != "" {
		t.Errorf("slowed after a restart was applied (-want +got):\n%s", diff)
	}
	b.settle(api)
	if slowed := b.slowed(); len(slowed) != 0 {
		t.Errorf("slowed %v when the workload is gone", slowed)
	}
	_, isNews := b.putOff(web, nil, slowed, time.Now())
	if _, isNewsAgain := b.putOff(web, nil, slowed, time.Now()); !isNews || isNewsAgain {
		t.Error("a restart without causes is not put off once")
	}
}

func slowedUntil(until time.Time) gate.Answer { return gate.Answer{Reason: gate.Backoff, Until: until} }

func TestALongGracePeriodAndAPutOffRestartAreNotLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRestarter(restarterParts{deliveries: followed(catalog.New()), evictions: newEvictions(catalog.New()), gate: openGate(catalog.New()), backlogs: newBacklogs(), journal: newJournal(), metrics: newMetrics(), log: slog.New(slog.DiscardHandler)}, nil)
		edited := time.Now()
		time.Sleep(2 * time.Minute)
		r.backlogs.note(observedChange{Workload: web, Since: edited, Due: time.Now(), Count: 1})
		time.Sleep(time.Second)
		r.backlogs.putOff(web, nil, slowedUntil(time.Now().Add(10*time.Minute)), time.Now())
		time.Sleep(10*time.Minute + 3*time.Second)
		r.applied(&workload.Workload{Ref: web}, decide.Decision{Outcome: decide.RecordOnly}, nil)
		for want, histogram := range map[float64]prometheus.Histogram{
			12*60 + 4: r.metrics.changeToPatch,
			3:         r.metrics.dueToPatch,
		} {
			var got dto.Metric
			if err := histogram.Write(&got); err != nil || got.GetHistogram().GetSampleSum() != want {
				t.Errorf("%s has a sum of %v, want %v (%v)", histogram.Desc(), got.GetHistogram().GetSampleSum(), want, err)
			}
		}
	})
}

// The config is reverted while a person holds the restart, so it is only recorded.
func TestARecordAfterAHoldIsNotLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRestarter(restarterParts{deliveries: followed(catalog.New()), evictions: newEvictions(catalog.New()), gate: openGate(catalog.New()), backlogs: newBacklogs(), journal: newJournal(), metrics: newMetrics(), events: &record.FakeRecorder{}, log: slog.New(slog.DiscardHandler)}, nil)
		r.backlogs.note(observedChange{Workload: web, Since: time.Now(), Due: time.Now(), Count: 1})
		r.backlogs.putOff(web, nil, gate.Answer{Reason: gate.Hold, Text: "an incident"}, time.Now())
		time.Sleep(time.Hour)
		r.applied(&workload.Workload{Ref: web}, decide.Decision{Outcome: decide.RecordOnly}, nil)
		for want, histogram := range map[float64]prometheus.Histogram{60 * 60: r.metrics.changeToPatch, 0: r.metrics.dueToPatch} {
			var got dto.Metric
			if err := histogram.Write(&got); err != nil || got.GetHistogram().GetSampleSum() != want {
				t.Errorf("%s has a sum of %v, want %v (%v)", histogram.Desc(), got.GetHistogram().GetSampleSum(), want, err)
			}
		}
	})
}

func TestTheOwnerHearsOfAReasonAgainWhenAnotherOneWasTheLast(t *testing.T) {
	begin := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	settings := func(name string) names.ConfigRef {
		return names.ConfigRef{Kind: names.ConfigMap, Namespace: "ns", Name: name}
	}
	halt := func(name string) gate.Answer {
		return gate.Answer{Reason: gate.Halted, Halt: &gate.Halt{Config: settings(name)}}
	}
	hold, wave := gate.Answer{Reason: gate.Hold, Text: "migration"}, gate.Answer{Reason: gate.Wave}
	b := newBacklogs()
	for i, step := range []struct {
		minute int
		answer gate.Answer
		isNews bool
	}{
		{0, hold, true}, {1, hold, false}, {2, halt("c"), true}, {3, hold, false}, {6, hold, true}, {20, hold, false}, {57, hold, true},
		{58, halt("d"), true}, {59, halt("c"), false}, {64, halt("c"), true}, {65, wave, true}, {66, wave, false},
	} {
		if _, isNews := b.putOff(web, nil, step.answer, begin.Add(time.Duration(step.minute)*time.Minute)); isNews != step.isNews {
			t.Errorf("step %d, %s after %d minutes: news: %t", i, step.answer.Reason, step.minute, isNews)
		}
	}
	if told, hasEnded := b.takeEnded(web, gate.Wave); !hasEnded || told.on != settings("c") {
		t.Errorf("took the halt of %s, %t", told.on, hasEnded)
	}
	if _, isNews := b.putOff(web, nil, wave, begin.Add(67*time.Minute)); !isNews {
		t.Error("what still holds a restart after a halt is not told")
	}
}
