package controller

import (
	"strings"
	"testing"
	"time"

	"kubernetes-deployment-restart-controller/catalog"
)

func TestARevertIsDescribedByWhatTheAPIShowsAndWithTheRemedy(t *testing.T) {
	const guess, known = "the last write by another client is that of \"gitops\"", "field manager \"gitops\" has given the pod template another timestamp"
	for name, test := range map[string]struct {
		kind          catalog.WorkloadKind
		timestamp, by string
		outcome       catalog.Outcome
		says, not     []string
	}{
		"its timestamp is gone": {
			kind: catalog.StatefulSet, by: "gitops", outcome: catalog.Restart,
			says: []string{"its timestamp is gone", guess, "so the workload restarts again", "method to evict", "restart to disabled"}, not: []string{known},
		},
		"nobody else has written":  {kind: catalog.Deployment, outcome: catalog.Restart, says: []string{"its timestamp is gone from the pod template. Pods"}, not: []string{"last write"}},
		"it has another timestamp": {kind: catalog.Deployment, timestamp: "2026-01-01T00:00:00Z", by: "gitops", outcome: catalog.Restart, says: []string{known}, not: []string{guess}},
		"no pod is left":           {kind: catalog.Deployment, by: "gitops", outcome: catalog.RecordOnly, says: []string{guess, "so nothing restarts"}, not: []string{"evict", "disabled"}},
		"a kind without evictions": {kind: "widgets.example.com", outcome: catalog.Restart, says: []string{"restart to disabled"}, not: []string{"evict"}},
	} {
		w := &catalog.Workload{Ref: catalog.WorkloadRef{Kind: test.kind, Namespace: "a", Name: "web"}, Timestamp: test.timestamp}
		w.Applied.Reverted = &catalog.Revert{Restart: "2026-01-20T19:46:46Z", Recorded: time.Now(), By: test.by}
		got := describeRevert(w, test.outcome)
		for _, text := range test.says {
			if !strings.Contains(got, text) {
				t.Errorf("%s: %q does not say %q", name, got, text)
			}
		}
		for _, text := range test.not {
			if strings.Contains(got, text) {
				t.Errorf("%s: %q says %q", name, got, text)
			}
		}
	}
}
