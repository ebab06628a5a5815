package delivery_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/delivery"
	"kubernetes-deployment-restart-controller/internal/podsight"
)

var (
	noon   = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	policy = delivery.Policy{Soak: 30 * time.Second, Deadline: 10 * time.Minute}
	whole  = workload.Rollout{Wanted: 3, Updated: 3, Available: 3, Observed: true}
	begun  = workload.Rollout{Wanted: 3, Updated: 1, Outdated: 3, Available: 3, Observed: true}
)

func at(seconds float64) time.Time { return noon.Add(time.Duration(seconds * float64(time.Second))) }

// story is a restart of a workload that began at noon.
type story struct {
	workload  workload.Workload
	restart   *delivery.Restart
	condition podsight.Condition
	why       string
	isLeaving bool
	missing   string
	tally     podsight.Tally
	asked     int
}

func begin(wasWhole bool) *story {
	s := &story{workload: workload.Workload{Object: workload.Object{Timestamp: noon.Format(time.RFC3339Nano), Rollout: begun}}}
	s.restart = delivery.Begin(&s.workload, ranIf(wasWhole), noon)
	return s
}

// ranIf returns how many pods ran before: all or none.
func ranIf(all bool) record.Ran {
	if all {
		return record.AllRan
	}
	return 0
}

// look judges at a time, with the pods if necessary.
func (s *story) look(seconds float64) delivery.Judgement {
	got := s.restart.Look(&s.workload, policy, at(seconds))
	if got.Verdict == delivery.AskPods {
		s.asked++
		seen := podsight.Sight{Condition: s.condition, Reason: s.why, IsLeaving: s.isLeaving, Tally: s.tally}
		if s.tally.Down == 0 && (s.condition == podsight.Hanging || s.condition == podsight.Broken) {
			seen.Down = 1
		}
		if s.condition == podsight.Broken && seen.Broken == 0 {
			seen.Broken = seen.Down
		}
		got = s.restart.LookAtPods(&s.workload, policy, seen, s.missing, at(seconds))
	}
	return got
}

func (s *story) require(t *testing.T, seconds float64, want delivery.Verdict, reason string) {
	t.Helper()
	got := s.look(seconds)
	if got.Verdict != want || reason != "" && got.Reason != reason {
		t.Errorf("after %v s: %+v, want %s %q", seconds, got, want, reason)
	}
	if isFinal := want != delivery.Rolling; isFinal != (got.Again == 0) || got.Again < 0 {
		t.Errorf("after %v s: another look in %s", seconds, got.Again)
	}
}

func TestARestartIsDeliveredWhenAllPodsRanForLongEnough(t *testing.T) {
	s := begin(true)
	s.require(t, 1, delivery.Rolling, "")
	s.workload.Rollout = whole
	s.require(t, 10, delivery.Rolling, "")
	s.require(t, 39, delivery.Rolling, "")
	if s.asked > 0 {
		t.Errorf("the pods were read %d times, want only at the end", s.asked)
	}
	s.require(t, 40, delivery.Delivered, "")
	if s.asked != 1 {
		t.Errorf("the pods were read %d times, want once", s.asked)
	}
}

func TestTheSoakBeginsAnewWhenAPodIsMissing(t *testing.T) {
	s := begin(true)
	s.workload.Rollout = whole
	s.require(t, 10, delivery.Rolling, "")
	s.workload.Rollout.Available = 2
	s.require(t, 30, delivery.Rolling, "")
	s.workload.Rollout = whole
	s.require(t, 35, delivery.Rolling, "")
	s.require(t, 64, delivery.Rolling, "")
	s.require(t, 65, delivery.Delivered, "")
}

func TestPodsThatAreUnreadyNowAndThenAreNoFailure(t *testing.T) {
	s := begin(true)
	seconds := 1.0
	for ; seconds < 3600; seconds += 40 {
		s.workload.Rollout, s.condition = whole, podsight.Fine
		s.require(t, seconds, delivery.Rolling, "")
		s.workload.Rollout.Available, s.condition = 2, podsight.Hanging
		s.require(t, seconds+20, delivery.Rolling, "")
	}
	s.condition = podsight.Blocked
	s.require(t, seconds+20, delivery.Neutral, "")
}

