package overview_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/printers"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	catalogpolicy "kubernetes-deployment-restart-controller/catalog/policy"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/template"
	catalogworkload "kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/internal/status"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/facts"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/overview"
)

var now = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func configRef(name string) names.ConfigRef {
	return names.ConfigRef{Kind: names.ConfigMap, Namespace: "shop", Name: name}
}

// workload returns an enabled workload that reads the config, and whose pods all run.
func workload(name, config string, adjust ...func(*facts.Workload)) facts.Workload {
	w := facts.Workload{Enabled: true, Workload: catalogworkload.Workload{
		Object: catalogworkload.Object{
			Ref:        names.WorkloadRef{Kind: names.Deployment, Namespace: "shop", Name: name},
			References: []template.Reference{{Config: configRef(config)}},
			Rollout:    catalogworkload.Rollout{Wanted: 1, Updated: 1, Available: 1, Observed: true},
		},
		Record: record.Record{Trusted: true, Written: now.Add(-time.Hour)},
	}}
	for _, f := range adjust {
		f(&w)
	}
	return w
}

func due(w *facts.Workload) { w.Record.Contradicted = now.Add(-5 * time.Minute) }

func restarted(w *facts.Workload) {
	w.Timestamp, w.Cause = now.Add(-3*time.Minute).Format(time.RFC3339), "configmap/calm: LEVEL"
	w.Rollout.Available = 0
}

func policy(p catalogpolicy.WorkloadPolicy) func(*facts.Workload) {
	return func(w *facts.Workload) { w.Policy = &p }
}

func heldConfig(name, reason string) *content.Config {
	config := content.NewConfigMap(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: name, Annotations: map[string]string{annotation.HoldAnnotation: reason},
	}})
	return &config
}

func event(minutesAgo int, on, reason, message string) facts.Event {
	return facts.Event{At: now.Add(-time.Duration(minutesAgo) * time.Minute), Namespace: "shop", On: on, Reason: reason, Message: message}
}

// lookAt looks at workloads all of whose configs exist.
func lookAt(in *overview.Input) overview.Report {
	for i := range in.Workloads {
		for _, ref := range in.Workloads[i].Configs() {
			if !slices.ContainsFunc(in.Configs, func(c *content.Config) bool { return c.Ref == ref }) {
				in.Configs = append(in.Configs, &content.Config{Ref: ref})
			}
		}
	}
	return overview.Look(in)
}

func input() *overview.Input {
	return &overview.Input{
		Namespace: "shop", Now: now,
		Workloads: []facts.Workload{
			workload("calm", "calm"),
			workload("off", "calm", due, func(w *facts.Workload) { w.Enabled = false }),
			workload("failed", "calm", restarted),
			workload("gave-up", "calm", restarted, func(w *facts.Workload) { w.Rollout.GaveUp = true }),
			workload("rolling", "calm", restarted, policy(catalogpolicy.WorkloadPolicy{Wave: -1})),
			workload("recovered", "calm", restarted, func(w *facts.Workload) { w.Rollout.Available = 1 }),
			workload("held", "calm", due, policy(catalogpolicy.WorkloadPolicy{Hold: "migration\x1b[2J"})),
			workload("held-config", "approved", due),
			workload("halted", "broken", due),
			workload("window", "calm", due, policy(catalogpolicy.WorkloadPolicy{Window: "0 22 * * 1-5 6h", Wave: 7})),
			workload("slowed", "calm", due),
			workload("waiting", "calm", due),
			workload("on-hold", "calm", policy(catalogpolicy.WorkloadPolicy{Hold: "just in case"})),
		},
		Configs: []*content.Config{heldConfig("approved", "edits need approval")},
		Halts: facts.NewHalts(map[string]string{
			"configmap.shop.broken":   `[{"id":"k3v7x2ab","config":"configmap/shop/broken","content":"4d28","failed":["deployment/shop/api"],"since":"2026-11-20T11:46:46Z"}]`,
			"configmap.office.broken": `[{"id":"aaaaaaaa","config":"configmap/office/broken","content":"4d28","failed":["deployment/office/api"],"since":"2026-11-20T11:46:46Z"}]`,
		}),
		Events: []facts.Event{
			event(2, "deployment/failed", "RestartNotDelivered", "the restart failed"),
			event(9, "deployment/rolling", "RestartNotDelivered", "an earlier restart failed"),
			event(2, "deployment/recovered", "RestartNotDelivered", "the restart failed"),
			event(4, "deployment/slowed", "RestartBackoff", "configmap calm keeps changing"),
			event(4, "configmap/calm", "FanOut", "fan-out of 9f161f04f7ef4b51: 1 of 4 delivered, 1 rolling"),
			event(1, "configmap/calm", "FanOut", "fan-out of 9f161f04f7ef4b51: 2 of 4 delivered, 1 rolling"),
			event(1, "configmap/done", "FanOut", "finished: 4 delivered in 10s"),
			event(4, "configmap/forgotten", "FanOut", "fan-out of 9f16: 0 of 1 delivered, 1 rolling"), // the leader ended before its end
			event(2, "configmap/over", "FanOut", "fan-out of 9f16: 0 of 1 delivered, 0 rolling"), event(1, "configmap/over", "FanOut", "ended: no restart for it is due or under way any more"),
		},
	}
}

