package explain_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kubernetes-deployment-restart-controller/catalog/content"
	catalogpolicy "kubernetes-deployment-restart-controller/catalog/policy"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/internal/status"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/explain"
)

// asked lets the leader answer. What the cluster shows says otherwise: the settings differ from the record.
func asked(answer status.Workload) *explain.Input {
	answer.Workload = "deployment/shop/web"
	in := input(edited)
	in.Leader = &explain.FromLeader{Name: "pod leader-1", Workload: &answer}
	return in
}

func TestTheConclusionIsWhatTheLeaderDecides(t *testing.T) {
	due := status.Decision{Outcome: "restart", Reason: "the content differs from the record", Causes: "secret db changed"}
	upToDate := status.Decision{Outcome: "keep", Reason: "the content is as recorded"}
	soon := now.Add(90 * time.Second)
	gate := func(a status.Answer) status.Workload { return status.Workload{Decision: due, Gate: &a} }
	in := func(state status.State) status.Entry { return status.Entry{State: state} }
	rolling := status.Entry{State: status.Rolling, Pods: &status.Pods{Wanted: 3, Updated: 2, Available: 1}}
	for want, answer := range map[string]status.Workload{
		"restarts when its grace period ends, at 2026-11-20T12:01:30Z (in 90s): secret db changed.":                                                                                                             {Decision: due, Gate: &status.Answer{MayBegin: true}, Change: &status.Change{Due: soon}},
		"has not restarted yet although secret db changed: frozen.":                                                                                                                                             {Decision: due, Gate: &status.Answer{Reason: "hold", Why: "frozen"}, Change: &status.Change{Due: soon}},
		"does not restart by itself although secret db changed: it is OnDelete.":                                                                                                                                {Decision: due, Gate: &status.Answer{MayBegin: true}, ByHand: "it is OnDelete", Change: &status.Change{Due: soon}},
		"is due to restart, but the controller restarts nothing, as in a dry run: secret db changed.":                                                                                                           {Decision: due},
		"has not restarted yet although secret db changed: migration under way.":                                                                                                                                gate(status.Answer{Reason: "hold", Why: "migration under way"}),
		"has not restarted yet although secret db changed: its window opens at ten.":                                                                                                                            gate(status.Answer{Reason: "window", Why: "its window opens at ten", Until: soon}),
		"has not restarted yet although secret db changed: its configs keep changing, so it restarts later, at 2026-11-20T12:01:30Z (in 90s).":                                                                  gate(status.Answer{Reason: "backoff", Until: soon}),
		"has not restarted yet although secret db changed: it waits for its turn in the slow start of secret/shop/db.":                                                                                          gate(status.Answer{Reason: "slow-start", On: "secret/shop/db"}),
		"has not restarted yet although secret db changed: it waits for its turn: as many restarts as allowed are under way.":                                                                                   gate(status.Answer{Reason: "limit"}),
		"has not restarted yet although secret db changed: an earlier wave of its namespace is not over.":                                                                                                       gate(status.Answer{Reason: "wave"}),
		"has not restarted yet although secret db changed: secret/shop/db is halted.":                                                                                                                           gate(status.Answer{Reason: "halt", On: "secret/shop/db"}),
		"has not restarted yet although secret db changed: the halts of former leaders have not been read yet.":                                                                                                 gate(status.Answer{Why: "the halts of former leaders have not been read yet"}),
		"has not restarted yet although secret db changed: it waits, at 2026-11-20T12:00:00Z.":                                                                                                                  gate(status.Answer{Reason: "something new", Until: now}),
		"is about to restart: secret db changed.":                                                                                                                                                               gate(status.Answer{MayBegin: true}),
		"does not restart by itself although secret db changed: it is paused.":                                                                                                                                  {Decision: due, Gate: &status.Answer{MayBegin: true}, ByHand: "it is paused"},
		"has not been looked at yet: its window is closed, at 2026-11-20T12:01:30Z (in 90s).":                                                                                                                   {Decision: upToDate, Gate: &status.Answer{Reason: "window", Until: soon}},
		"could not be restarted or recorded, and the next attempt is under way: it is Friday. What helps: let the controller's account do this in that policy, or restart the workload by hand if it lets you.": {Entry: status.Entry{State: status.Retrying, Error: "it is Friday.", Remedy: status.ChangePolicy}},
		"waits for no restart, but its record cannot be written: it is Friday. What helps: let the controller's account do this in that policy. The next attempt is under way.":                                 {Entry: status.Entry{State: status.Retrying, Error: "its record cannot be written: it is Friday.", OnlyRecord: true, Remedy: status.AllowInPolicy}},
		"has not restarted yet although secret db changed: frozen; its record could not be written: it is Friday. What helps: let the controller's account do this in that policy.": {
			Entry: status.Entry{State: status.Held, Error: "its record could not be written: it is Friday.", OnlyRecord: true, Remedy: status.AllowInPolicy}, Decision: due, Gate: &status.Answer{Reason: "hold", Why: "frozen"}},
		"is rolling: 2 of 3 pods updated, 1 available.":                               {Entry: rolling, Decision: upToDate},
		"restarts by eviction, and no pod is evicted: a PodDisruptionBudget refuses.": {Entry: status.Entry{State: status.Held, Reason: "eviction", Text: "a PodDisruptionBudget refuses"}, Decision: upToDate},
		"has failed after its restart: its pods crash.":                               {Entry: in(status.Failed), Decision: upToDate, Last: &status.Restart{Why: "its pods crash."}},
		"is failed: 3 of 3 pods updated, 2 available; an earlier leader saw it fail.": {Entry: status.Entry{State: status.Failed, Text: "an earlier leader saw it fail", Pods: &status.Pods{Wanted: 3, Updated: 3, Available: 2}}, Decision: upToDate},
		"is rolling: 3 of 3 pods updated, 2 available; the next eviction waits: a PodDisruptionBudget refuses.": {
			Entry: status.Entry{State: status.Rolling, Text: "a PodDisruptionBudget refuses", Pods: &status.Pods{Wanted: 3, Updated: 3, Available: 2}}, Decision: upToDate, Method: "evict"},
		"is left alone, so no config change restarts it: its pod template has too many references. Use fewer configs.": {Entry: status.Entry{State: status.LeftAlone, Text: "its pod template has too many references. Use fewer configs"}, Decision: upToDate},
		"waits for no restart, but not all of its pods run: 3 of 3 pods updated, 2 available.":                         {Entry: status.Entry{State: status.Unready, Text: "not all of its pods run", Pods: &status.Pods{Wanted: 3, Updated: 3, Available: 2}}, Decision: upToDate},
		"waits for no restart, but no secret/s is watched: it does not exist, or is of type helm.sh/release.v1. Pods need it to start: without it, those that run go on, but no new one can start. What helps: " + string(status.CreateConfig) + ".": {
			Entry: status.Entry{State: status.Lacking, Remedy: status.CreateConfig, Text: "no secret/s is watched: it does not exist, or is of type helm.sh/release.v1"}, Decision: upToDate},
		"has not restarted yet although secret db changed: the halts have not been read: upgrade the chart.": gate(status.Answer{Why: "the halts have not been read: upgrade the chart."}),
		"has not restarted yet although secret db changed: the configs have not all been listed yet.": {
			Entry: status.Entry{State: status.Deciding, Text: "the configs have not all been listed yet"}, Decision: due, Gate: &status.Answer{MayBegin: true}},
		"is deciding: the configs of the namespace have not all been listed yet (a config changed).": {Entry: status.Entry{State: status.Deciding, Text: "the configs of the namespace have not all been listed yet"}, Decision: status.Decision{Outcome: "ask", Reason: "a config changed"}},
		"has not been decided about yet: the configs have not all been listed yet.":                  {Entry: in(status.Settled), Decision: status.Decision{Outcome: status.Undecided, Reason: "the configs have not all been listed yet"}},
		"is settled: the content is as recorded.":                                                    {Entry: in(status.Settled), Decision: upToDate},
		"is deciding: a config changed, and no record shows whether the pods have read it.":          {Entry: in(status.Deciding), Decision: status.Decision{Outcome: "ask", Reason: "a config changed, and no record shows whether the pods have read it"}},
	} {
		if got := explain.Explain(asked(answer)).Conclusion; got != "deployment/web in shop "+want {
			t.Errorf("the conclusion is %q, want %q", got, want)
		}
	}
}