func TestAWorkloadStaysExposedWhoeverRestartsIt(t *testing.T) {
	for name, change := range map[string]func(*workload.Workload){
		"its restart is undone":          func(w *workload.Workload) { w.Timestamp = "" },
		"its pod template is another":    func(w *workload.Workload) { w.Template = record.Fingerprint{1} },
		"somebody else has restarted it": func(w *workload.Workload) { w.Timestamp = at(5).Format(time.RFC3339Nano) },
	} {
		t.Run(name, func(t *testing.T) {
			changed := func() *story {
				s := begin(true)
				s.look(1)
				change(&s.workload)
				s.require(t, 5, delivery.Rolling, "")
				if s.asked != 1 {
					t.Errorf("the pods were read %d times, want at once", s.asked)
				}
				return s
			}
			crashes := changed()
			crashes.condition, crashes.why = podsight.Broken, "CrashLoopBackOff"
			crashes.require(t, 20, delivery.Failed, "CrashLoopBackOff")

			runs := changed()
			runs.workload.Rollout = whole
			runs.require(t, 10, delivery.Rolling, "")
			runs.require(t, 40, delivery.Rolling, "") // they may be those from before
			runs.tally.Ran = 3
			runs.require(t, 70, delivery.Delivered, "")

			undone := changed()
			undone.workload.Rollout = whole
			undone.require(t, 10, delivery.Rolling, "")
			undone.require(t, 609, delivery.Rolling, "")
			if got, want := undone.restart.ExposedUntil(policy), at(610); !got.Equal(want) {
				t.Errorf("exposed until %s, want %s", got, want)
			}
			undone.require(t, 615, delivery.Neutral, "others have undone it: pods run that started before it")

			again := changed()
			for seconds := 100.0; seconds < 1200; seconds += 100 {
				again.workload.Timestamp = at(seconds).Format(time.RFC3339Nano)
				again.require(t, seconds, delivery.Rolling, "")
			}
			again.require(t, 1300, delivery.Neutral, "")
		})
	}
}

func TestAnotherRestartGoesOnWithTheExposure(t *testing.T) {
	s := begin(true)
	s.look(1)
	s.workload.Timestamp = ""
	s.look(2)
	next := delivery.Begin(&s.workload, record.AllRan, at(300))
	next.Continue(s.restart)
	if next.HasOthers || !next.Since.Equal(noon) {
		t.Errorf("%+v", next)
	}
	for seconds := 310.0; seconds < 1100; seconds += 100 { // as somebody undoes that, too, again and again
		s.workload.Timestamp = at(seconds).Format(time.RFC3339Nano)
		next.Look(&s.workload, policy, at(seconds))
	}
	if until, want := next.ExposedUntil(policy), at(2+1200); !until.Equal(want) {
		t.Errorf("exposed until %s, want %s", until, want)
	}
}

// The watch shows our next restart before its answer is there.
func TestOurNextRestartIsNotThatOfOthers(t *testing.T) {
	s := begin(true)
	s.look(1)
	s.workload.Timestamp = at(5).Format(time.RFC3339Nano)
	s.workload.Record.Trusted, s.workload.Record.WithRestart = true, true
	if s.look(6); s.restart.HasOthers {
		t.Error("it is")
	}
}

// It comes further all the time, but others have changed its template.
func TestARolloutThatComesFurtherIsNoFailureWhenItsTimeIsUp(t *testing.T) {
	s := begin(true)
	s.look(1)
	s.workload.Template, s.condition = record.Fingerprint{1}, podsight.Hanging
	for step := int32(1); ; step++ {
		s.workload.Rollout = workload.Rollout{Wanted: 60, Updated: step, Outdated: 60 - step, Available: 59, Observed: true}
		s.look(60 * float64(step))
		if got := s.look(60*float64(step) + 20); got.Verdict == delivery.Neutral {
			break
		} else if got.Verdict != delivery.Rolling || step > 30 {
			t.Fatalf("after %d minutes: %+v", step, got)
		}
	}
}

// Somebody restarts a workload by hand whose rollout has taken long.
func TestARestartByHandIsGivenADeadlineOfItsOwn(t *testing.T) {
	s := begin(true)
	for step := int32(1); step <= 25; step++ {
		s.workload.Rollout = workload.Rollout{Wanted: 30, Updated: step, Outdated: 30 - step, Available: 29, Observed: true}
		s.require(t, 60*float64(step), delivery.Rolling, "")
	}
	s.workload.Template, s.condition = record.Fingerprint{1}, podsight.Hanging
	s.require(t, 1505, delivery.Rolling, "")
	s.require(t, 1600, delivery.Rolling, "")
	s.require(t, 2106, delivery.Failed, "")
}

func TestARestartWhoseStatusIsThatOfBeforeIsNotDelivered(t *testing.T) {
	s := begin(true)
	s.workload.Rollout = whole
	s.workload.Rollout.Observed = false
	s.require(t, 40, delivery.Rolling, "")
}

