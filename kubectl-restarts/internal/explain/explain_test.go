package explain_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/optin"
	catalogpolicy "kubernetes-deployment-restart-controller/catalog/policy"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/template"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/internal/status"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/explain"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/facts"
)

var (
	now      = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	settings = names.ConfigRef{Kind: names.ConfigMap, Namespace: "shop", Name: "settings"}
	db       = names.ConfigRef{Kind: names.Secret, Namespace: "shop", Name: "db"}
)

// input is about a Deployment that reads one key of the settings, which were recorded an hour ago.
func input(adjust ...func(*explain.Input)) *explain.Input {
	config := configMap("info", nil)
	in := &explain.Input{Now: now, Configs: []*content.Config{config}, Halts: facts.Halts{Known: true}}
	level := template.Selection{Names: []string{"LEVEL"}, DataOnly: true}
	in.Workload = facts.Workload{Enabled: true, Ground: optin.EnabledByItself, Workload: workload.Workload{
		Object: workload.Object{
			Ref:        names.WorkloadRef{Kind: names.Deployment, Namespace: "shop", Name: "web"},
			References: []template.Reference{{Config: settings, Keys: level, Container: "main", Channel: template.Environment}},
			Rollout:    workload.Rollout{Wanted: 3, Updated: 3, Available: 3, Observed: true},
		},
		Record: record.Record{
			Trusted: true, Written: now.Add(-time.Hour),
			Checksums: record.Checksums{settings: config.Checksum([]template.Selection{level}, content.ChecksumKey{})},
			Room:      1000,
		},
	}}
	for _, f := range adjust {
		f(in)
	}
	return in
}

func configMap(level string, annotations map[string]string) *content.Config {
	config := content.NewConfigMap(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "settings", Annotations: annotations},
		Data:       map[string]string{"LEVEL": level, "OTHER": "x"},
	})
	return &config
}

func edited(in *explain.Input) { in.Configs = []*content.Config{configMap("debug", nil)} }