func TestASettledWorkloadWithoutPodsOrWithAHoldSaysSo(t *testing.T) {
	approval := map[string]string{"com.xing.deployment-restart.hold": "approval"}
	settled := status.Workload{Entry: status.Entry{State: status.Settled}, Decision: status.Decision{Outcome: "keep", Reason: "the content is as recorded"}}
	due := status.Workload{Entry: status.Entry{State: status.Settled}, Decision: status.Decision{Outcome: "restart"}, Gate: &status.Answer{MayBegin: true}}
	for want, test := range map[string]struct {
		answer status.Workload
		adjust func(*explain.Input)
	}{
		"wants no pods; pods that start later read the present content. If another controller makes pods from its pod template, such as Argo Rollouts or Flagger, an edit does not restart those.": {settled, func(in *explain.Input) { in.Workload.Idle = true }},
		"is settled: the content is as recorded; an edit would be held: migration.":                                                                                                                {settled, policy(catalogpolicy.WorkloadPolicy{Hold: "migration"})},
		"is settled: the content is as recorded; an edit would be held: incident.":                                                                                                                 {settled, func(in *explain.Input) { in.Halts.Hold = "incident." }},
		"is settled: the content is as recorded; an edit of configmap/settings would be held: approval.":                                                                                           {settled, func(in *explain.Input) { in.Configs = []*content.Config{configMap("debug", approval)} }},
		"is about to restart.": {due, policy(catalogpolicy.WorkloadPolicy{Hold: "migration"})},
	} {
		in := asked(test.answer)
		test.adjust(in)
		if got := explain.Explain(in).Conclusion; got != "deployment/web in shop "+want {
			t.Errorf("the conclusion is %q, want %q", got, want)
		}
	}
}

