package tracker

import (
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/controller/objecttest"
	"kubernetes-deployment-restart-controller/controller/pending"
	"kubernetes-deployment-restart-controller/internal/series"
)

func TestAWaitCountsFromWhenTheRestartWasDue(t *testing.T) {
	begin := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	api := names.WorkloadRef{Kind: names.Deployment, Namespace: "ns", Name: "api"}
	other := names.WorkloadRef{Kind: names.Deployment, Namespace: "other-ns", Name: "web"}
	b := NewBacklogs(New())
	after := func(d time.Duration) time.Time { return begin.Add(d) }
	require := func(what string, now time.Duration, want map[string]time.Duration) {
		t.Helper()
		if diff := cmp.Diff(want, b.table.Load(after(now)).Waits); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	type waits = map[string]time.Duration
	require("nothing", 0, waits{})
	b.Note(pending.ObservedChange{Workload: objecttest.Web, Since: begin, Due: after(2 * time.Minute), Count: 1})
	require("the grace period does not count", 2*time.Minute, waits{})
	require("what follows counts", 3*time.Minute, waits{"ns": time.Minute})
	b.Note(pending.ObservedChange{Workload: objecttest.Web, Since: begin, Due: after(3 * time.Minute), Count: 1})
	require("another change does not shorten it", 4*time.Minute, waits{"ns": 2 * time.Minute})
	b.Note(pending.ObservedChange{Workload: other, Since: begin, Due: after(3 * time.Minute), Count: 1})
	b.Note(pending.ObservedChange{Workload: api, Since: begin, Due: after(3 * time.Minute), Count: 1})
	require("each namespace has its own", 4*time.Minute, waits{"ns": 2 * time.Minute, "other-ns": time.Minute})

	b.PutOff(objecttest.Web, []decide.Cause{{}}, objecttest.SlowedUntil(after(10*time.Minute)), begin)
	b.PutOff(api, []decide.Cause{{}}, objecttest.SlowedUntil(after(8*time.Minute)), begin)
	require("the spacing of the budget does not count", 8*time.Minute, waits{"other-ns": 5 * time.Minute})
	b.Note(pending.ObservedChange{Workload: objecttest.Web, Since: after(6 * time.Minute), Due: after(8 * time.Minute), Count: 1})
	require("nor does an edit meanwhile", 9*time.Minute, waits{"ns": time.Minute, "other-ns": 6 * time.Minute})
	b.NoteDue(objecttest.Web, false, after(10*time.Minute))
	require("what follows counts", 12*time.Minute, waits{"ns": 4 * time.Minute, "other-ns": 9 * time.Minute})

	b.Settle(api)
	require("one is applied", 12*time.Minute, waits{"ns": 2 * time.Minute, "other-ns": 9 * time.Minute})
	b.Settle(objecttest.Web)
	b.Settle(other)
	require("all are applied or gone", 12*time.Minute, waits{})
	b.NoteDue(objecttest.Web, false, after(12*time.Minute))
	require("a restart without a change", 13*time.Minute, waits{"ns": time.Minute})
}

func TestOnlyTheFirstConfigsThatSlowAWorkloadDownAreRemembered(t *testing.T) {
	b := NewBacklogs(New())
	var causes []decide.Cause
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"} {
		causes = append(causes, decide.Cause{Config: names.ConfigRef{Kind: names.ConfigMap, Namespace: "ns", Name: name}})
	}
	slowed := objecttest.SlowedUntil(time.Now())
	if _, isNews := b.PutOff(objecttest.Web, causes, slowed, time.Now()); !isNews {
		t.Error("it is no news")
	}
	if _, isNews := b.PutOff(objecttest.Web, causes, slowed, time.Now().Add(3*ReminderPeriod)); isNews {
		t.Error("it is news again, and counts as another slowdown")
	}
	if slowed := b.table.Load(time.Now()).Slowed; len(slowed) != maxSlowing || slowed[0].Value != 1 {
		t.Errorf("slowed %v", slowed)
	}
	api := names.WorkloadRef{Kind: names.Deployment, Namespace: "ns", Name: "api"}
	b.PutOff(api, causes[:1], slowed, time.Now())
	b.Settle(objecttest.Web)
	if diff := cmp.Diff([]series.Sample{{Label: objecttest.MapA.String(), Value: 1}}, b.table.Load(time.Now()).Slowed); diff != "" {
		t.Errorf("slowed after a restart was applied (-want +got):\n%s", diff)
	}
	b.Settle(api)
	if slowed := b.table.Load(time.Now()).Slowed; len(slowed) != 0 {
		t.Errorf("slowed %v when the workload is gone", slowed)
	}
	_, isNews := b.PutOff(objecttest.Web, nil, slowed, time.Now())
	if _, isNewsAgain := b.PutOff(objecttest.Web, nil, slowed, time.Now()); !isNews || isNewsAgain {
		t.Error("a restart without causes is not put off once")
	}
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
	b := NewBacklogs(New())
	for i, step := range []struct {
		minute int
		answer gate.Answer
		isNews bool
	}{
		{0, hold, true}, {1, hold, false}, {2, halt("c"), true}, {3, hold, false}, {6, hold, true}, {20, hold, false}, {57, hold, true},
		{58, halt("d"), true}, {59, halt("c"), false}, {64, halt("c"), true}, {65, wave, true}, {66, wave, false},
	} {
		if _, isNews := b.PutOff(objecttest.Web, nil, step.answer, begin.Add(time.Duration(step.minute)*time.Minute)); isNews != step.isNews {
			t.Errorf("step %d, %s after %d minutes: news: %t", i, step.answer.Reason, step.minute, isNews)
		}
	}
	if told, hasEnded := b.TakeEnded(objecttest.Web, gate.Wave); !hasEnded || told.On != settings("c") {
		t.Errorf("took the halt of %s, %t", told.On, hasEnded)
	}
	if _, isNews := b.PutOff(objecttest.Web, nil, wave, begin.Add(67*time.Minute)); !isNews {
		t.Error("what still holds a restart after a halt is not told")
	}
}

func TestAQueueThatIsEmptyAgainKeepsNoMemoryOfWhatItHeld(t *testing.T) {
	table := New()
	queue, backlogs := pending.NewChangeQueue(table.Changes()), NewBacklogs(table)
	before := objecttest.HeapInUse()
	for i := range 10_000 {
		workload := objecttest.WorkloadNamed(strconv.Itoa(i))
		queue.Observe(workload, workload, time.Now(), 0)
	}
	var taken []names.WorkloadRef
	for changes, _ := queue.TakeDue(time.Now(), time.Second); len(changes) > 0; changes, _ = queue.TakeDue(time.Now(), time.Second) {
		for _, change := range changes {
			backlogs.Note(change)
			taken = append(taken, change.Workload)
		}
	}
	for _, ref := range taken {
		backlogs.Settle(ref)
	}
	if kept := objecttest.HeapInUse() - before; kept > 64<<10 {
		t.Errorf("%d KiB are kept", kept>>10)
	}
	runtime.KeepAlive(queue)
	runtime.KeepAlive(backlogs)
}
