package delivery_test

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/delivery"
	"kubernetes-deployment-restart-controller/internal/podsight"
)

// Restarts of workloads of which some pods ran, and some were missing.

// lacking is a restart of a Deployment of which so many pods were missing, and its first status.
func lacking(missing int32, rollout workload.Rollout) *story {
	s := begin(true)
	s.workload.Ref.Kind, s.workload.Rollout = names.Deployment, rollout
	s.restart = delivery.Begin(&s.workload, record.AllBut(missing), noon)
	s.look(1)
	return s
}

// crash makes pods crash from now on.
func (s *story) crash(tally podsight.Tally) {
	s.condition, s.why, s.tally = podsight.Broken, "CrashLoopBackOff", tally
}

func rollout(wanted, updated, outdated, available int32) workload.Rollout {
	return workload.Rollout{Wanted: wanted, Updated: updated, Outdated: outdated, Available: available, Observed: true}
}

func TestARestartOfAWorkloadThatLacksPodsIsJudgedByThoseThatRan(t *testing.T) {
	for name, test := range map[string]struct {
		missing int32
		rollout workload.Rollout
		tally   podsight.Tally   // one of which crashes if any is down
		soon    delivery.Verdict // after the soak time
		late    delivery.Verdict // at the deadline
	}{
		"as many run": {1, rollout(3, 3, 0, 2), podsight.Tally{Broken: 1, Down: 1, Ready: 2, Ran: 2}, delivery.Delivered, ""},
		"more crash":  {1, rollout(3, 2, 1, 2), podsight.Tally{Broken: 2, Down: 2}, delivery.Failed, ""},
		"more crash though the rollout looks done":       {1, rollout(3, 3, 0, 2), podsight.Tally{Broken: 2, Down: 2, Ready: 1}, delivery.Failed, ""},
		"others start beside the one that crashed":       {1, rollout(10, 5, 8, 8), podsight.Tally{Broken: 1, Down: 5}, delivery.Rolling, delivery.Failed},
		"it is the first of all":                         {1, rollout(3, 1, 2, 2), podsight.Tally{Broken: 1, Down: 1}, delivery.Rolling, delivery.Neutral},
		"it is another one, beside the one that crashed": {1, rollout(3, 1, 3, 2), podsight.Tally{Broken: 1, Down: 1}, delivery.Rolling, delivery.Failed},
		"another one crashes beside a dead node":         {1, rollout(5, 2, 3, 3), podsight.Tally{Broken: 1, Down: 1, Ready: 1}, delivery.Rolling, delivery.Failed},
		"as many run only now":                           {1, rollout(3, 3, 0, 2), podsight.Tally{Broken: 1, Down: 1, Ready: 2}, delivery.Rolling, ""},
		"as many run beside a dead node":                 {1, rollout(5, 4, 1, 4), podsight.Tally{Ready: 4, Ran: 4}, delivery.Rolling, delivery.Delivered},
		"as many are ready only now":                     {1, rollout(5, 4, 1, 4), podsight.Tally{Ready: 4}, delivery.Rolling, delivery.Neutral},
	} {
		t.Run(name, func(t *testing.T) {
			s := lacking(test.missing, test.rollout)
			if s.tally = test.tally; s.tally.Down > 0 {
				s.crash(test.tally)
			}
			s.require(t, 31.5, test.soon, "")
			if test.late != "" {
				s.require(t, 602, test.late, "")
			}
		})
	}
}

func TestPodsThatAreBackHideNoFailure(t *testing.T) {
	for name, test := range map[string]struct {
		missing    int32
		then       workload.Rollout
		broken, up int32
	}{
		"a drained one":                      {1, rollout(3, 1, 3, 3), 1, 0},
		"those that an autoscaler has added": {7, rollout(10, 5, 8, 8), 5, 0},
		"none, but more are wanted":          {1, rollout(60, 11, 49, 49), 11, 0},
		"none, but ours count as wanted":     {1, rollout(4, 1, 3, 2), 1, 0},
		"none, and others crash":             {1, rollout(10, 10, 0, 2), 8, 2},
	} {
		t.Run(name, func(t *testing.T) {
			s := lacking(test.missing, rollout(test.then.Wanted, 0, test.then.Wanted, test.then.Wanted-test.missing))
			s.workload.Rollout = test.then
			s.crash(podsight.Tally{Broken: test.broken, Down: test.broken, Ready: test.up})
			for seconds := 5.0; seconds < 700; seconds += 15 {
				if got := s.look(seconds); got.Verdict == delivery.Failed {
					return
				} else if got.Again == 0 {
					t.Fatalf("after %v s: %+v", seconds, got)
				}
			}
			t.Error("it is still followed")
		})
	}
}

func TestAnotherRestartThatStopsAtTheKnownPodIsNoFailure(t *testing.T) {
	s := lacking(1, rollout(10, 5, 5, 9))
	s.workload.Timestamp, s.workload.Rollout = at(20).Format(time.RFC3339Nano), rollout(10, 1, 9, 9)
	s.crash(podsight.Tally{Broken: 1, Down: 1, Ready: 5, Ran: 5})
	s.require(t, 21, delivery.Rolling, "")
	s.require(t, 640, delivery.Neutral, "")
}

