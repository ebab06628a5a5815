package deployment

import (
	"fmt"
	"testing"
	"time"

	"kubernetes-deployment-restart-controller/deployment/rollout"
)

// One config that never rests made 80,000 ReplicaSets once.
func TestATemplateThatNeverRestsDoesNotPileUpReplicaSets(t *testing.T) {
	s := newStage()
	s.do([]string{"deployment", "replicas=3", "history=5"})
	s.run()
	most := 0
	for number := 2; number <= 100; number++ {
		s.do([]string{"deployment", fmt.Sprint("image=v", number)})
		for range 20 { // pods come, but none becomes available
			if _, acted := s.sync(); !acted && !s.obeyPending() {
				break
			}
			s.now = s.now.Add(time.Second)
		}
		most = max(most, len(s.cluster.replicaSets))
	}
	if most != 23 { // 21 finished ones, those with pods and the new one
		t.Errorf("at most %d ReplicaSets were there at a time", most)
	}
	s.run()
	if count := len(s.cluster.replicaSets); count != 6 {
		t.Errorf("%d ReplicaSets in the end, with a history of 5", count)
	}
	if revision := s.deployment().Annotations[rollout.RevisionAnnotation]; revision != "100" {
		t.Errorf("revision %s after 100 templates", revision)
	}
}

// obeyPending is obey for pods that do not become available, apart from those of v1.
func (s *stage) obeyPending() bool {
	for _, rs := range s.cluster.replicaSetsOf(s.deployment()) {
		if n := *rs.Spec.Replicas; rs.Status.Replicas != n || rs.Status.ObservedGeneration != rs.Generation {
			s.setPods(rs, min(n, rs.Status.AvailableReplicas))
			return true
		}
	}
	return false
}