func readsSecret(in *explain.Input) {
	in.Workload.References = append(in.Workload.References, template.Reference{Config: db, Keys: template.Selection{Names: []string{"swordfish", "user"}}, Channel: template.Volume, Optional: true})
	config := content.NewSecret(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db"}})
	in.Configs = append(in.Configs, &config)
}

func events(reason, at string) func(*explain.Input) {
	return func(in *explain.Input) {
		parsed, _ := time.Parse(time.RFC3339, at)
		in.Events = []facts.Event{{At: parsed, Reason: reason, Message: "cannot apply a config change, trying again: no restarts on a Friday."}}
	}
}

func leads(is bool) func(*explain.Input) { return func(in *explain.Input) { in.Leads = &is } }

func policy(p catalogpolicy.WorkloadPolicy) func(*explain.Input) {
	return func(in *explain.Input) { in.Workload.Policy = &p }
}

func halted(entry string) func(*explain.Input) {
	return func(in *explain.Input) {
		content := in.Configs[0].ContentID([]string{"LEVEL"}, content.ChecksumKey{})
		in.Halts = facts.NewHalts(map[string]string{"configmap.shop.settings": strings.Replace(entry, present, content, 1)})
	}
}

// present stands for the id of the content that is there.
const present = "4d2877b176f6a31c"

const halt = `[{"id":"k3v7x2ab","config":"configmap/shop/settings","keys":["LEVEL"],"content":"` + present + `","failed":["deployment/shop/api"],"since":"2026-11-20T11:46:46Z"}]`

func TestTheConclusionIsWhatMattersMost(t *testing.T) {
	for want, adjust := range map[string][]func(*explain.Input){
		"is up to date.": nil,
		"is up to date; an edit would be held: migration.": {policy(catalogpolicy.WorkloadPolicy{Hold: "migration"})},
		"is up to date as far as its ConfigMaps show.":     {readsSecret},
		"is up to date as far as the times of edits of its Secrets show.": {readsSecret, func(in *explain.Input) {
			in.Workload.References = in.Workload.References[1:]
		}},
		"is not enabled, so no edit restarts it: its namespace is ignored by --ignore-namespace.": {func(in *explain.Input) {
			in.Workload.Enabled, in.Workload.Ground = false, optin.NamespaceIgnored
		}},
		"reads no ConfigMap or Secret that counts, so no edit restarts it.": {func(in *explain.Input) { in.Workload.References = nil }},
		"wants no pods": {func(in *explain.Input) {
			in.Workload.Idle = true
			in.Workload.Rollout = workload.Rollout{Observed: true}
		}},
		"wants no pods; pods that start later read the present content. If another controller makes pods from its pod template, such as Argo Rollouts or Flagger, an edit does not restart those.": {edited, func(in *explain.Input) { in.Workload.Idle = true }},
		"has no record yet": {func(in *explain.Input) { in.Workload.Record = record.Record{} }},
		"is being deleted":  {func(in *explain.Input) { in.Workload.Deleting = true }},
		"is left alone, so no config change restarts it: its pod template has more than 10000 references": {func(in *explain.Input) { in.Workload.Excess = workload.TooManyReferences }},
		"is left alone, so no config change restarts it: it has no pod template.":                         {func(in *explain.Input) { in.Workload.Unsupported = "it has no pod template" }},
		"is left alone, so no config change restarts it: the workloads of its namespace": {func(in *explain.Input) {
			in.Events = []facts.Event{{Reason: "TooManyReferences", Type: "Warning", At: now, Message: status.NotRestarted + "the workloads of its namespace together have too many"}}
		}},
		"is rolling, or cannot: it was restarted at 2026-11-20T11:00:00Z (60m ago)": {func(in *explain.Input) {
			in.Workload.Timestamp, in.Workload.Rollout.Available = "2026-11-20T11:00:00Z", 1
		}},
		"was restarted at 2026-11-20T11:00:00Z (60m ago), and not all of its pods run: failed 15s after it restarted: container c of pod web-1: CrashLoopBackOff; look with: kubectl logs.": {func(in *explain.Input) {
			in.Workload.Timestamp, in.Workload.Rollout.Available = "2026-11-20T11:00:00Z", 1
			in.Events = []facts.Event{{At: now.Add(-time.Hour), Reason: "RestartNotDelivered", Message: "failed 15s after it restarted: container c of pod web-1: CrashLoopBackOff; look with: kubectl logs"}}
		}},
		"has not restarted yet for what has changed in configmap/settings: nothing that you can see":                                                                                                                               {edited},
		"has not restarted yet for what has changed in configmap/settings: the last Event about that says: cannot apply a config change, trying again: no restarts on a Friday (at least since 2026-11-20T11:46:46Z).":             {edited, events("RestartFailed", "2026-11-20T11:46:46Z")},
		"configmap/settings: nothing that you can see holds it back":                                                                                                                                                               {edited, events("RestartFailed", "2026-11-20T10:00:00Z"), func(in *explain.Input) { in.Workload.Timestamp = "2026-11-20T11:00:00Z" }},
		"may or may not be up to date, because you may not read all that it reads, such as configmap/settings.":                                                                                                                    {func(in *explain.Input) { in.Unreadable = in.Workload.Configs()[:1] }},
		"it waits, probably because no replica of the controller leads. Besides, the last Event about an attempt says: cannot apply a config change, trying again: no restarts on a Friday (at least since 2026-11-20T11:46:46Z).": {edited, leads(false), events("RestartFailed", "2026-11-20T11:46:46Z")},
		"or its turn, or the controller does not run, or lacks a permission: look at its /readyz or log.":                                                                                                                          {edited},
		"its grace period of 2m0s":             {edited, func(in *explain.Input) { in.Workload.GracePeriod = &workload.GracePeriod{Period: 2 * time.Minute} }},
		"the workload is held: migration":      {edited, policy(catalogpolicy.WorkloadPolicy{Hold: "migration"})},
		"all restarts are held: incident":      {edited, func(in *explain.Input) { in.Halts.Hold = "incident" }},
		"its window opens at 2026-11-20T22:00": {edited, policy(catalogpolicy.WorkloadPolicy{Window: "0 22 * * 1-5 6h"})},
		"the configmap/settings is held: approval": {func(in *explain.Input) {
			in.Configs = []*content.Config{configMap("debug", map[string]string{"com.xing.deployment-restart.hold": "approval"})}
		}},
		"it is halted (see Halts): configmap/settings (LEVEL) has broken deployment/api, halted since 2026-11-20T11:46:46Z.": {edited, halted(halt)},
		"was restarted by eviction at 2026-11-20T11:00:00Z (60m ago); pods that were created before may be left.": {
			policy(catalogpolicy.WorkloadPolicy{Method: catalogpolicy.ByEviction}), func(in *explain.Input) { in.Workload.Record.Evict = uint32(now.Add(-time.Hour).Unix()) }, //nolint:gosec // a time of this century
		},
		"its pod template has changed and is not rolled out": {edited, policy(catalogpolicy.WorkloadPolicy{Method: catalogpolicy.ByEviction}), func(in *explain.Input) {
			in.Workload.TemplateHold, in.Workload.Rollout.Outdated = workload.OnDelete, 1
		}},
		"it is paused": {edited, func(in *explain.Input) { in.Workload.Hold = workload.Paused }},
	} {
		if got := explain.Explain(input(adjust...)).Conclusion; !strings.Contains(got, want) || !strings.HasPrefix(got, "deployment/web in shop ") || !strings.HasSuffix(got, ".") {
			t.Errorf("the conclusion is %q, want %q", got, want)
		}
	}
}

func TestAWorkloadThatHasFallenBackSaysWhatRunsAndHowToGoOn(t *testing.T) {
	report := explain.Explain(input(func(in *explain.Input) {
		in.Workload.Rollout.Course = workload.Aborted
		in.Workload.FellBack = "The release of ReplicaSet \"web-2\" has failed."
	}))
	var out bytes.Buffer
	if err := report.Print(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"deployment/web in shop runs an earlier release, because the present one has failed, and is up to date",
		"Pods:         3 wanted, 3 of an earlier release, 0 of the one that has failed, 3 available\n",
		"Fallen back:  The release of ReplicaSet \"web-2\" has failed.\n", "for the pods of an earlier release\n", "Method:       by eviction",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it lacks %q:\n%s", want, out.String())
		}
	}
}