func TestTheOverviewShowsWhatIsNotSettled(t *testing.T) {
	var out bytes.Buffer
	report := lookAt(input())
	if err := report.Print(&out, printers.PrintOptions{}, now); err != nil {
		t.Fatal(err)
	}
	want := strings.TrimPrefix(`
12 workloads enabled in shop: 2 failed, 4 held, 1 slowed, 1 waiting, 1 rolling, 1 on hold, 2 settled.

Halts:
  configmap/broken has broken deployment/api, halted since 2026-11-20T11:46:46Z; revert it, or resume with: kubectl restarts resume -n shop configmap/broken k3v7x2ab

Configs on hold (release with: kubectl restarts unhold -n shop TYPE/NAME):
  configmap/approved: edits need approval

Workloads on hold (release with: kubectl restarts unhold -n shop TYPE/NAME):
  deployment/held: migration\u001b[2J
  deployment/on-hold: just in case

CONFIG           LAST HEARD   FAN-OUT
configmap/calm   60s          fan-out of 9f161f04f7ef4b51: 2 of 4 delivered, 1 rolling

WORKLOAD                 STATE     SINCE   WAVE   WHY
deployment/failed        failed    2m      0      the restart failed
deployment/gave-up       failed    3m      0      its pods make no progress since it restarted
deployment/halted        held      5m      0      configmap/broken is halted
deployment/held          held      5m      0      the workload is held: migration\u001b[2J
deployment/held-config   held      5m      0      the configmap/approved is held: edits need approval
deployment/window        held      5m      7      its window opens at 2026-11-20T22:00:00Z
deployment/slowed        slowed    5m      0      configmap calm keeps changing
deployment/waiting       waiting   5m      0      its record says that a restart is due
deployment/rolling       rolling   3m      -1     configmap/calm: LEVEL; 1 of 1 pods updated, 0 available
deployment/on-hold       on hold           0      just in case

`, "\n") + overview.OnlyLeader + "\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

// The middle of a long reason is left out, so its end must not be what helps.
func TestTheRowOfARefusalOrAFailureEndsWithWhy(t *testing.T) {
	const denial = "admission webhook frozen.example.com denied the request, as on every Friday: no restarts"
	in := input()
	in.Workloads = []facts.Workload{workload("refused", "calm", due), workload("failed", "calm", restarted)}
	in.Events = []facts.Event{
		event(2, "deployment/refused", "RestartFailed", status.ChangePolicy.After("cannot apply a config change, trying again: "+denial)),
		event(2, "deployment/failed", "RestartNotDelivered", "failed 31s after it restarted: container app crashes"+status.LookWith("kubectl logs -n shop failed-1 app")+". Delete the pod"),
	}
	for i, want := range []string{"container app crashes", "no restarts"} {
		if row := lookAt(in).Workloads[i]; !strings.HasSuffix(row.Why, want) {
			t.Errorf("%s is %s: %s", row.Workload, row.State, row.Why)
		}
	}
}

func TestTheOverviewOfAllNamespacesNamesThem(t *testing.T) {
	in := input()
	in.Namespace, in.Halts.Hold = "", "incident 42"
	report := lookAt(in)
	if len(report.Halts) != 2 || !strings.HasPrefix(report.Halts[0], "office: ") || !strings.HasPrefix(report.Holds[0], "shop: ") {
		t.Errorf("%q, %q", report.Halts, report.Holds)
	}
	if report.Counts[overview.Held] != 6 || report.Counts[overview.Waiting] != 0 {
		t.Errorf("a hold of everything does not hold all that is due: %v", report.Counts)
	}
	var out strings.Builder
	if err := report.Print(&out, printers.PrintOptions{WithNamespace: true}, now); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\nNAMESPACE   CONFIG ", "\nshop        configmap/calm ", "\nNAMESPACE   WORKLOAD ", "\nshop        deployment/held "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in:\n%s", want, &out)
		}
	}
	if got := lookAt(&overview.Input{Namespace: "shop"}); got.Summary != "No workload is enabled in shop." {
		t.Error(got.Summary)
	}
}

