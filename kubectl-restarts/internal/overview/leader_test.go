package overview_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/cli-runtime/pkg/printers"

	"kubernetes-deployment-restart-controller/internal/status"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/facts"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/overview"
)

func list[T any](items ...T) status.List[T] { return status.List[T]{Total: len(items), Items: items} }

func ago(minutes int) time.Time { return now.Add(-time.Duration(minutes) * time.Minute) }

func fromLeader() *overview.FromLeader {
	held := list(status.Entry{Workload: "deployment/shop/held", State: status.Held, Reason: "hold", Text: "migration\x1b[2J", Beginning: status.Beginning{Since: ago(5)}},
		status.Entry{Workload: "deployment/shop/closed", State: status.Held, Reason: "window", Text: "the window of configmap/calm", Beginning: status.Beginning{Since: ago(6)}, Until: now.Add(10 * time.Hour)})
	held.Total = 60
	return &overview.FromLeader{Name: "pod leader-1", Overview: &status.Overview{
		Time: now, Leads: true, Namespace: "shop", AllHeld: "incident 42",
		Pending: list(status.Entry{Workload: "deployment/shop/pending", State: status.Pending, Beginning: status.Beginning{Since: ago(1)}, Until: now.Add(2 * time.Second), For: "configmap/shop/calm"}),
		Waiting: list(status.Entry{Workload: "deployment/shop/waiting", State: status.Waiting, Reason: "slow-start", On: "configmap/shop/calm", Beginning: status.Beginning{Since: ago(2)}}),
		Rolling: list(status.Entry{Workload: "deployment/shop/rolling", State: status.Soaking, For: "configmap/calm: LEVEL", Beginning: status.Beginning{Since: ago(3)}, Pods: &status.Pods{Wanted: 3, Updated: 2, Available: 1}}),
		Held:    held,
		Holds:   list(status.Hold{On: "deployment/shop/calm", Text: "just\x1b in case", Beginning: status.Beginning{Since: ago(7), AtLeast: true}}, status.Hold{On: "configmap/shop/approved", IsConfig: true, Text: "edits need approval", Beginning: status.Beginning{Since: ago(8)}}),
		Mistakes: status.List[status.Mistake]{Total: 3, Items: []status.Mistake{
			{Object: "configmap/shop/settings", Problem: "annotation x\x1b: the controller knows no such annotation"}, {Object: "namespace//shop", Problem: "label y"},
		}},
		Kinds: []status.Kind{
			{Workload: "rollouts.v1alpha1.argoproj.io", Missing: true}, {Workload: "gadgets.v1.example.com=.spec\x1b", Unusable: 2}, {Workload: "a.v1.b"},
		},
		FanOuts: list(status.FanOut{Config: "configmap/shop/calm", Beginning: status.Beginning{Since: ago(4)}, Total: 5, Delivered: 2, Rolling: 1, Waiting: 1, Unserved: 1}),
		Halts: list(
			status.Halt{ID: "k3v7x2ab", Config: "configmap/shop/broken", Keys: []string{"LEVEL"}, Failed: []string{"deployment/shop/api"}, Held: 2, Since: ago(10), Command: "kubectl logs -n shop api-1 -c app --previous"},
			status.Halt{ID: "x", Config: "nonsense", Failed: []string{"deployment/shop/api"}, Resume: "ask\nfor help"},
			status.Halt{ID: "k3v7x2ab", Config: "configmap/*/ca-bundle", Failed: []string{"deployment/shop/api"}, Since: ago(10), Command: "kubectl logs -n shop api-1; reboot"},
			status.Halt{ID: "x; reboot", Config: "configmap/shop/settings", Failed: []string{"deployment/shop/api"}, Held: 1},
		),
		Restarts: list(status.Restart{Time: ago(3), Workload: "deployment/shop/rolling", Cause: "configmap/calm: LEVEL"},
			status.Restart{Time: ago(20), Workload: "odd", Cause: "secret/db", Outcome: status.Delivered, Took: 12}),
	}}
}