func TestEachHoldSaysSinceWhenAndHowToReleaseIt(t *testing.T) {
	in := asked(status.Workload{Entry: status.Entry{State: status.Settled}, Holds: status.List[status.Hold]{Items: []status.Hold{
		{On: "deployment/shop/web", Beginning: status.Beginning{Since: now.Add(-time.Hour)}}, {On: "configmap/shop/settings", IsConfig: true, Beginning: status.Beginning{Since: now.Add(-time.Minute), AtLeast: true}},
	}}})
	policy(catalogpolicy.WorkloadPolicy{Hold: "migration"})(in)
	in.Configs = []*content.Config{configMap("debug", map[string]string{"com.xing.deployment-restart.hold": "approval"})}
	in.Halts.Hold = "incident"
	want := []string{
		"everything (release with: kubectl restarts unhold --all-workloads): incident",
		"the workload (release with: kubectl restarts unhold -n shop deployment/web): migration (since 2026-11-20T11:00:00Z)",
		"configmap/settings (release with: kubectl restarts unhold -n shop configmap/settings): approval (at least since 2026-11-20T11:59:00Z)",
	}
	if diff := cmp.Diff(want, explain.Explain(in).Holds); diff != "" {
		t.Error(diff)
	}
}

// The caller may not be able to read what enables it.
func TestAWorkloadIsEnabledByWhatTheLeaderSays(t *testing.T) {
	for by, want := range map[string]string{"its Namespace\x1b[2J": "Enabled:      yes, by its Namespace\\u001b[2J\n", "": "Enabled:      yes\n"} {
		in := asked(status.Workload{EnabledBy: by})
		in.Workload.Enabled, in.Workload.EnabledUnknown = false, true
		report := explain.Explain(in)
		var out bytes.Buffer
		if err := report.Print(&out); err != nil || !report.Enabled || report.EnabledBy != by || !strings.Contains(out.String(), want) {
			t.Errorf("%t, %q, %v:\n%s", report.Enabled, report.EnabledBy, err, out.String())
		}
	}
}

func TestWhatTheLeaderAnswersIsShownAndSafe(t *testing.T) {
	report := explain.Explain(asked(status.Workload{
		Entry:       status.Entry{State: status.Held, Beginning: status.Beginning{Since: now.Add(-time.Minute)}, Exposed: true},
		GracePeriod: 2.5, Problems: []string{"annotation x\x1b[2J is wrong"},
		Decision: status.Decision{Outcome: "restart", Reason: "the content differs from the record", Causes: "configmap settings changed (keys: LEVEL)"},
		Gate:     &status.Answer{Reason: "hold", Why: "two\nlines\u202e"},
		Change:   &status.Change{Due: now.Add(time.Second), For: []string{"configmap/shop/settings"}},
		Last:     &status.Restart{Time: now.Add(-time.Hour), Cause: "secret/db", Outcome: status.Delivered, Took: 12},
	}))
	var out bytes.Buffer
	if err := report.Print(&out); err != nil {
		t.Fatal(err)
	}
	_, got, found := strings.Cut(out.String(), "Events:       none of the controller\n\n")
	want := strings.TrimPrefix(`
Leader:       pod leader-1
  State:      held for 60s; its pods have read the new content already
  Decision:   restart: the content differs from the record: configmap settings changed (keys: LEVEL)
  Gate:       hold: two\u000alines\u202e
  Change:     configmap/shop/settings waits until 2026-11-20T12:00:01Z
  Restart:    2026-11-20T11:00:00Z, secret/db, delivered after 12s
  Problem:    annotation x\u001b[2J is wrong
`, "\n")
	if diff := cmp.Diff(want, got); !found || diff != "" {
		t.Errorf("%s%s", out.String(), diff)
	}
	encoded, err := json.Marshal(report)
	if err != nil || !strings.Contains(string(encoded), `"leader":{"name":"pod leader-1",`) || strings.Contains(string(encoded), "onlyLeader") {
		t.Errorf("%s, %v", encoded, err)
	}
}

func TestAProblemThatTheLeaderNamesIsPrintedOnce(t *testing.T) {
	in := asked(status.Workload{Mistakes: []status.Mistake{{Object: "deployment/shop/web", Problem: "annotation a: it has no effect; annotation b: wrong; 0s is used instead; annotation c: wrong", Beginning: status.Beginning{Since: now}}}})
	in.Workload.Mistakes, in.Workload.GracePeriod = "annotation a: it has no effect", &workload.GracePeriod{Problem: "annotation b: wrong", Unread: true}
	var out bytes.Buffer
	report := explain.Explain(in)
	if err := report.Print(&out); err != nil {
		t.Fatal(err)
	}
	for _, problem := range []string{"annotation a:", "annotation b:", "annotation c:"} {
		if n := strings.Count(out.String(), problem); n != 1 {
			t.Errorf("%s is printed %d times:\n%s", problem, n, out.String())
		}
	}
	in.Leader = nil
	if report := explain.Explain(in); len(report.Problems) != 2 {
		t.Errorf("without the leader, the problems are %q", report.Problems)
	}
}
