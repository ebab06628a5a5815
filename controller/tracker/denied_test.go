package tracker

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"kubernetes-deployment-restart-controller/controller/failures"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/controller/objecttest"
	"kubernetes-deployment-restart-controller/controller/pending"
	"kubernetes-deployment-restart-controller/internal/status"
)

// A former leader may have been refused, too.
func TestARefusalOfWhatWaitedFirstMayHaveBegunBeforeThisLeader(t *testing.T) {
	now := time.Now()
	inherited := Backlog{IsInherited: true, putOffSince: now.Add(-time.Minute), Owed: now}
	inherited.fail(errors.New("refused"), now)
	if s := StandingOfBacklog(objecttest.AWeb, &inherited); s.State != status.Retrying || !s.Since.Equal(now) || !s.AtLeast {
		t.Errorf("%+v", s)
	}
}

func TestAHeldRefusalOfAFormerLeaderMayHaveBegunEarlier(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	held := Backlog{IsInherited: true, PutOff: gate.Hold, putOffSince: now.Add(-time.Minute)}
	held.fail(failures.OnlyRecord(failures.ErrNotMarked, errors.New("refused")), now)
	s := StandingOfBacklog(objecttest.AWeb, &held)
	const want = "refused (failing at least since 2026-05-01T12:00:00Z)"
	if got := s.LastError(); s.State != status.Held || !strings.HasSuffix(got, want) {
		t.Errorf("%v: %q, want %q", s.State, got, want)
	}
}

// Whoever alerts on late restarts wants to hear neither of holds nor of a slow start after a moment in which a webhook was down.
func TestARefusalOfLongAgoMakesNothingLate(t *testing.T) {
	for _, reason := range []gate.Reason{gate.Hold, gate.Window, gate.Wave, gate.SlowStart} {
		synctest.Test(t, func(t *testing.T) {
			b := NewBacklogs(New())
			b.Begin(time.Now())
			b.Note(pending.ObservedChange{Workload: objecttest.AWeb, Subject: objecttest.MapA, Since: time.Now(), Due: time.Now(), Count: 1})
			tried := func(isRefused bool) time.Duration {
				b.NoteDue(objecttest.AWeb, false, time.Now())
				if isRefused {
					b.NoteFailure(objecttest.AWeb, errors.New("refused"), false)
				}
				time.Sleep(10 * time.Second)
				return b.table.Load(time.Now()).Waits[objecttest.AWeb.Namespace]
			}
			tried(true)
			b.PutOff(objecttest.AWeb, nil, gate.Answer{Reason: reason}, time.Now())
			time.Sleep(5 * 24 * time.Hour)
			b.PutOff(objecttest.AWeb, nil, gate.Answer{Reason: gate.SlowStart}, time.Now())
			time.Sleep(time.Minute)
			if late := tried(false); late != 10*time.Second {
				t.Errorf("%s: after its turn it is late by %s", reason, late)
			}
			if late := tried(true); reason != gate.SlowStart && late != 20*time.Second || reason == gate.SlowStart && late < 24*time.Hour {
				t.Errorf("%s: refused again, it is late by %s", reason, late)
			}
		})
	}
}

// A new leader lets others go first, for a moment. That is no reason to mark a record, which is refused, too, and neither
// the refusal nor the wait begins with it.
func TestATurnAfterATakeoverDatesNothing(t *testing.T) {
	began := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	edited, now := began.Add(-time.Hour), began.Add(time.Second)
	takenOver := func() *Backlogs {
		b := NewBacklogs(New())
		b.Begin(began)
		b.Note(pending.ObservedChange{Workload: objecttest.AWeb, Subject: objecttest.MapA, Since: edited, Due: edited, Count: 1})
		b.Date(objecttest.AWeb, edited, time.Time{}, true, 0)
		return b
	}
	b := takenOver()
	if since, _ := b.PutOff(objecttest.AWeb, nil, gate.Answer{Reason: gate.SlowStart}, now); since.Before(began) {
		t.Errorf("this process puts it off since %s, before it led", since)
	}
	b.NoteDue(objecttest.AWeb, false, now.Add(time.Second))
	b.NoteFailure(objecttest.AWeb, errors.New("refused"), false)
	w := b.Of(objecttest.AWeb)
	if s := StandingOfBacklog(objecttest.AWeb, w); s.State != status.Retrying || !s.Since.Equal(edited) || !s.AtLeast {
		t.Errorf("%+v", s)
	}
	b.PutOff(objecttest.AWeb, nil, gate.Answer{Reason: gate.SlowStart}, now.Add(2*time.Second)) // another one has its turn again
	b.NoteDue(objecttest.AWeb, false, now.Add(3*time.Second))
	if waits := b.table.Load(began.Add(time.Minute)).Waits; waits[objecttest.AWeb.Namespace] != 61*time.Minute {
		t.Errorf("it waits %v, want since the edit", waits)
	}
	b.PutOff(objecttest.AWeb, nil, gate.Answer{Reason: gate.SlowStart}, began.Add(time.Hour))
	b.NoteDue(objecttest.AWeb, false, began.Add(time.Hour+time.Minute))
	b.NoteFailure(objecttest.AWeb, errors.New("refused"), false)
	if waits := b.table.Load(began.Add(2 * time.Hour)).Waits; waits[objecttest.AWeb.Namespace] != 3*time.Hour {
		t.Errorf("it waits %v, want since the edit also after a long turn of another one", waits)
	}
	for name, wait := range map[string]struct {
		reason gate.Reason
		until  time.Duration
	}{
		"what people held was not late":      {gate.Hold, time.Second},
		"what waited long for its turn, too": {gate.SlowStart, time.Minute},
	} {
		b := takenOver()
		b.PutOff(objecttest.AWeb, nil, gate.Answer{Reason: wait.reason}, now)
		due := now.Add(wait.until)
		b.NoteDue(objecttest.AWeb, false, due)
		if waits := b.table.Load(due.Add(time.Minute)).Waits; waits[objecttest.AWeb.Namespace] != time.Minute {
			t.Errorf("%s: %v", name, waits)
		}
	}
}
