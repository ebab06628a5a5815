package restart

import (
	"strings"
	"testing"
	"time"

	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

func TestARevertIsDescribedByWhatTheAPIShowsAndWithTheRemedy(t *testing.T) {
	const guess, known = "the last write by another client is that of \"gitops\"", "field manager \"gitops\" has given the pod template another timestamp"
	for name, test := range map[string]struct {
		kind          names.WorkloadKind
		timestamp, by string
		outcome       decide.Outcome
		says, not     []string
	}{
		"its timestamp is gone": {
			kind: names.StatefulSet, by: "gitops", outcome: decide.Restart,
			says: []string{"its timestamp is gone", guess, "so the workload restarts again", "method to evict", "restart to disabled"}, not: []string{known},
		},
		"nobody else has written":  {kind: names.Deployment, outcome: decide.Restart, says: []string{"its timestamp is gone from the pod template. Pods"}, not: []string{"last write"}},
		"it has another timestamp": {kind: names.Deployment, timestamp: "2026-01-01T00:00:00Z", by: "gitops", outcome: decide.Restart, says: []string{known}, not: []string{guess}},
		"no pod is left":           {kind: names.Deployment, by: "gitops", outcome: decide.RecordOnly, says: []string{guess, "so nothing restarts"}, not: []string{"evict", "disabled"}},
		"a kind without evictions": {kind: "widgets.example.com", outcome: decide.Restart, says: []string{"restart to disabled"}, not: []string{"evict"}},
	} {
		w := &workload.Workload{Object: workload.Object{Ref: names.WorkloadRef{Kind: test.kind, Namespace: "a", Name: "web"}, Timestamp: test.timestamp}}
		w.Record.Reverted = &record.Revert{Restart: "2026-01-20T19:46:46Z", Recorded: time.Now(), By: test.by}
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