// edited returns a config of which only the metadata were read.
func edited(ref names.ConfigRef, key string, minutesAgo int) *content.Config {
	return &content.Config{Ref: ref, Edits: []annotation.Edit{{Key: key, At: now.Add(-time.Duration(minutesAgo) * time.Minute)}}}
}

func TestWithoutTheLeaderAWorkloadWhoseConfigWasEditedIsNotSettled(t *testing.T) {
	data := func(value string) *content.Config {
		config := content.NewConfigMap(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "settings"}, Data: map[string]string{"LEVEL": value}})
		return &config
	}
	secret := names.ConfigRef{Kind: names.Secret, Namespace: "shop", Name: "db"}
	recorded := func(w *facts.Workload) {
		w.Record.Checksums = map[names.ConfigRef]names.Checksum{configRef("settings"): data("old").Checksum([]template.Selection{{}}, content.ChecksumKey{})}
	}
	reads := func(ref names.ConfigRef, names ...string) func(*facts.Workload) {
		return func(w *facts.Workload) {
			w.References = []template.Reference{{Config: ref, Keys: template.Selection{Names: names}}}
		}
	}
	in := func() *overview.Input {
		return &overview.Input{
			Namespace: "shop", Now: now,
			Workloads: []facts.Workload{
				workload("web", "settings", recorded), workload("held", "settings", recorded, policy(catalogpolicy.WorkloadPolicy{Hold: "migration"})),
				workload("db", "", reads(secret, "password")), workload("other-key", "", reads(secret, "other")),
				workload("new", "settings", func(w *facts.Workload) { w.Record.Trusted = false }), workload("off", "settings", recorded, func(w *facts.Workload) { w.Enabled = false }),
			},
			Configs: []*content.Config{edited(configRef("settings"), "LEVEL", 5), edited(secret, "password", 3)},
		}
	}
	unread, read, same := in(), in(), in()
	read.Contents = map[names.ConfigRef]*content.Config{configRef("settings"): data("new")}
	same.Contents = map[names.ConfigRef]*content.Config{configRef("settings"): data("old")}
	led := in()
	led.Leader = fromLeader()
	for name, test := range map[string]struct {
		in   *overview.Input
		want string
	}{
		"metadata alone":   {unread, "1 held, 2 behind, 1 unknown, 1 settled"},
		"other content":    {read, "1 held, 2 behind, 1 unknown, 1 settled"},
		"the same content": {same, "1 behind, 1 unknown, 1 on hold, 2 settled"},
	} {
		report := lookAt(test.in)
		if want := "5 workloads enabled in shop: " + test.want + "."; report.Summary != want {
			t.Errorf("%s: %s, want %s", name, report.Summary, want)
		}
	}
	if suspects := overview.Suspects(unread); len(suspects) != 1 || suspects[0] != configRef("settings") {
		t.Errorf("suspects: %v", suspects)
	}
	if suspects, report := overview.Suspects(led), lookAt(led); len(suspects) > 0 || report.Counts[overview.Settled] != 4 {
		t.Errorf("the leader decides: %v, %v", suspects, report.Counts)
	}
	if row := lookAt(read).Workloads[1]; row.Why != "secret/db was edited after the record was made" || !row.Since.Equal(now.Add(-3*time.Minute)) || !row.AtLeast {
		t.Errorf("%+v", row)
	}
}

