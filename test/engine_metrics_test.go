package test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"

	"kubernetes-deployment-restart-controller/test/harness"
)

const enginePrefix = "deployment_engine_"

func TestTheMetricsOfTheEngine(t *testing.T) {
	s := newEngineSceneApart(t)
	s.startEngine()
	s.awaitRollout(s.collide()) // so that there is an error
	s.awaitMetric(enginePrefix+"rollouts_in_progress", nil, 0)
	metrics, err := s.controller.Metrics(s.Context())
	s.must(err)
	want := map[string]string{
		"syncs_total":                "COUNTER []",
		"sync_duration_seconds":      "HISTOGRAM []",
		"actions_total":              "COUNTER [action]",
		"write_errors_total":         "COUNTER [reason]",
		"driving":                    "GAUGE []",
		"queue_depth":                "GAUGE []",
		"queue_latency_seconds":      "HISTOGRAM []",
		"slow_requests":              "GAUGE []",
		"rival_writes_total":         "COUNTER [manager]",
		"rollouts_in_progress":       "GAUGE []",
		"rollouts_deadline_exceeded": "GAUGE []",
		"watch_up":                   "GAUGE [namespace resource]",
	}
	got := map[string]string{}
	for name, family := range metrics {
		if short, found := strings.CutPrefix(name, enginePrefix); found {
			got[short] = fmt.Sprint(family.GetType(), labelsOf(family))
			if family.GetHelp() == "" {
				t.Errorf("%s has no help text", name)
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metrics of the engine (-want +got):\n%s", diff)
	}
	actions := map[string]bool{}
	for _, series := range metrics[enginePrefix+"actions_total"].GetMetric() {
		actions[series.GetLabel()[0].GetValue()] = true
	}
	for _, action := range []string{"create", "scale", "annotate", "delete", "adopt", "release", "rollback", "status"} {
		if !actions[action] {
			t.Errorf("no series for the action %q from the start: %v", action, slices.Sorted(maps.Keys(actions)))
		}
	}
	for name, atLeast := range map[string]float64{"syncs_total": 3, "sync_duration_seconds": 3, "queue_latency_seconds": 3, "watch_up": 4} {
		if value := s.metric(enginePrefix+name, nil); value < atLeast {
			t.Errorf("%s is %v, want %v at least", name, value, atLeast)
		}
	}
	if collisions := s.metric(enginePrefix+"write_errors_total", map[string]string{"reason": "collision"}); collisions != 1 {
		t.Errorf("%v collisions are counted, want 1", collisions)
	}
	if diff := cmp.Diff(s.documentedMetrics(enginePrefix), slices.Sorted(maps.Keys(got))); diff != "" {
		t.Errorf("metrics in docs/metrics.md and exported (-documented +exported):\n%s", diff)
	}
}

func labelsOf(family *dto.MetricFamily) []string {
	var labels []string
	for _, label := range family.GetMetric()[0].GetLabel() {
		labels = append(labels, label.GetName())
	}
	slices.Sort(labels)
	return labels
}

// metricRow is a line of a table in docs/metrics.md.
var metricRow = regexp.MustCompile("^`([a-z_]+)` \\| (counter|gauge|histogram) \\|")

// documentedMetrics returns what docs/metrics.md has tables of, behind the words that
// names begin with the prefix and up to such words about another prefix.
func (s *scene) documentedMetrics(prefix string) []string {
	s.Helper()
	root, err := harness.RepositoryRoot()
	s.must(err)
	page, err := os.ReadFile(filepath.Join(root, "docs", "metrics.md"))
	s.must(err)
	isAbout := false
	var names []string
	for line := range strings.Lines(string(page)) {
		if _, about, found := strings.Cut(line, "names begin with `"); found {
			isAbout = strings.HasPrefix(about, prefix+"`")
		}
		if row := metricRow.FindStringSubmatch(line); isAbout && row != nil {
			names = append(names, row[1])
		}
	}
	slices.Sort(names)
	return names
}

func TestReadyzTellsOfTheEnginesWatches(t *testing.T) {
	s := newEngineScene(t)
	status, body, err := s.controller.Get(t.Context(), "/readyz")
	s.must(err)
	if status != 200 {
		t.Errorf("/readyz answers %d", status)
	}
	for _, resource := range []string{"pods", "replicasets", "deployments"} {
		requireContains(t, body, fmt.Sprintf("[+] watch %s: synced (deployment engine)", resource))
	}
	requireContains(t, body, "[+] deployment engine: driving deployments\n")
}