func TestAPodWithoutANodeHidesNoOthersThatHang(t *testing.T) {
	s := lacking(1, rollout(3, 3, 0, 0))
	s.condition, s.why, s.tally = podsight.Blocked, "Unschedulable", podsight.Tally{Down: 2}
	s.require(t, 17, delivery.Rolling, "")
	s.require(t, 602, delivery.Failed, "no progress for 10m0s: 2 pods are down, more than were missing before")
}

func TestTheOwnDeadlineCountsBesideAPodThatAlwaysCrashes(t *testing.T) {
	s := lacking(1, rollout(10, 2, 8, 8))
	s.workload.Rollout.Deadline = 3600
	s.crash(podsight.Tally{Broken: 1, Down: 2})
	s.require(t, 602, delivery.Rolling, "")
}

func TestTheEvictedPodThatWasUnreadyBeforeIsNoFailure(t *testing.T) {
	status := rollout(3, 3, 0, 2)
	s := &story{workload: *evicting(delivery.Evicting(evicting(status), 3))}
	s.restart = delivery.Begin(&s.workload, status.Ran(), noon)
	s.look(1)
	s.workload.Rollout = delivery.Evicting(evicting(status), 2) // it went first
	s.look(5)
	s.crash(podsight.Tally{Broken: 1, Down: 1})
	s.require(t, 60, delivery.Rolling, "")
	s.require(t, 606, delivery.Neutral, "")
}

// An unrelated node goes.
func TestThePodThatCrashedBeforeMayCrashThoughFewerAreWanted(t *testing.T) {
	s := lacking(1, rollout(50, 2, 48, 49))
	s.crash(podsight.Tally{Broken: 1, Down: 1, Ready: 10})
	s.workload.Rollout = rollout(49, 11, 38, 48)
	s.require(t, 120, delivery.Rolling, "")
	s.require(t, 136, delivery.Rolling, "")
	s.workload.Rollout, s.tally = rollout(49, 49, 0, 48), podsight.Tally{Broken: 1, Down: 1, Ready: 48, Ran: 48}
	s.require(t, 140, delivery.Rolling, "")
	s.require(t, 171, delivery.Delivered, "")
}

func TestNewPodsMustRunForTheSoakThoughAsManyEarlierOnesDo(t *testing.T) {
	for name, after := range map[string]workload.Rollout{"an earlier one is left": rollout(2, 1, 1, 2), "none is left": rollout(2, 2, 0, 1)} {
		t.Run(name, func(t *testing.T) {
			s := lacking(1, rollout(2, 1, 1, 1)) // the earlier one
			if s.restart.IsWhole() {
				t.Error("its place is free, and later waves begin")
			}
			s.condition, s.why, s.tally = podsight.Hanging, "it starts", podsight.Tally{Down: 1}
			s.require(t, 31, delivery.Rolling, "")
			s.workload.Rollout, s.condition, s.tally = after, podsight.Fine, podsight.Tally{Ready: 1}
			s.require(t, 40, delivery.Rolling, "")
		})
	}
}

func TestAFailureOfAWorkloadThatLacksPodsEndsWhenAsManyRun(t *testing.T) {
	for name, test := range map[string]struct {
		then  workload.Rollout
		tally podsight.Tally
		want  delivery.Verdict
	}{
		"as many run":               {rollout(3, 3, 0, 1), podsight.Tally{Ready: 1, Ran: 1}, delivery.Delivered},
		"all run in place":          {rollout(3, 3, 0, 3), podsight.Tally{Broken: 3, Down: 3, Ready: 3, Ran: 3}, delivery.Delivered},
		"they crash in turns":       {rollout(3, 3, 0, 1), podsight.Tally{Broken: 3, Down: 3}, delivery.Rolling},
		"an earlier one runs still": {rollout(3, 2, 1, 1), podsight.Tally{Down: 2}, delivery.Rolling},
	} {
		t.Run(name, func(t *testing.T) {
			s := lacking(2, rollout(3, 3, 0, 1))
			s.crash(podsight.Tally{Broken: 3, Down: 3})
			s.require(t, 31.5, delivery.Failed, "")
			s.restart.Fail(&s.workload)
			s.workload.Rollout = test.then
			if got := s.restart.LookAfterFailure(&s.workload, policy, at(100)); got.Verdict != delivery.Rolling {
				t.Fatalf("at once: %+v", got)
			}
			got := s.restart.LookAfterFailure(&s.workload, policy, at(140))
			if got.Verdict == delivery.AskPods {
				got = s.restart.LookAtPodsAfterFailure(&s.workload, policy, podsight.Sight{Tally: test.tally}, at(140))
			}
			if got.Verdict != test.want {
				t.Errorf("%+v, want %s", got, test.want)
			}
		})
	}
}