func TestAWorkloadWhosePodNeverCameIsNotSettled(t *testing.T) {
	in := &overview.Input{Namespace: "shop", Now: now, Workloads: []facts.Workload{
		workload("calm", "calm"), workload("missing", "calm", func(w *facts.Workload) { w.Rollout.Available = 0 }),
	}}
	report := lookAt(in)
	if len(report.Workloads) != 1 || report.Workloads[0].State != overview.Unready || report.Workloads[0].Why != "1 of 1 pods updated, 0 available" {
		t.Errorf("%+v", report.Workloads)
	}
}

// The status of some kinds does not say whether their pods run. Only the leader looks at the pods.
func TestAWorkloadThatWaitsAtAStepIsHeld(t *testing.T) {
	waits := func(w *facts.Workload) { w.AtStep = "The restart waits at step 1 of 2 (1)." }
	report := lookAt(&overview.Input{Workloads: []facts.Workload{workload("web", "settings", restarted, waits)}, Now: now})
	if len(report.Workloads) != 1 || report.Workloads[0].State != overview.Held || report.Workloads[0].Why != "The restart waits at step 1 of 2 (1)." {
		t.Errorf("the rows are %+v", report.Workloads)
	}
}

func TestAWorkloadOfWhichOnlyThePodsAreTellingIsNotSettledIfNobodyLooks(t *testing.T) {
	byPods := func(w *facts.Workload) { w.Rollout = catalogworkload.Rollout{ByPods: true, Wanted: 1} }
	idle := func(w *facts.Workload) { w.Rollout, w.Idle = catalogworkload.Rollout{ByPods: true}, true }
	in := &overview.Input{Namespace: "shop", Now: now, Workloads: []facts.Workload{
		workload("calm", "calm"), workload("gadget", "calm", byPods), workload("idle", "calm", idle),
	}}
	report := lookAt(in)
	if len(report.Workloads) != 1 || report.Workloads[0].State != overview.Unknown || report.Workloads[0].Why != "its status does not say whether its pods run" {
		t.Errorf("without a leader: %+v", report.Workloads)
	}
	in.Leader = &overview.FromLeader{Overview: &status.Overview{}}
	if report := lookAt(in); report.Counts[overview.Settled] != 3 {
		t.Errorf("the leader decides: %v", report.Counts)
	}
}

func TestAWorkloadThatLacksAConfigIsLackingWhateverIsDue(t *testing.T) {
	recorded := func(w *facts.Workload) {
		w.Record.Checksums = map[names.ConfigRef]names.Checksum{configRef("gone"): 1}
	}
	hold := policy(catalogpolicy.WorkloadPolicy{Hold: "audit"})
	lacks := func(w *facts.Workload) { w.References[0].Channel = template.Environment }
	report := overview.Look(&overview.Input{Namespace: "shop", Now: now, Workloads: []facts.Workload{
		workload("due", "gone", lacks, recorded, due), workload("held", "gone", lacks, recorded, due, hold), workload("idle", "gone", lacks, recorded, func(w *facts.Workload) { w.Idle = true }),
		workload("rolling", "gone", lacks, recorded, restarted), workload("settled", "gone", lacks, recorded),
	}, Events: []facts.Event{event(7, "deployment/due", "MissingConfig", "configmap/gone does not exist"), event(7, "deployment/held", "MissingConfig", "configmap/old does not exist"), event(5, "deployment/held", "ConfigFound", "no config is missing")}})
	if report.Counts[overview.Lacking] != 4 || len(report.Workloads) != 4 {
		t.Fatalf("%v: %+v", report.Counts, report.Workloads)
	}
	for i, want := range []overview.Row{
		{Workload: "deployment/due", Since: now.Add(-7 * time.Minute), AtLeast: true, Why: "configmap/gone does not exist: no new pod can start; a restart is due since 2026-11-20T11:55:00Z"},
		{Workload: "deployment/held", Why: "configmap/gone does not exist: no new pod can start; a restart is due since 2026-11-20T11:55:00Z"},
		{Workload: "deployment/rolling", Why: "configmap/gone does not exist: no new pod can start"},
		{Workload: "deployment/settled", Why: "configmap/gone does not exist: no new pod can start"},
	} {
		want.Namespace, want.State, want.Remedy = "shop", overview.Lacking, status.CreateConfig
		if diff := cmp.Diff(want, report.Workloads[i]); diff != "" {
			t.Error(diff)
		}
	}
	var out bytes.Buffer
	if err := report.Print(&out, printers.PrintOptions{}, now); err != nil || !strings.Contains(out.String(), "lacking   at least 7m") {
		t.Errorf("%v\n%s", err, &out)
	}
}