func TestARestartFails(t *testing.T) {
	for name, test := range map[string]struct {
		play      func(s *story)
		condition podsight.Condition
		why       string
		seconds   float64
		want      string
	}{
		"a pod crashes while the rollout stalls": {
			func(*story) {}, podsight.Broken, "CrashLoopBackOff", 20, "CrashLoopBackOff"},
		"a pod crashed in the soak time": {
			func(s *story) { s.workload.Rollout = whole; s.look(2) }, podsight.Broken, "it restarts again and again", 32, "it restarts again and again"},
		"its controller gave up": {
			func(s *story) { s.workload.Rollout.GaveUp = true }, podsight.Hanging, "it hangs", 3, "the rollout exceeded its progress deadline: it hangs"},
		"its controller aborted the rollout": {
			func(s *story) { s.workload.Rollout.GaveUp, s.workload.Rollout.Course = true, workload.Aborted }, podsight.Fine, "", 3, "its controller has aborted the rollout"},
		"its controller took back pods that alone show it": {
			func(s *story) {
				s.workload.Ref.Kind = "deploymentconfigs.v1.apps.openshift.io"
				s.workload.Rollout = workload.Rollout{ByPods: true, Wanted: 3, Outdated: 3, Available: 3, GaveUp: true, Course: workload.Aborted}
			}, podsight.Fine, "", 3, "its controller has aborted the rollout"},
		"no progress": {
			func(*story) {}, podsight.Hanging, "it hangs", 601, "no progress for 10m0s: it hangs"},
		"no progress, because of a key that is missing": {
			func(s *story) { s.missing = "a key is missing" }, podsight.Unstarted, "it waits", 601, "no progress for 10m0s: a key is missing"},
		"no progress for a longer deadline of its own": {
			func(s *story) { s.workload.Rollout.Deadline = 900; s.look(2) }, podsight.Hanging, "it hangs", 902, "no progress for 15m0s: it hangs"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, wasWhole := range []bool{true, false} {
				s := begin(wasWhole)
				s.look(1)
				test.play(s)
				s.condition, s.why = test.condition, test.why
				if wasWhole {
					s.require(t, test.seconds, delivery.Failed, test.want)
				} else {
					s.require(t, test.seconds, delivery.Neutral, test.want+"; but pods were missing before")
				}
			}
		})
	}
}

func TestALongerDeadlineOfTheWorkloadIsWaitedFor(t *testing.T) {
	s := begin(true)
	s.workload.Rollout.Deadline = 900
	s.look(1)
	s.condition = podsight.Hanging
	s.require(t, 890, delivery.Rolling, "")
}

// The largest deadline means that there is none. Nobody else restarts for the content meanwhile.
func TestOnlyContainersThatHaveStartedMayTakeLonger(t *testing.T) {
	for _, condition := range []podsight.Condition{podsight.Unstarted, podsight.Blocked, podsight.Hanging} {
		s := begin(true)
		s.workload.Rollout.Deadline = math.MaxInt32
		s.look(1)
		s.condition = condition
		want := delivery.Neutral
		if condition == podsight.Hanging {
			want = delivery.Failed
		}
		if got := s.look(601); got.Verdict != want {
			t.Errorf("condition %d: %+v", condition, got)
		}
	}
}

func TestWhatSaysNothingAboutTheContentIsNeutral(t *testing.T) {
	for want, change := range map[string]func(*workload.Workload){
		"its pods do not restart by themselves": func(w *workload.Workload) { w.Hold = workload.Paused },
		"it wants no pods":                      func(w *workload.Workload) { w.Idle = true },
		"it is being deleted":                   func(w *workload.Workload) { w.Deleting = true },
	} {
		s := begin(true)
		change(&s.workload)
		if got := s.look(1); got.Verdict != delivery.Away || got.Reason != want || got.Again != 599*time.Second {
			t.Errorf("%+v", got)
		}
		s.require(t, 600, delivery.Neutral, want)
		s = begin(false)
		change(&s.workload)
		s.require(t, 1, delivery.Neutral, want)
	}
}

func TestAWorkloadThatComesBackIsJudged(t *testing.T) {
	s := begin(true)
	s.workload.Idle = true
	s.look(5)
	s.workload.Idle, s.condition, s.why = false, podsight.Broken, "CrashLoopBackOff"
	s.require(t, 30, delivery.Rolling, "")
	s.require(t, 45, delivery.Failed, "CrashLoopBackOff")
}