// partitioned is the rollout of a StatefulSet.
func partitioned(replicas, partition, updated, available int32) workload.Rollout {
	return workload.PartsOfStatefulSet(&appsv1.StatefulSet{
		Spec: appsv1.StatefulSetSpec{Replicas: &replicas, UpdateStrategy: appsv1.StatefulSetUpdateStrategy{
			Type: appsv1.RollingUpdateStatefulSetStrategyType, RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: &partition},
		}},
		Status: appsv1.StatefulSetStatus{Replicas: replicas, UpdatedReplicas: updated, AvailableReplicas: available, CurrentRevision: "a", UpdateRevision: "b"},
	}).Rollout
}

func TestPodsBelowAPartitionProveNothing(t *testing.T) {
	if ran := partitioned(5, 4, 0, 4).Ran(); ran != 0 { // the only one that restarts was down
		t.Errorf("%d", ran)
	}
	s := lacking(0, partitioned(5, 4, 1, 4))
	s.crash(podsight.Tally{Broken: 1, Down: 1})
	if got := s.look(32); got.Verdict == delivery.Delivered {
		t.Errorf("%+v", got)
	}
}

func TestThePodsFromAPartitionUpAreEnoughIfOthersRestartThem(t *testing.T) {
	s := lacking(0, partitioned(6, 3, 3, 6))
	s.workload.Timestamp = at(20).Format(time.RFC3339Nano)
	s.require(t, 20, delivery.Rolling, "")
	s.tally = podsight.Tally{Ready: 3, Ran: 3}
	s.require(t, 60, delivery.Delivered, "")
}

// Each pod takes four minutes until it is ready.
func TestALoweredPartitionIsNoStall(t *testing.T) {
	s := lacking(0, partitioned(6, 3, 0, 6))
	s.workload.Rollout = partitioned(6, 3, 3, 6)
	s.require(t, 720, delivery.Rolling, "")
	s.condition, s.why = podsight.Hanging, "it has started and is not ready"
	for i := range int32(3) {
		s.workload.Rollout, s.tally = partitioned(6, 0, 4+i, 5), podsight.Tally{Ready: 3 + i, Down: 1}
		for seconds := 730 + 240*float64(i); seconds < 970+240*float64(i); seconds += 15 {
			s.require(t, seconds, delivery.Rolling, "")
		}
	}
}

func TestAPodThatLeavesDoesNotKeepTheSlotForEver(t *testing.T) {
	s := lacking(0, rollout(3, 2, 1, 1))
	s.isLeaving = true
	for hours := 1; s.look(float64(hours)*3600).Again > 0; hours++ {
		if hours > 10 {
			t.Fatal("it is still followed")
		}
	}
}

func TestTheHealthyPathCountsNoPods(t *testing.T) {
	if s := lacking(0, rollout(3, 1, 2, 3)); s.restart.Traces(policy, nil).Counts {
		t.Error("it needs another list")
	}
}

// Two of three pods ran, and the third one cannot be created, for a quota or because a StatefulSet waits for another one. Now one
// of the two that exist does not run with the content.
func TestAPodThatDoesNotExistIsNotTheOneThatIsDown(t *testing.T) {
	s := lacking(1, rollout(3, 0, 2, 2))
	s.workload.Rollout = rollout(3, 1, 1, 1)
	s.look(2)
	s.crash(podsight.Tally{Broken: 1, Down: 1})
	s.require(t, 31.5, delivery.Rolling, "")
	s.require(t, 640, delivery.Failed, "")
}

// One of three pods crashed before, for a reason of its own. During the restart, an autoscaler wants five, and the quota allows three.
func TestAPodThatWasNeverThereIsNoFailure(t *testing.T) {
	s := lacking(1, rollout(3, 0, 3, 2))
	s.workload.Rollout = rollout(3, 1, 2, 2)
	s.look(2)
	s.crash(podsight.Tally{Broken: 1, Down: 1})
	s.workload.Rollout = rollout(5, 1, 2, 2)
	s.workload.Rollout.CannotCreate = true
	s.require(t, 31.5, delivery.Rolling, "")
	s.require(t, 640, delivery.Neutral, "")
}

// A StatefulSet (OrderedReady) of three pods, of which web-2 crashed before, for a reason of its own. Its restart begins with web-2, which
// crashes still. A person or an autoscaler wants five: web-3 and web-4 are not created before web-2 is ready.
func TestAStatefulSetThatIsScaledUpBehindItsBrokenPodHasNotFailed(t *testing.T) {
	s := begin(true)
	s.workload.Ref.Kind, s.workload.Rollout = names.StatefulSet, rollout(3, 0, 3, 2)
	s.restart = delivery.Begin(&s.workload, record.AllBut(1), noon)
	s.look(1)
	s.workload.Rollout = rollout(3, 1, 2, 2)
	s.look(2)
	s.crash(podsight.Tally{Broken: 1, Down: 1})
	s.require(t, 31.5, delivery.Rolling, "")
	s.workload.Rollout = rollout(5, 1, 2, 2)
	s.require(t, 120, delivery.Rolling, "")
	s.require(t, 640, delivery.Neutral, "")
}