func TestASecretOfATypeThatIsNotWatchedIsNotCalledMissing(t *testing.T) {
	secret := names.ConfigRef{Kind: names.Secret, Namespace: "shop", Name: "db"}
	reads := func(w *facts.Workload) {
		w.References = []template.Reference{{Config: secret, Channel: template.Environment}}
	}
	recorded := func(w *facts.Workload) { w.Record.Checksums = map[names.ConfigRef]names.Checksum{secret: 1} }
	report := overview.Look(&overview.Input{Namespace: "shop", Now: now, Workloads: []facts.Workload{
		workload("never-seen", "", reads), workload("deleted", "", reads, recorded),
	}})
	if rows := report.Workloads; len(rows) != 1 || rows[0].State != overview.Lacking || !strings.HasSuffix(rows[0].Workload, "deleted") {
		t.Errorf("%+v", rows)
	}
}

func TestAnnotationsWithoutEffectAreListedWithoutTheLeader(t *testing.T) {
	in := &overview.Input{Namespace: "shop", Now: now, Workloads: []facts.Workload{
		{Workload: catalogworkload.Workload{Object: catalogworkload.Object{Ref: names.WorkloadRef{Kind: names.Deployment, Namespace: "shop", Name: "web"}, GracePeriod: &catalogworkload.GracePeriod{Unread: true, Problem: "annotation grace: wrong"}, Policy: &catalogpolicy.WorkloadPolicy{Problem: "annotation wave: wrong", Window: "every night"}}}, Mistakes: "annotation hodl: unknown"},
		{Workload: catalogworkload.Workload{Object: catalogworkload.Object{Ref: names.WorkloadRef{Kind: names.Deployment, Namespace: "shop", Name: "fine"}, Policy: &catalogpolicy.WorkloadPolicy{Window: "0 22 * * * 6h"}}}},
	}}
	in.Take([]facts.Config{
		{Config: &content.Config{Ref: names.ConfigRef{Kind: names.ConfigMap, Namespace: "shop", Name: "settings"}, Policy: &catalogpolicy.ConfigPolicy{Problem: "annotation fan-out: wrong"}}, Mistakes: "label x: unknown"},
		{Config: &content.Config{Ref: names.ConfigRef{Kind: names.ConfigMap, Namespace: "shop", Name: "fine"}}},
	})
	told := now.Add(-time.Minute)
	in.Events = []facts.Event{
		{Namespace: "shop", On: "configmap/settings", Reason: "InvalidAnnotation", At: told, Message: "label x: unknown; annotation fan-out: wrong"},
		{Namespace: "shop", On: "deployment/web", Reason: "InvalidAnnotation", At: told, Message: "something else was wrong"},
	}
	report := lookAt(in)
	var out bytes.Buffer
	if err := report.Print(&out, printers.PrintOptions{}, now); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"\nAnnotations that cannot be used:\n  configmap/settings: label x: unknown; annotation fan-out: wrong (at least since " + told.UTC().Format(time.RFC3339) + ")\n  deployment/web: annotation hodl: unknown; annotation grace: wrong; --restart-grace-period of the controller is used instead; annotation wave: wrong; annotation com.xing.deployment-restart.window: ",
		"Restarts wait until it is corrected or removed\n",
	} {
		if !strings.Contains(out.String(), want) || strings.Contains(out.String(), "fine") {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
}

// The restart was due before, and refused, for example.
func TestWithoutTheLeaderARestartIsHeldSinceTheHoldIfThatIsLater(t *testing.T) {
	set := func(minutes int, isExact bool) catalogpolicy.HoldTime {
		return catalogpolicy.HoldTime{At: ago(minutes), IsExact: isExact}
	}
	for name, test := range map[string]struct {
		workload, config catalogpolicy.HoldTime
		everything       string
		since            time.Time
		atLeast          bool
	}{
		"the workload":            {workload: set(2, true), since: ago(2)},
		"the workload, perhaps":   {workload: set(2, false), since: ago(2), atLeast: true},
		"the config":              {config: set(3, true), since: ago(3)},
		"before it was due":       {workload: set(9, true), since: ago(5)},
		"everything, too":         {workload: set(2, true), everything: "incident", since: ago(5)},
		"nobody knows since when": {workload: catalogpolicy.HoldTime{IsExact: true}, since: ago(5)},
	} {
		in := &overview.Input{Namespace: "shop", Now: now, Workloads: []facts.Workload{workload("web", "settings", due)}}
		in.Halts = facts.Halts{Known: true, Hold: test.everything}
		in.Workloads[0].Policy = &catalogpolicy.WorkloadPolicy{Hold: "migration", HoldSet: test.workload}
		if test.config != (catalogpolicy.HoldTime{}) {
			in.Workloads[0].Policy = nil
			in.Configs = []*content.Config{{Ref: configRef("settings"), Policy: &catalogpolicy.ConfigPolicy{Hold: "approval", HoldSet: test.config}}}
		}
		if row := lookAt(in).Workloads[0]; row.State != overview.Held || !row.Since.Equal(test.since) || row.AtLeast != test.atLeast {
			t.Errorf("%s: %s since %s (at least: %t)", name, row.State, row.Since, row.AtLeast)
		}
	}
}

func TestARestartIsHeldSinceTheFirstOfItsHolds(t *testing.T) {
	set := func(minutes int) catalogpolicy.HoldTime {
		return catalogpolicy.HoldTime{At: ago(minutes), IsExact: true}
	}
	for name, test := range map[string]struct{ workload, first, second, since int }{
		"the later hold is first by name": {0, 2, 9, 5},
		"the earlier hold is first":       {0, 9, 2, 5},
		"the workload's is later":         {2, 9, 0, 5},
		"both came after it was due":      {3, 4, 0, 4},
	} {
		in := &overview.Input{Namespace: "shop", Now: now, Workloads: []facts.Workload{workload("web", "a", due)}}
		in.Halts = facts.Halts{Known: true}
		in.Workloads[0].References = append(in.Workloads[0].References, template.Reference{Config: configRef("z")})
		if test.workload > 0 {
			in.Workloads[0].Policy = &catalogpolicy.WorkloadPolicy{Hold: "migration", HoldSet: set(test.workload)}
		}
		in.Configs = []*content.Config{{Ref: configRef("a"), Policy: &catalogpolicy.ConfigPolicy{Hold: "approval a", HoldSet: set(test.first)}}}
		if test.second > 0 {
			in.Configs = append(in.Configs, &content.Config{Ref: configRef("z"), Policy: &catalogpolicy.ConfigPolicy{Hold: "approval z", HoldSet: set(test.second)}})
		}
		if row := lookAt(in).Workloads[0]; row.State != overview.Held || !row.Since.Equal(ago(test.since)) {
			t.Errorf("%s: %s since %s, want %s", name, row.State, row.Since, ago(test.since))
		}
	}
}

func TestTheHoldsOfWorkloadsAreListedWithoutTheLeader(t *testing.T) {
	in := &overview.Input{Namespace: "shop", Now: now, Workloads: []facts.Workload{workload("web", "settings", due), workload("api", "settings"), workload("off", "settings")}}
	in.Workloads[0].Policy = &catalogpolicy.WorkloadPolicy{Hold: "migration\x1b", HoldSet: catalogpolicy.HoldTime{At: ago(7), IsExact: true}}
	in.Workloads[0].HeldBy = "kubectl-annotate"
	in.Workloads[1].Policy = &catalogpolicy.WorkloadPolicy{Hold: "audit"}
	in.Workloads[2].Policy, in.Workloads[2].Enabled = in.Workloads[1].Policy, false
	in.Take([]facts.Config{{Config: &content.Config{
		Ref:    names.ConfigRef{Kind: names.ConfigMap, Namespace: "shop", Name: "settings"},
		Policy: &catalogpolicy.ConfigPolicy{Hold: "approval", HoldSet: catalogpolicy.HoldTime{At: ago(8)}},
	}}})
	report := lookAt(in)
	var out bytes.Buffer
	if err := report.Print(&out, printers.PrintOptions{}, now); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"\nWorkloads on hold (release with: kubectl restarts unhold -n shop TYPE/NAME):\n  deployment/api: audit\n  deployment/web: migration\\u001b (since 2026-11-20T11:53:00Z) (set by kubectl-annotate)\n\n",
		"  configmap/settings: approval (at least since 2026-11-20T11:52:00Z)\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
}

// A new leader ends them at once.
func TestHaltsThatALeaderEndsAreNotListedWithoutIt(t *testing.T) {
	ref := names.ConfigRef{Kind: names.ConfigMap, Namespace: "shop", Name: "settings"}
	data := content.NewConfigMap(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "settings"}, Data: map[string]string{"LEVEL": "info"}})
	bad := gate.Halt{ID: "k3v7x2ab", Config: ref, Keys: []string{"LEVEL"}, Content: data.ContentID([]string{"LEVEL"}, content.ChecksumKey{}), Since: ago(10)}
	former := bad
	former.Content = "4d2877b176f6a31c"
	for name, test := range map[string]struct {
		halt    gate.Halt
		resume  string
		content *content.Config
		listed  int
	}{
		"it has the content that broke a workload": {bad, "", &data, 1},
		"another halt is resumed":                  {bad, "zzzzzzzz", &data, 1},
		"it has other content":                     {former, "", &data, 0},
		"its content cannot be read":               {former, "", nil, 1},
		"it is resumed":                            {bad, bad.ID, nil, 0},
	} {
		config := &content.Config{Ref: ref, Policy: &catalogpolicy.ConfigPolicy{Resume: test.resume}}
		in := &overview.Input{Namespace: "shop", Now: now, Configs: []*content.Config{config}, Halts: facts.Halts{Known: true, Active: []gate.Halt{test.halt}}}
		in.Workloads = []facts.Workload{workload("web", "settings", due)}
		if test.resume == "" && !slices.Contains(overview.Suspects(in), ref) {
			t.Errorf("%s: its content is not read", name)
		}
		if in.Contents = nil; test.content != nil {
			own := *test.content
			own.Policy = config.Policy
			in.Contents = map[names.ConfigRef]*content.Config{ref: &own}
		}
		in.Workloads[0].Record.Contradicted = ago(30) // it waited for others before
		report := overview.Look(in)
		if row := report.Workloads[0]; row.State == overview.Held && !row.Since.Equal(ago(10)) {
			t.Errorf("%s: held since %s", name, row.Since)
		}
		if isHeld := report.Counts[overview.Held] > 0; len(report.Halts) != test.listed || isHeld != (test.listed > 0) {
			t.Errorf("%s: %q, %v", name, report.Halts, report.Counts)
		}
	}
}