func TestAPodThatCannotRunIsWaitedForAndThenNeutral(t *testing.T) {
	s := begin(true)
	s.condition, s.why = podsight.Blocked, "Unschedulable"
	s.require(t, 100, delivery.Rolling, "")
	s.require(t, 701, delivery.Neutral, "a pod cannot run: Unschedulable")
}

// Only a container that has started can have read a config.
func TestARestartOfWhichNoContainerHasStartedIsNoFailure(t *testing.T) {
	for name, test := range map[string]struct {
		play      func(s *story)
		condition podsight.Condition
		want      string
	}{
		"its volume is attached elsewhere":   {func(*story) {}, podsight.Unstarted, "no progress for 10m0s: it waits"},
		"nothing is seen":                    {func(*story) {}, podsight.Fine, "no progress for 10m0s, but no pod shows a failure"},
		"its controller does nothing":        {func(s *story) { s.workload.Rollout.Observed = false }, podsight.Fine, "its controller has not begun the rollout for 10m0s, but no pod shows a failure"},
		"its controller gave up the rollout": {func(s *story) { s.workload.Rollout.GaveUp = true }, podsight.Unstarted, "the rollout exceeded its progress deadline: it waits"},
	} {
		t.Run(name, func(t *testing.T) {
			s := begin(true)
			test.play(s)
			s.look(0)
			s.condition, s.why = test.condition, "it waits"
			s.require(t, 601, delivery.Neutral, test.want)
		})
	}
}

// The strategy Recreate makes new pods only when all earlier ones are gone, which may take longer than the deadline.
func TestARestartGoesOnWhileEarlierPodsTerminate(t *testing.T) {
	s := begin(true)
	s.look(1)
	s.isLeaving, s.workload.Rollout.GaveUp = true, true
	s.require(t, 601, delivery.Rolling, "")
	s.condition = podsight.Blocked // it has no room yet
	s.require(t, 3000, delivery.Rolling, "")
	s.isLeaving, s.condition = false, podsight.Fine
	s.workload.Rollout = whole
	s.require(t, 3010, delivery.Rolling, "")
	s.require(t, 3040, delivery.Delivered, "")

	s = begin(true)
	s.look(1)
	s.isLeaving, s.condition = true, podsight.Hanging
	s.require(t, 602, delivery.Failed, "")
	s = begin(true)
	s.look(1)
	s.isLeaving, s.condition = true, podsight.Broken
	s.require(t, 20, delivery.Failed, "")
}

func TestPodsAreReadLessAndLessOftenWithoutProgress(t *testing.T) {
	s := begin(true)
	for seconds := 0.0; seconds < 600; seconds++ {
		s.require(t, seconds, delivery.Rolling, "")
	}
	if s.asked < 4 || s.asked > 6 {
		t.Errorf("the pods were read %d times in ten minutes", s.asked)
	}
	s.workload.Rollout.Updated = 2
	s.require(t, 600, delivery.Rolling, "")
	s.condition = podsight.Broken
	s.require(t, 614, delivery.Rolling, "")
	s.require(t, 615, delivery.Failed, "")
}

func TestAnotherProcessFollowsARestartThatMayBeUnderWay(t *testing.T) {
	for name, test := range map[string]struct {
		timestamp string
		rollout   workload.Rollout
		now       float64
		want      bool
	}{
		"rolling":                 {at(0).Format(time.RFC3339Nano), begun, 300, true},
		"complete since a moment": {at(0).Format(time.RFC3339Nano), whole, 20, true},
		"complete":                {at(0).Format(time.RFC3339Nano), whole, 31, false},
		"stuck during a takeover": {at(0).Format(time.RFC3339Nano), begun, 659, true},
		"long ago":                {at(0).Format(time.RFC3339Nano), begun, 661, false},
		"by a clock ahead":        {at(300).Format(time.RFC3339Nano), begun, 0, true},
		"in the far future":       {at(661).Format(time.RFC3339Nano), begun, 0, false},
		"never":                   {"", begun, 5, false},
		"not a time":              {"now", begun, 5, false},
	} {
		w := workload.Workload{Object: workload.Object{Timestamp: test.timestamp, Rollout: test.rollout}, Record: record.Record{Trusted: true}}
		began, got := delivery.Resumes(&w, policy, at(test.now))
		if got != test.want || got && !began.Equal(noon) {
			t.Errorf("%s: %t since %v", name, got, began)
		}
	}
}

