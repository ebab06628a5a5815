package delivery_test

import (
	"testing"
	"time"

	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/delivery"
	"kubernetes-deployment-restart-controller/internal/podsight"
)

// atStep is the status of a restart that waits at a step.
var atStep = workload.Rollout{Wanted: 3, Updated: 1, Outdated: 2, Available: 3, Observed: true, Waits: true, Course: workload.RestartTakesSteps}

const day = 24 * 3600.0

func TestARestartThatWaitsAtAStepIsFollowedForAsLongAsPeopleWish(t *testing.T) {
	s := begin(true)
	s.workload.Rollout = atStep
	for seconds := 10.0; seconds < 3*day; seconds += 600 {
		s.require(t, seconds, delivery.Rolling, "")
		if until := s.restart.ExposedUntil(policy); until.Before(at(seconds)) {
			t.Fatalf("after %v s, it was exposed until %s", seconds, until)
		}
	}
	s.workload.Rollout = workload.Rollout{Wanted: 3, Updated: 3, Outdated: 1, Available: 3, Observed: true, Course: workload.RestartTakesSteps}
	s.require(t, 3*day, delivery.Rolling, "")
	s.require(t, 3*day+300, delivery.Rolling, "") // the deadline begins then
	s.workload.Rollout = whole
	s.require(t, 3*day+310, delivery.Rolling, "")
	s.require(t, 3*day+340, delivery.Delivered, "")
	if s.asked > 3 {
		t.Errorf("the pods were read %d times", s.asked)
	}
}

func TestOthersWaitForARestartAtAStepForOneDeadline(t *testing.T) {
	s := begin(true)
	s.workload.Rollout = atStep
	s.require(t, 10, delivery.Rolling, "")
	s.require(t, 310, delivery.Rolling, "")
	if s.restart.Stalls(policy, at(609)) || !s.restart.Stalls(policy, at(610)) || s.restart.HeldAtStep() != at(10) {
		t.Errorf("held since %s, stalls at 609 s: %t, at 610 s: %t", s.restart.HeldAtStep(), s.restart.Stalls(policy, at(609)), s.restart.Stalls(policy, at(610)))
	}
	s.workload.Rollout.Waits, s.workload.Rollout.Updated = false, 2
	s.require(t, 620, delivery.Rolling, "")
	if s.restart.Stalls(policy, at(700)) || !s.restart.HeldAtStep().IsZero() {
		t.Errorf("it goes on, and is held since %s", s.restart.HeldAtStep())
	}
}

func TestPodsThatComeAndGoAtAStepDoNotKeepOthersWaiting(t *testing.T) {
	s := begin(true)
	for seconds := 10.0; seconds < 610; seconds += 60 {
		s.workload.Rollout, s.condition = atStep, podsight.Fine
		s.require(t, seconds, delivery.Rolling, "")
		s.workload.Rollout.Available, s.workload.Rollout.Waits, s.condition = 2, false, podsight.Hanging
		s.require(t, seconds+30, delivery.Rolling, "")
	}
	if !s.restart.Stalls(policy, at(610)) {
		t.Errorf("held since %s", s.restart.HeldAtStep())
	}
}

func TestPodsThatBreakAtAStepAreAFailureAtOnce(t *testing.T) {
	s := begin(true)
	s.workload.Rollout = atStep
	s.require(t, day, delivery.Rolling, "")
	s.workload.Rollout.Available, s.workload.Rollout.Waits = 2, false
	s.condition, s.why = podsight.Broken, "CrashLoopBackOff"
	got := s.look(day + 10)
	if got.Verdict == delivery.Rolling && got.Again <= 15*time.Second {
		got = s.look(day + 10 + got.Again.Seconds())
	}
	if got.Verdict != delivery.Failed || got.Reason != "CrashLoopBackOff" {
		t.Errorf("judged as %+v", got)
	}
}

func TestARestartThatAPersonAbortsHasFailed(t *testing.T) {
	s := begin(true)
	s.workload.Rollout = atStep
	s.require(t, 10, delivery.Rolling, "")
	s.workload.Rollout.Waits, s.workload.Rollout.GaveUp, s.workload.Rollout.Course = false, true, workload.RestartAborted
	s.require(t, 20, delivery.Failed, "its controller has aborted the rollout")
}

func TestTheNextLeaderFollowsARestartThatWaitsAtAStep(t *testing.T) {
	for name, test := range map[string]struct {
		rollout workload.Rollout
		want    bool
	}{
		"waits":                {atStep, true},
		"takes the next step":  {workload.Rollout{Wanted: 3, Updated: 1, Outdated: 2, Available: 2, Observed: true, Course: workload.RestartTakesSteps}, true},
		"another rollout":      {begun, false},
		"a release that waits": {workload.Rollout{Wanted: 3, Updated: 1, Outdated: 2, Available: 3, Observed: true, Waits: true, Course: workload.ReleaseTakesSteps}, false},
	} {
		w := &workload.Workload{Object: workload.Object{Timestamp: noon.Format(time.RFC3339Nano), Rollout: test.rollout}, Record: record.Record{Trusted: true, Written: noon}}
		if began, isRolling := delivery.Resumes(w, policy, at(2*day)); isRolling != test.want || test.want && began != noon {
			t.Errorf("%s: began at %s, is rolling: %t", name, began, isRolling)
		}
	}
}