func TestWithoutTheLeaderAWorkloadThatIsLeftAloneIsNotSettled(t *testing.T) {
	warning := event(9, "deployment/neighbour", "TooManyReferences", status.NotRestarted+"the workloads of its namespace together have more than 100000 references")
	warning.Type = corev1.EventTypeWarning
	over := event(8, "deployment/fits-again", "TooManyReferences", "no longer")
	over.Type = corev1.EventTypeNormal
	earlier, former := warning, warning
	earlier.On, former.On = over.On, "deployment/recorded-since"
	former.At = now.Add(-2 * time.Hour) // before the record
	in := &overview.Input{Namespace: "shop", Now: now, Events: []facts.Event{warning, earlier, over, former}, Workloads: []facts.Workload{
		workload("large", "calm", func(w *facts.Workload) { w.Excess, w.References = catalogworkload.TooManyReferences, nil }),
		workload("neighbour", "calm"), workload("fits-again", "calm"), workload("recorded-since", "calm"),
		workload("odd", "calm", func(w *facts.Workload) { w.Unsupported = "it has no pod template" }),
	}, Configs: []*content.Config{heldConfig("calm", "")}}
	r := overview.Look(in)
	want := []overview.Row{
		{Namespace: "shop", Workload: "deployment/large", State: overview.LeftAlone, Why: "its pod template has more than 10000 references to ConfigMaps and Secrets"},
		{Namespace: "shop", Workload: "deployment/neighbour", State: overview.LeftAlone, Since: warning.At, AtLeast: true, Why: "the workloads of its namespace together have more than 100000 references"},
		{Namespace: "shop", Workload: "deployment/odd", State: overview.LeftAlone, Why: "it has no pod template"},
	}
	if diff := cmp.Diff(want, r.Workloads); diff != "" {
		t.Errorf("the rows differ:\n%s", diff)
	}
	if r.Counts[overview.Settled] != 2 {
		t.Errorf("%s", r.Summary)
	}
}