func TestARestartThatIsNotOfTheRecordIsNotFollowedByAnotherProcess(t *testing.T) {
	for name, change := range map[string]func(*workload.Workload){
		"a release followed":           func(w *workload.Workload) { w.Record.Trusted = false },
		"it was reverted":              func(w *workload.Workload) { w.Record.Reverted = &record.Revert{} },
		"it was complete at some time": func(w *workload.Workload) { w.Rollout.Completed = true },
	} {
		w := workload.Workload{Object: workload.Object{Timestamp: noon.Format(time.RFC3339Nano), Rollout: begun}, Record: record.Record{Trusted: true}}
		change(&w)
		if _, got := delivery.Resumes(&w, policy, at(120)); got {
			t.Errorf("%s: it is followed", name)
		}
	}
}

// The pods ran for a moment before they crashed, and the former leader did not live to see it.
func TestARestartThatBreaksAroundATakeoverIsFollowed(t *testing.T) {
	broken := workload.Rollout{Wanted: 3, Updated: 3, Observed: true, Completed: true}
	w := workload.Workload{Object: workload.Object{Timestamp: noon.Format(time.RFC3339Nano), Rollout: broken}, Record: record.Record{Trusted: true}}
	if _, got := delivery.Resumes(&w, policy, at(policy.Soak.Seconds()+59)); !got {
		t.Error("it is not")
	}
	if _, got := delivery.Resumes(&w, policy, at(policy.Soak.Seconds()+60)); got {
		t.Error("it is, long after it was complete")
	}
}

func TestPodsThatComeAndGoAreNoProgress(t *testing.T) {
	s := begin(true)
	s.workload.Rollout.Available = 2
	for seconds := 0.0; seconds < 600; seconds += 5 {
		s.workload.Rollout.Available = int32(seconds/5) % 3
		s.require(t, seconds, delivery.Rolling, "")
	}
	if s.asked < 4 || s.asked > 8 {
		t.Errorf("the pods were read %d times in ten minutes", s.asked)
	}
	s.condition = podsight.Hanging
	s.require(t, 620, delivery.Failed, "")
}

func TestPodsThatCannotBeCreatedSayNothingAboutTheContent(t *testing.T) {
	s := begin(true)
	s.workload.Rollout.GaveUp, s.workload.Rollout.CannotCreate = true, true
	s.require(t, 3, delivery.Neutral, "pods cannot be created")
}

// Whatever statuses follow each other, a restart is only delivered after it was complete for the
// soak time, only fails if all pods ran before, and is over at some time.
func TestARestartIsOverAtSomeTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := begin(rapid.Bool().Draw(t, "was whole"))
		now, wholeSince := 0.0, -1.0
		count := rapid.Int32Range(0, 3)
		for step := range 400 {
			if step < 20 && rapid.Bool().Draw(t, "another status") {
				s.workload.Rollout = workload.Rollout{
					Wanted: 3, Updated: count.Draw(t, "updated"), Outdated: count.Draw(t, "outdated"), Available: count.Draw(t, "available"),
					Observed: rapid.Bool().Draw(t, "observed"), GaveUp: rapid.Bool().Draw(t, "gave up"),
				}
				s.condition = rapid.SampledFrom([]podsight.Condition{podsight.Fine, podsight.Unstarted, podsight.Hanging, podsight.Blocked, podsight.Broken}).Draw(t, "condition")
			}
			if !s.workload.Rollout.IsWhole() {
				wholeSince = -1
			} else if wholeSince < 0 {
				wholeSince = now
			}
			got := s.look(now)
			switch {
			case got.Verdict == delivery.Rolling && got.Again <= 0:
				t.Fatalf("rolling without another look: %+v", got)
			case got.Verdict == delivery.Rolling:
				now += min(got.Again.Seconds(), 1+float64(step))
				continue
			case got.Verdict == delivery.Delivered && (wholeSince < 0 || now-wholeSince < 30):
				t.Fatalf("delivered at %v, complete since %v", now, wholeSince)
			case got.Verdict == delivery.Failed && s.restart.Ran == 0:
				t.Fatalf("failed, though pods were missing before: %+v", got)
			case got.Verdict == delivery.AskPods:
				t.Fatal("asks for the pods twice")
			}
			return
		}
		t.Fatal("it is not over")
	})
}

func TestThatAnEarlierRolloutWasAbortedSaysNothing(t *testing.T) {
	s := begin(true)
	s.workload.Rollout = workload.Rollout{ByPods: true, Wanted: 3, Outdated: 3, Available: 3, GaveUp: true, Course: workload.Aborted}
	s.require(t, 3, delivery.Rolling, "")
	s.workload.Rollout.GaveUp, s.workload.Rollout.Course = false, workload.RollsOut // its controller begins
	s.workload.Rollout.Updated, s.workload.Rollout.Observed = 1, true
	s.require(t, 4, delivery.Rolling, "")
}
