package test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
)

const enginePrefix = "deployment_engine_"

func TestTheMetricsOfTheEngine(t *testing.T) {
	s := newEngineSceneApart(t)
	s.startEngine()
	s.awaitRollout(s.collide()) // so that there is an error
	s.awaitMetric(enginePrefix+"rollouts_in_progress", nil, 0)
	metrics, err := s.controller.Metrics(s.Context())
	s.must(err)
	actions := map[string]bool{}
	for _, series := range metrics[enginePrefix+"actions_total"].GetMetric() {
		actions[series.GetLabel()[0].GetValue()] = true
	}
	for _, action := range []string{"create", "scale", "annotate", "delete", "adopt", "release", "rollback", "status"} {
		if !actions[action] {
			t.Errorf("no series for the action %q from the start: %v", action, slices.Sorted(maps.Keys(actions)))
		}
	}
	for name, atLeast := range map[string]float64{"syncs_total": 3, "sync_duration_seconds": 3, "queue_latency_seconds": 3, "watch_up": 3} {
		if value := s.metric(enginePrefix+name, nil); value < atLeast {
			t.Errorf("%s is %v, want %v at least", name, value, atLeast)
		}
	}
	if collisions := s.metric(enginePrefix+"write_errors_total", map[string]string{"reason": "collision"}); collisions != 1 {
		t.Errorf("%v collisions are counted, want 1", collisions)
	}
}

func TestReadyzReportsTheEnginesWatches(t *testing.T) {
	s := newEngineScene(t)
	status, body, err := s.controller.Get(t.Context(), "/readyz")
	s.must(err)
	if status != 200 {
		t.Errorf("/readyz answers %d", status)
	}
	for _, resource := range []string{"replicasets", "deployments"} {
		requireContains(t, body, fmt.Sprintf("[+] watch %s: synced (deployment engine)", resource))
	}
	requireContains(t, body, "[+] deployment engine: driving deployments\n")
}