func TestAWorkloadThatWaitsAtAStepSaysSoAndHowToGoOn(t *testing.T) {
	const message = `The release waits at step 1 of 2 (1), with 1 of 3 pods of ReplicaSet "web-2". To go on, set the annotation.`
	report := explain.Explain(input(func(in *explain.Input) {
		in.Workload.Timestamp = "2026-11-20T11:00:00Z" // which does not roll for that
		in.Workload.Rollout.Updated, in.Workload.Rollout.Outdated, in.Workload.AtStep = 1, 2, message
	}))
	var out bytes.Buffer
	if err := report.Print(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"deployment/web in shop waits at a step of its rollout, and for nothing else.\n",
		"Pods:         3 wanted, 1 of the present template, 2 of earlier ones, 3 available\n", "At a step:    " + message + "\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it lacks %q:\n%s", want, out.String())
		}
	}
}

func TestAWorkloadThatLacksAConfigIsSaidToLackItWhateverElseIsTheCase(t *testing.T) {
	const gone = "configmap/gone does not exist: no new pod can start; create the config or key that is missing, or make the reference optional."
	for name, test := range map[string]struct {
		want   string
		adjust func(*explain.Input)
	}{
		"nothing":            {"lacks a config: " + gone, func(*explain.Input) {}},
		"it has no record":   {"lacks a config: " + gone, func(in *explain.Input) { in.Workload.Record = record.Record{} }},
		"no record to trust": {"lacks a config: " + gone, func(in *explain.Input) { in.Workload.Record.Trusted = false }},
		"its pods do not run": {"lacks a config: " + gone, func(in *explain.Input) {
			in.Workload.Timestamp, in.Workload.Rollout.Available = "2026-11-20T11:00:00Z", 1
		}},
		"a restart is due": {"has not restarted yet for what has changed in configmap/settings: " + gone, edited},
		"its pods restart by hand": {"has not restarted yet for what has changed in configmap/settings: it is paused: the pods restart when it is resumed. Besides, " + gone, func(in *explain.Input) {
			edited(in)
			in.Workload.Hold = workload.Paused
		}},
		"a restart is held": {"has not restarted yet for what has changed in configmap/settings: the workload is held: migration. Besides, " + gone, func(in *explain.Input) {
			edited(in)
			policy(catalogpolicy.WorkloadPolicy{Hold: "migration"})(in)
		}},
	} {
		in := input(test.adjust)
		in.Workload.References = append(in.Workload.References, template.Reference{Config: names.ConfigRef{Kind: names.ConfigMap, Namespace: "shop", Name: "gone"}, Channel: template.Volume})
		if got := explain.Explain(in).Conclusion; got != "deployment/web in shop "+test.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestTheConclusionForProgramsHasTimesWithoutAges(t *testing.T) {
	rolling := input(func(in *explain.Input) {
		in.Workload.Timestamp, in.Workload.Rollout.Available = "2026-11-20T11:00:00Z", 1
	})
	due := asked(status.Workload{Decision: status.Decision{Outcome: "restart"}, Gate: &status.Answer{MayBegin: true}, Change: &status.Change{Due: now.Add(time.Minute)}})
	for want, in := range map[string]*explain.Input{
		"deployment/web in shop is rolling, or cannot: it was restarted at 2026-11-20T11:00:00Z, and not all of its pods run.": rolling,
		"deployment/web in shop restarts when its grace period ends, at 2026-11-20T12:01:00Z.":                                 due,
	} {
		encoded, err := json.Marshal(explain.Explain(in))
		if err != nil || !strings.Contains(string(encoded), `"conclusion":"`+want+`"`) {
			t.Errorf("%s, %v, want %s", encoded, err, want)
		}
	}
}

func TestUrgentContentWaitsForNoWindow(t *testing.T) {
	config := configMap("debug", nil)
	for id, waits := range map[string]bool{facts.ContentID(config): false, "4d2877b176f6a31c": true} {
		in := input(policy(catalogpolicy.WorkloadPolicy{Window: "0 22 * * 1-5 6h"}))
		in.Configs = []*content.Config{configMap("debug", map[string]string{"com.xing.deployment-restart.urgent": id})}
		if got := explain.Explain(in).Conclusion; strings.Contains(got, "its window opens at") != waits {
			t.Errorf("with the id %s: %q", id, got)
		}
	}
}

// Whoever waits may not know of it.
func TestTheWindowOfAConfigIsNamed(t *testing.T) {
	in := input()
	in.Configs = []*content.Config{configMap("debug", map[string]string{"com.xing.deployment-restart.window": "0 22 * * 1-5 6h"})}
	if got := explain.Explain(in).Conclusion; !strings.Contains(got, "the window of configmap/settings opens at 2026-11-20T22:00:00Z") {
		t.Errorf("it says %q", got)
	}
}

func TestAHaltThatIsResumedOrCannotBeReadDoesNotCount(t *testing.T) {
	for _, entry := range []string{strings.Replace(halt, present, "ffff77b176f6a31c", 1), strings.Replace(halt, `"since"`, `"resumed":"2026-11-20T11:50:00Z","since"`, 1), "{", `[{"id":"a"}]`, strings.Replace(halt, "k3v7x2ab", "$(reboot)", 1)} {
		if report := explain.Explain(input(edited, halted(entry))); len(report.Halts) > 0 || strings.Contains(report.Conclusion, "halted") {
			t.Errorf("%s counts: %s", entry, report.Conclusion)
		}
	}
}

func TestWhatIsReadThroughTheAPIIsShown(t *testing.T) {
	in := input()
	there := names.ConfigRef{Kind: names.ConfigMap, Namespace: "shop", Name: "shared/flags"}
	in.Workload.References = append(in.Workload.References,
		template.Reference{Config: settings, Keys: template.Selection{}, Channel: template.API, Optional: true},
		template.Reference{Config: there, Keys: template.Selection{}, Channel: template.API, Optional: true})
	var got []string
	for _, row := range explain.Explain(in).Configs {
		got = append(got, row.Config+" as "+row.ReadAs+": "+row.Content)
	}
	want := []string{"configmap/settings as environment, API: differs from the record", "configmap/shared/flags as API: missing"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// What the pods have mounted is not read, and the record has no content of it.
func TestAClassIsShownWithoutItsContent(t *testing.T) {
	in := input()
	class := names.ConfigRef{Kind: names.SecretProviderClass, Namespace: "shop", Name: "db"}
	in.Workload.References = append(in.Workload.References, template.Reference{Config: class, Channel: template.Volume})
	in.Workload.Record.Checksums[class] = 1
	report := explain.Explain(in)
	want := explain.ConfigRow{Config: "secretproviderclass/db", Keys: "all", ReadAs: "files", Content: "each pod has its own, which counts with --csi"}
	if diff := cmp.Diff(want, report.Configs[1]); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(report.Conclusion, "is up to date as far as its ConfigMaps show.") {
		t.Errorf("the conclusion is %q", report.Conclusion)
	}
}

// Rules name keys. Which keys of a Secret they leave is not known, since its data is not read.
func TestTheRulesAboutASecretAreNotShown(t *testing.T) {
	in := input()
	for _, ref := range []names.ConfigRef{settings, db} {
		in.Workload.References = append(in.Workload.References, template.Reference{Config: ref, Keys: template.Selection{Names: []string{"-swordfish"}, ByRules: true}})
	}
	in.Workload.Filtering = filteredBy(t, "configmap/settings:swordfish,secret/db:swordfish")
	want := []string{"configmap/settings: all but swordfish", "secret/db: those that only and ignore leave"}
	if diff := cmp.Diff(want, keysOf(in)); diff != "" {
		t.Error(diff)
	}
}

func keysOf(in *explain.Input) (keys []string) {
	for _, row := range explain.Explain(in).Configs {
		keys = append(keys, row.Config+": "+row.Keys)
	}
	return keys
}

// filteredBy returns what a workload with the annotation has.
func filteredBy(t *testing.T, ignored string) *workload.Filtering {
	t.Helper()
	w, err := workload.NewWorkload(names.Deployment, &workload.Parts{
		Meta:     &metav1.ObjectMeta{Namespace: "shop", Annotations: map[string]string{annotation.IgnoreAnnotation: ignored}},
		Selector: &metav1.LabelSelector{}, Template: &corev1.PodTemplateSpec{},
	})
	if err != nil {
		t.Fatal(err)
	}
	return w.Filtering
}

func TestKeysThatSomethingReplacesAreLeftOut(t *testing.T) {
	missing := names.ConfigRef{Kind: names.ConfigMap, Namespace: "shop", Name: "missing"}
	for hidden, want := range map[string][]string{
		"OTHER":     {"configmap/missing: all that nothing replaces", "configmap/settings: all but OTHER", "secret/db: all that nothing replaces"},
		"swordfish": {"configmap/missing: all that nothing replaces", "configmap/settings: all", "secret/db: all that nothing replaces"},
	} {
		in := input()
		in.Workload.References = nil
		for _, ref := range []names.ConfigRef{missing, settings, db} {
			in.Workload.References = append(in.Workload.References, template.Reference{Config: ref, Keys: template.Selection{Names: []string{"-" + hidden}, ByRules: true}})
		}
		if diff := cmp.Diff(want, keysOf(in)); diff != "" {
			t.Error(diff)
		}
	}
}

func TestTheReportIsSafeAndNamesNoKeyOfASecret(t *testing.T) {
	in := input(edited, readsSecret, policy(catalogpolicy.WorkloadPolicy{Wave: -1, Hold: "\x1b[2Jmigration", Problem: "annotation x: \"\x1b\" is wrong"}), halted(halt))
	in.Workload.Timestamp, in.Workload.Cause = "2026-11-20T11:58:00.123Z", "configmap/settings: LEVEL"
	in.Events = []facts.Event{{At: now.Add(-time.Minute), Reason: "Restarting", Message: "two\nlines", Count: 2}}
	report := explain.Explain(in)
	var out bytes.Buffer
	if err := report.Print(&out); err != nil {
		t.Fatal(err)
	}
	want := strings.TrimPrefix(`
deployment/web in shop has not restarted yet for what has changed in configmap/settings: the workload is held: \u001b[2Jmigration.

Enabled:      yes, by its annotation com.xing.deployment-restart
Pods:         3 wanted, 3 of the present template, 0 of earlier ones, 3 available
Last restart: 2026-11-20T11:58:00Z (119s ago)
  Cause:      configmap/settings: LEVEL
Record:       made at 2026-11-20T11:00:00Z for the present pod template
Wave:         -1
Window:       none that applies
Hold:         the workload (release with: kubectl restarts unhold -n shop deployment/web): \u001b[2Jmigration
Grace period: that of the controller
Halts:        configmap/settings (LEVEL) has broken deployment/api, halted since 2026-11-20T11:46:46Z; revert it, or resume with: kubectl restarts resume -n shop configmap/settings k3v7x2ab
Problems:     annotation x: "\u001b" is wrong

CONFIG               KEYS     READ AS       OPTIONAL   CONTENT
configmap/settings   LEVEL    environment   no         differs from the record
secret/db            2 keys   files         yes        not compared: its data is not read

Events:       60s ago  Restarting  two\u000alines (2 times)

`, "\n") + explain.OnlyLeader + "\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
	encoded, err := json.Marshal(report)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"lastRestart":{"at":"2026-11-20T11:58:00.123Z","cause":`, `"events":[{"at":"2026-11-20T11:59:00Z","type":"","reason":"Restarting","message":"two\nlines","count":2}]`,
	} {
		if !strings.Contains(string(encoded), want) {
			t.Errorf("the JSON lacks %s:\n%s", want, encoded)
		}
	}
}

// The API accepts any text as the name of the ConfigMap of a volume, and as the key of an item.
func TestTheTableOfConfigsIsSafeForATerminalWhateverAPodTemplateSays(t *testing.T) {
	for _, name := range []string{"a\u009b2Jb", "a\u202eb", "a\bb", "a\tall\tfiles\tno\tas recorded"} {
		report := explain.Explain(input(func(in *explain.Input) {
			ref := names.ConfigRef{Kind: names.ConfigMap, Namespace: "shop", Name: name}
			in.Workload.References = append(in.Workload.References, template.Reference{Config: ref, Channel: template.Volume, Optional: true})
		}))
		var out strings.Builder
		if err := report.Print(&out); err != nil {
			t.Fatal(err)
		}
		if strings.ContainsAny(out.String(), "\u009b\u202e\b\t") || strings.Count(out.String(), "as recorded") > 1 {
			t.Errorf("%q is printed as it is: %q", name, out.String())
		}
	}
}

func TestTheTableOfConfigsIsNotMuchLargerThanItsPodTemplate(t *testing.T) {
	report := explain.Explain(input(func(in *explain.Input) {
		for i := range 2000 {
			ref := names.ConfigRef{Kind: names.ConfigMap, Namespace: "shop", Name: fmt.Sprintf("c%04d", i)}
			keys := template.Selection{Names: []string{"k"}}
			if i == 0 {
				keys.Names[0] = strings.Repeat("k", 100_000)
			}
			in.Workload.References = append(in.Workload.References, template.Reference{Config: ref, Keys: keys, Channel: template.Volume})
		}
	}))
	var out strings.Builder
	if err := report.Print(&out); err != nil {
		t.Fatal(err)
	}
	if out.Len() > 1<<20 || !strings.Contains(out.String(), "and 1701 further configs\n") {
		t.Errorf("%d bytes are printed", out.Len())
	}
}

func TestAWorkloadWhoseAnnotationsLeaveNothingIsSaidToReadNothingThatCounts(t *testing.T) {
	for note, want := range map[string]string{
		annotation.OnlyAnnotation + "=configmap/setings": "deployment/web in shop reads no ConfigMap or Secret that counts, so no edit restarts it (its annotation `only` names \"configmap/setings\").",
		annotation.IgnoreAnnotation + "=configmap/*":     "deployment/web in shop reads no ConfigMap or Secret that counts, so no edit restarts it (its annotation `ignore` names \"configmap/*\").",
	} {
		name, value, _ := strings.Cut(note, "=")
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", Annotations: map[string]string{name: value}}}
		d.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
		d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main", EnvFrom: []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: "settings"},
		}}}}}
		parts := workload.PartsOfDeployment(d)
		w, err := workload.NewWorkload(names.Deployment, &parts)
		if err != nil {
			t.Fatal(err)
		}
		in := input(func(in *explain.Input) { in.Workload.Workload = w })
		r := explain.Explain(in)
		if r.Conclusion != want {
			t.Errorf("%s: %s", note, r.Conclusion)
		}
		if isMistake := name == annotation.OnlyAnnotation; isMistake != slices.ContainsFunc(r.Problems, func(p string) bool { return strings.Contains(p, "names nothing that the pod template reads") }) {
			t.Errorf("%s: the problems %q", note, r.Problems)
		}
		if isMistake := in.Workload.Wrong() != ""; isMistake != (name == annotation.OnlyAnnotation) {
			t.Errorf("%s: %q", note, in.Workload.Wrong())
		}
	}
}

func TestWithoutTheLeaderTheAnnotationSaysSinceWhenAWorkloadIsHeld(t *testing.T) {
	set := catalogpolicy.HoldTime{At: now.Add(-time.Hour), IsExact: true}
	report := explain.Explain(input(policy(catalogpolicy.WorkloadPolicy{Hold: "migration", HoldSet: set})))
	if want := "): migration (since 2026-11-20T11:00:00Z)"; len(report.Holds) != 1 || !strings.HasSuffix(report.Holds[0], want) {
		t.Errorf("%q, want %s", report.Holds, want)
	}
}

func TestARestartThatIsHeldAndRefusedIsExplainedWithBothUntilTheRefusalIsOver(t *testing.T) {
	const refusal = ". Besides, the last Event about an attempt says: cannot apply a config change, trying again: no restarts on a Friday (at least since 2026-11-20T11:46:46Z)."
	failed := events("RestartFailed", "2026-11-20T11:46:46Z")
	resumed := func(message string) func(*explain.Input) {
		return func(in *explain.Input) {
			in.Events = append(in.Events, facts.Event{At: in.Events[0].At, Reason: "RestartsResumed", Message: message})
		}
	}
	for name, test := range map[string]struct {
		isRefused bool
		adjust    []func(*explain.Input)
	}{
		"a hold":   {true, []func(*explain.Input){policy(catalogpolicy.WorkloadPolicy{Hold: "migration"}), failed}},
		"a halt":   {true, []func(*explain.Input){halted(halt), failed}},
		"a window": {true, []func(*explain.Input){policy(catalogpolicy.WorkloadPolicy{Window: "0 22 * * 1-5 6h"}), failed}},
		"an Event of each leader": {true, []func(*explain.Input){policy(catalogpolicy.WorkloadPolicy{Hold: "migration"}), func(in *explain.Input) {
			failed(in)
			in.Events[0].First = in.Events[0].At
			in.Events[0].At = now
			in.Events = append(in.Events, facts.Event{At: in.Events[0].First, Reason: "RestartFailed"}) // of the leader before
		}}},
		"a halt that is over":       {true, []func(*explain.Input){policy(catalogpolicy.WorkloadPolicy{Hold: "migration"}), failed, resumed("restart is no longer held by a halt")}},
		"nothing was due":           {false, []func(*explain.Input){policy(catalogpolicy.WorkloadPolicy{Hold: "migration"}), failed, resumed("restart is no longer held by a halt. None is due any more")}},
		"a refusal that is over":    {false, []func(*explain.Input){policy(catalogpolicy.WorkloadPolicy{Hold: "migration"}), failed, resumed("the controller may write to this workload again; its restart waits for its hold")}},
		"a refusal before it waits": {false, []func(*explain.Input){policy(catalogpolicy.WorkloadPolicy{Hold: "migration"}), failed, func(in *explain.Input) { in.Workload.Timestamp = "2026-11-20T11:50:00Z" }}},
	} {
		got := explain.Explain(input(append([]func(*explain.Input){edited}, test.adjust...)...)).Conclusion
		if strings.HasSuffix(got, refusal) != test.isRefused || strings.Contains(got, "Friday") != test.isRefused {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestWhetherTheEditOfASecretMattersIsNotKnownWithoutTheLeader(t *testing.T) {
	const want = "deployment/web in shop may have to restart: secret/db was edited at 2026-11-20T11:55:00Z, after its record was made, and only the leader can compare a Secret; if it cannot, its /readyz and log say why"
	for end, adjust := range map[string]func(*explain.Input){
		".": func(in *explain.Input) { in.Unreadable = in.Workload.Configs()[:1] },
		"; an edit would be held: migration. Besides, the last Event about an attempt says: cannot apply a config change, trying again: no restarts on a Friday (at least since 2026-11-20T11:56:00Z).": func(in *explain.Input) {
			policy(catalogpolicy.WorkloadPolicy{Hold: "migration"})(in)
			events("RestartFailed", "2026-11-20T11:56:00Z")(in)
		},
	} {
		report := explain.Explain(input(readsSecret, func(in *explain.Input) {
			in.Configs[1].Edits = []annotation.Edit{{Key: "user", At: now.Add(-5 * time.Minute)}}
		}, adjust))
		if report.Conclusion != want+end || report.Configs[1].Content != "edited after the record; its data is not read" {
			t.Errorf("%q, %q", report.Conclusion, report.Configs[1].Content)
		}
	}
}

func TestWithoutTheLeaderAnEventSaysSinceWhenAnAnnotationCannotBeUsed(t *testing.T) {
	report := explain.Explain(input(policy(catalogpolicy.WorkloadPolicy{Problem: "annotation wave: wrong; 0 is used instead", Window: "every night"}), func(in *explain.Input) {
		in.Events = []facts.Event{
			{At: now.Add(-time.Minute), Reason: "InvalidAnnotation", Message: "annotation hodl: unknown; annotation wave: wrong; the wave is 0"},
			{At: now.Add(-time.Hour), Reason: "InvalidAnnotation", Message: "annotation wave: wrong"},
		}
	}))
	want := "annotation wave: wrong; 0 is used instead (at least since 2026-11-20T11:59:00Z)"
	if len(report.Problems) != 2 || report.Problems[0] != want || strings.Contains(report.Problems[1], "since") {
		t.Errorf("%q, want %s", report.Problems, want)
	}
}
