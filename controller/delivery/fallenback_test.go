package delivery_test

import (
	"testing"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/delivery"
)

// fallsBack lets the Deployment run its earlier pods, since its release has failed.
func (s *story) fallsBack(aborted workload.Course) {
	s.workload.Ref.Kind = names.Deployment
	s.workload.Rollout = workload.Rollout{Wanted: 3, Outdated: 3, Available: 3, Observed: true, GaveUp: true, Course: aborted}
}

func TestTheRestartOfAReleaseThatFailsHasFailed(t *testing.T) {
	for name, test := range map[string]struct {
		aborted workload.Course
		another bool // release than the one that was restarted
		want    delivery.Verdict
		why     string
	}{
		"its pods crash": {workload.Aborted, false, delivery.Failed, "the release that it restarted has failed, and its Deployment has fallen back to an earlier one"},
		"its image is missing": {
			workload.AbortedUnstarted, false, delivery.Neutral, "the release that it restarted lacks its image, and its Deployment has fallen back to an earlier one",
		},
		"another release": {workload.Aborted, true, delivery.Neutral, "a later release has failed, and its Deployment has fallen back to an earlier one"},
	} {
		t.Run(name, func(t *testing.T) {
			s := begin(true)
			s.require(t, 1, delivery.Rolling, "")
			if test.another {
				s.workload.Bare = record.BareFingerprint{1}
			}
			s.fallsBack(test.aborted)
			s.require(t, 20, test.want, test.why)
		})
	}
}

func TestARestartThatFailedIsNotDeliveredByThePodsOfAnEarlierRelease(t *testing.T) {
	s := begin(true)
	s.fallsBack(workload.Aborted)
	s.require(t, 20, delivery.Failed, "")
	s.restart.Fail(&s.workload)
	for seconds := 30.0; seconds < 3600; seconds += 60 {
		if got := s.restart.LookAfterFailure(&s.workload, policy, at(seconds)); got.Verdict != delivery.Rolling {
			t.Fatalf("after %v s: %+v", seconds, got)
		}
	}
}

// runsEarlier is the status by which evictions of a Deployment are judged that has fallen back.
var runsEarlier = workload.Rollout{Wanted: 3, Updated: 3, Available: 3, Observed: true, Course: workload.Aborted}

// evictsEarlierPods is a restart by eviction of a Deployment that has fallen back.
func evictsEarlierPods() *story {
	s := begin(true)
	s.workload.Ref.Kind, s.workload.Rollout = names.Deployment, runsEarlier
	s.workload.Record = record.Record{Trusted: true, LastRestart: record.LastRestart{Evict: 7}}
	s.restart = delivery.Begin(&s.workload, record.AllRan, noon)
	return s
}

func TestARestartOfAnEarlierReleaseIsDeliveredWhenItsPodsRun(t *testing.T) {
	s := evictsEarlierPods()
	s.workload.Rollout = delivery.Evicting(&s.workload, 2)
	s.require(t, 10, delivery.Rolling, "")
	s.workload.Rollout, s.workload.Record.Evict = runsEarlier, 0
	s.require(t, 20, delivery.Rolling, "")
	s.require(t, 50, delivery.Delivered, "")
}

func TestARestartOfAnEarlierReleaseIsOverWhenAnotherReleaseReplacesItsPods(t *testing.T) {
	s := evictsEarlierPods()
	s.workload.Record.Evict = 0
	s.require(t, 20, delivery.Rolling, "")
	s.workload.Rollout = begun // it is tried again, and its pods crash
	s.workload.Template = record.Fingerprint{1}
	s.require(t, 30, delivery.Neutral, "another release, or another attempt at the one that had failed, replaces its pods")
}