func TestTheOverviewShowsWhatTheLeaderSaysInsteadOfWhatTheClusterShows(t *testing.T) {
	in := input()
	in.Leader = fromLeader()
	report := lookAt(in)
	var out bytes.Buffer
	if err := report.Print(&out, printers.PrintOptions{}, now); err != nil {
		t.Fatal(err)
	}
	want := strings.TrimPrefix(`
12 workloads enabled in shop. The leader (pod leader-1) says: 60 held, 1 due, undecided or waiting, 1 rolling, 1 pending.
All restarts are held (release with: kubectl restarts unhold --all-workloads): incident 42

Halts:
  configmap/broken (LEVEL) has broken deployment/api, halted since 2026-11-20T11:50:00Z (2 workloads wait); look with: kubectl logs -n shop api-1 -c app --previous; revert it, or resume with: kubectl restarts resume -n shop configmap/broken k3v7x2ab
  nonsense has broken deployment/shop/api; revert it
  configmap/ca-bundle has broken deployment/api, halted since 2026-11-20T11:50:00Z; revert it, or resume with: removing its entry configmap._.ca-bundle from the ConfigMap of halts
  configmap/shop/settings has broken deployment/shop/api (1 workload waits); revert it

Configs on hold (release with: kubectl restarts unhold -n shop TYPE/NAME):
  configmap/approved: edits need approval (since 2026-11-20T11:52:00Z)

Workloads on hold (release with: kubectl restarts unhold -n shop TYPE/NAME):
  deployment/calm: just\u001b in case (at least since 2026-11-20T11:53:00Z)

Annotations that cannot be used:
  configmap/settings: annotation x\u001b: the controller knows no such annotation
  namespace/shop: label y
  and 1 more

Other kinds:
  rollouts.v1alpha1.argoproj.io is not installed
  gadgets.v1.example.com=.spec\u001b: 2 enabled but cannot be restarted, see their Events

CONFIG           SINCE   FAN-OUT
configmap/calm   4m      2 of 5 delivered, 1 rolling, 1 waiting, 1 failed or not needed

WORKLOAD             STATE     SINCE   UNTIL                  WHY
deployment/held      held      5m                             migration\u001b[2J
deployment/closed    held      6m      2026-11-20T22:00:00Z   the window of configmap/calm
deployment/waiting   waiting   2m                             slow-start; configmap/shop/calm
deployment/rolling   soaking   3m                             configmap/calm: LEVEL; 2 of 3 pods updated, 1 available
deployment/pending   pending   60s     2026-11-20T12:00:02Z   configmap/shop/calm

RESTARTED            AGO   OUTCOME     TOOK   CAUSE
deployment/rolling   3m    rolling            configmap/calm: LEVEL
odd                  20m   delivered   12s    secret/db

58 more are held.
`, "\n")
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

// printed prints what a leader says about a namespace in which all but one of two workloads run.
func printed(t *testing.T, answer status.Overview, options printers.PrintOptions) string {
	t.Helper()
	crashing := workload("web", "settings", func(w *facts.Workload) { w.Rollout.Wanted, w.Rollout.Updated, w.Rollout.Available = 3, 3, 2 })
	calm := workload("calm", "settings")
	report := lookAt(&overview.Input{Namespace: "shop", Now: now, Workloads: []facts.Workload{crashing, calm}, Leader: &overview.FromLeader{Name: "pod leader-1", Overview: &answer}})
	var out bytes.Buffer
	if err := report.Print(&out, options, now); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestAWorkloadThatCrashesAfterItsRestartWasDeliveredIsListed(t *testing.T) {
	const says = "2 workloads enabled in shop. The leader (pod leader-1) says: 1 unready.\n"
	answer := status.Overview{Unready: list(status.Entry{Workload: "deployment/shop/web", State: status.Unready, Text: "not all of its pods run", Beginning: status.Beginning{Since: ago(1)}, Pods: &status.Pods{Wanted: 3, Updated: 3, Available: 2}})}
	if got := printed(t, answer, printers.PrintOptions{}); !strings.HasPrefix(got, says) || !strings.Contains(got, "deployment/web   unready   60s             not all of its pods run; 3 of 3 pods updated, 2 available\n") || strings.Contains(got, "calm") {
		t.Errorf("got\n%s", got)
	}
}

func TestARowOfALackingWorkloadHasTheRestartThatIsDueBesides(t *testing.T) {
	answer := status.Overview{Lacking: list(status.Entry{Workload: "deployment/shop/web", State: status.Lacking, Text: "configmap/x does not exist", Due: "a restart is due"})}
	if got := printed(t, answer, printers.PrintOptions{}); !strings.Contains(got, "configmap/x does not exist; a restart is due\n") {
		t.Errorf("got\n%s", got)
	}
}

func TestARowThatIsTooLongKeepsItsReason(t *testing.T) {
	const reason = "pod web-6d4cf5-x2lq does not run: its container main restarts again and again"
	answer := status.Overview{Failed: list(status.Entry{
		Workload: "deployment/shop/web", State: status.Failed, Text: reason, For: "configmap/web-config: LEVEL", Pods: &status.Pods{Wanted: 3, Updated: 1, Available: 2},
	})}
	if got := printed(t, answer, printers.PrintOptions{}); !strings.Contains(got, reason+"\n") {
		t.Errorf("got\n%s", got)
	}
	if got := printed(t, answer, printers.PrintOptions{Wide: true}); !strings.Contains(got, reason+"; configmap/web-config: LEVEL; 1 of 3 pods updated, 2 available\n") {
		t.Errorf("wide, got\n%s", got)
	}
}

func TestASlowedWorkloadSaysThatItsConfigsKeepChangingAndUntilWhen(t *testing.T) {
	slowed := status.Entry{Workload: "deployment/shop/web", State: status.Slowed, Reason: "backoff", For: "configmap/settings: LEVEL", Until: now.Add(time.Minute)}
	if got := printed(t, status.Overview{Slowed: list(slowed)}, printers.PrintOptions{}); !strings.Contains(got, "2026-11-20T12:01:00Z   its configs keep changing; configmap/settings: LEVEL\n") {
		t.Errorf("got\n%s", got)
	}
}

func TestALeaderWithNothingUnderWaySaysSo(t *testing.T) {
	report := lookAt(&overview.Input{Namespace: "shop", Leader: &overview.FromLeader{Name: "pod leader-1", Overview: &status.Overview{DryRun: true}}})
	if want := "No workload is enabled in shop. The leader (pod leader-1) says: nothing is under way. It is a dry run: nothing is restarted."; report.Summary != want {
		t.Errorf("%s, want %s", report.Summary, want)
	}
}
