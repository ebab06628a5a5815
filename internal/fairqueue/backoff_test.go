package fairqueue

import (
	"testing"
	"testing/synctest"
	"time"
)

var testBackoff = Backoff{First: 10 * time.Millisecond, Longest: time.Minute}

// pauses fails an item so many times in a row, each attempt as long as given, and returns
// the pauses between them.
func pauses(q *Queue[string, string], attempts int, took time.Duration, failure Failure) (all []time.Duration) {
	q.Add("a/0", "")
	for range attempts {
		item, found := q.Get()
		if !found {
			panic("nothing is handed out")
		}
		time.Sleep(took)
		q.Retry(item, failure)
		q.Done(item)
		pause := time.Until(q.NextDue())
		all = append(all, pause)
		time.Sleep(pause)
	}
	return all
}

func TestPausesDoubleUpToTheLongest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := pauses(newTestQueue(1), 16, 0, Refused)
		expect(t, []time.Duration{10 * time.Millisecond, 20 * time.Millisecond, 40 * time.Millisecond}, got[:3])
		expect(t, []time.Duration{40960 * time.Millisecond, time.Minute, time.Minute, time.Minute}, got[12:])
	})
}

func TestAConnectionThatBreaksIsTriedAgainWithinASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, took := range []time.Duration{0, 45 * time.Second} { // as long as a dead connection may go unnoticed
			got := pauses(newTestQueue(1), 15, took, Unanswered)
			expect(t, []time.Duration{10 * time.Millisecond, 20 * time.Millisecond, 40 * time.Millisecond}, got[:3])
			expect(t, []time.Duration{time.Second, time.Second}, got[13:])
		}
	})
}

func TestPausesAreAsUsualWhileTheAPIServerAnswersNoRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newTestQueue(1)
		got := pauses(q, 24, 0, Unanswered)
		expect(t, []time.Duration{time.Second, time.Minute}, []time.Duration{got[awayAfter-1], got[awayAfter]})
		q.Add("b/0", "")
		item, _ := q.Get()
		q.Forget(item) // it is back
		q.Done(item)
		got = pauses(q, 1, 0, Unanswered)
		expect(t, []time.Duration{time.Second}, got)
	})
}

func TestRequestsThatHangAreRetriedLessAndLessOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const s = time.Second
		expect(t, []time.Duration{30 * s, 60 * s, 120 * s, 240 * s, 480 * s, 600 * s, 600 * s}, pauses(newTestQueue(1), 7, 30*s, Refused))
		expect(t, []time.Duration{2 * s, 4 * s, 8 * s, 16 * s, 32 * s, 60 * s, 60 * s}, pauses(newTestQueue(1), 7, 2*s, Refused))
		expect(t, []time.Duration{5 * s, 10 * s, 20 * s, 40 * s, 80 * s, 100 * s, 100 * s}, pauses(newTestQueue(1), 7, 5*s, Refused))
	})
}

// While an API server starts, it answers a first request late, and denies it. That is not the
// thirteenth failure of its kind.
func TestAttemptsWithoutAnAnswerDoNotLengthenThePausesAfterARefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newTestQueue(1)
		pauses(q, 12, 0, Unanswered)
		expect(t, []time.Duration{2 * time.Second}, pauses(q, 1, 2*time.Second, Refused))
		pauses(q, 12, 0, Unanswered)
		expect(t, []time.Duration{4 * time.Second}, pauses(q, 1, 0, Refused))

		q.Forget("a/0")
		pauses(q, 12, 0, Unanswered)
		expect(t, []time.Duration{10 * time.Millisecond, 20 * time.Millisecond}, pauses(q, 2, 0, Refused))
	})
}

func TestHowLongADeadConnectionWentUnnoticedDoesNotLengthenThePauseAfterARefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newTestQueue(1)
		pauses(q, 1, 45*time.Second, Unanswered)
		expect(t, []time.Duration{10 * time.Millisecond, 20 * time.Millisecond}, pauses(q, 2, 0, Refused))
	})
}

// One slow attempt after many quick ones is not the twelfth slow one.
func TestASlowAttemptAfterQuickOnesIsTheFirstSlowOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newTestQueue(1)
		pauses(q, 6, 0, Refused)
		expect(t, []time.Duration{3 * time.Second, 6 * time.Second}, pauses(q, 2, 3*time.Second, Refused))
	})
}

// The attempt that hung may be followed by one that reports it.
func TestAnAttemptThatHungCountsUntilTheNextSuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newTestQueue(1)
		q.Add("a/0", "")
		item, _ := q.Get()
		time.Sleep(30 * time.Second)
		q.Add(item, "")
		q.Done(item)
		expect(t, []time.Duration{30 * time.Second}, pauses(q, 1, 0, Refused))

		q.Get()
		time.Sleep(30 * time.Second)
		q.Forget("a/0")
		q.Add("a/0", "")
		q.Done("a/0")
		expect(t, []time.Duration{10 * time.Millisecond}, pauses(q, 1, 0, Refused))
	})
}

func TestProgressResetsTheBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newTestQueue(1)
		pauses(q, 10, 0, Refused)
		q.Forget("a/0")
		if failures := q.Failures("a/0"); failures != 0 {
			t.Errorf("%d failures", failures)
		}
		expect(t, []time.Duration{10 * time.Millisecond}, pauses(q, 1, 0, Refused))
	})
}