func TestAWorkloadIsNotSettledIfWhatItReadsCannotBeRead(t *testing.T) {
	secret := names.ConfigRef{Kind: names.Secret, Namespace: "shop", Name: "db"}
	elsewhere := names.ConfigRef{Kind: names.ConfigMap, Namespace: "shop", Name: "office/flags"}
	reads := func(ref names.ConfigRef) func(*facts.Workload) {
		return func(w *facts.Workload) {
			w.References = append(w.References, template.Reference{Config: ref})
			w.Record.Checksums = record.Checksums{ref: 1}
		}
	}
	in := &overview.Input{Namespace: "shop", Now: now, Unlisted: map[names.ConfigKind]bool{names.Secret: true}, Configs: []*content.Config{heldConfig("calm", "")}, Workloads: []facts.Workload{
		workload("calm", "calm"), workload("secret", "calm", reads(secret)), workload("shared", "calm", reads(elsewhere)),
		workload("idle", "calm", reads(secret), func(w *facts.Workload) { w.Idle = true }),
	}}
	report := overview.Look(in)
	if report.Summary != "4 workloads enabled in shop: 2 unknown, 2 settled." || report.Workloads[0].Why != "you may not list what it reads: secret/db" || report.Workloads[1].Why != "configmap/office/flags is of another namespace; -A looks at all" {
		t.Errorf("%s %+v", report.Summary, report.Workloads)
	}
	in.Namespace, in.Unlisted = "", nil
	if report := overview.Look(in); report.Counts[overview.Unknown] != 0 {
		t.Errorf("if all can be read: %+v", report.Workloads)
	}
}

func TestWithoutTheLeaderLongListsOfHoldsAndHaltsAreCut(t *testing.T) {
	in := &overview.Input{Namespace: "shop", Now: now, Halts: facts.Halts{Known: true}}
	for i := range 60 {
		name := fmt.Sprintf("c%02d", i)
		in.Workloads = append(in.Workloads, workload(name, name, policy(catalogpolicy.WorkloadPolicy{Hold: "why"})))
		in.Configs = append(in.Configs, heldConfig(name, "why"))
		in.Halts.Active = append(in.Halts.Active, gate.Halt{ID: name, Config: configRef(name)})
	}
	var out bytes.Buffer
	report := lookAt(in)
	if err := report.Print(&out, printers.PrintOptions{}, now); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); strings.Count(got, "\n  and 10 more\n") != 3 || strings.Count(got, ": why\n") != 100 || strings.Count(got, " has broken ") != 50 {
		t.Error(got)
	}
}
