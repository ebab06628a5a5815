package tracker

import (
	"testing"
	"time"

	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/delivery"
	"kubernetes-deployment-restart-controller/controller/gatekeeper"
	"kubernetes-deployment-restart-controller/controller/objecttest"
)

// A StatefulSet may never replace the pods of the first of two restarts. They say nothing about a content that the second one replaced.
func TestThePodsOfAnEarlierRestartCountWhileTheyReadWhatItBrought(t *testing.T) {
	first := time.Now()
	restarted := func(config names.ConfigRef, at time.Time) *RollingRestart {
		cause := decide.Cause{Config: config, Keys: []string{"k"}}
		return &RollingRestart{
			Restart:  delivery.Begin(&workload.Workload{}, record.AllRan, at),
			Decision: decide.Decision{Causes: []decide.Cause{cause}}, Brought: []gatekeeper.Brought{{Cause: cause, Keys: cause.Keys, Content: "c"}},
		}
	}
	for second, want := range map[names.ConfigRef]time.Time{objecttest.MapA: {}, {Kind: names.ConfigMap, Namespace: "ns", Name: "other"}: first} {
		next := restarted(second, first.Add(time.Minute))
		next.Continues(restarted(objecttest.MapA, first))
		if got := next.Traces(delivery.Policy{}, nil).Since; !got.Equal(want) {
			t.Errorf("after a restart for %s, pods since %v count, want %v", second, got, want)
		}
	}
}
