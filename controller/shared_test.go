package controller

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/optin"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/controller/objecttest"
)

var alsoFlags = map[string]string{annotation.AlsoAnnotation: "configmap/others/flags"}

// shared lets the watch show the ConfigMap flags of the namespace others.
func (w *world) shared(value, readers string) {
	cm := &corev1.ConfigMap{ObjectMeta: w.meta("others/flags"), Data: map[string]string{"k": value}}
	if readers != "" {
		cm.Annotations = map[string]string{annotation.ReadersAnnotation: readers}
	}
	w.configMaps["others/flags"] = cm
	w.show("configmaps", cm)
}

func TestReadersElsewhereRestartForAConfigThatIsSharedWithThem(t *testing.T) {
	w := ruled(t, optin.Rules{})
	w.shared("1", "")
	w.runs("a/web", alsoFlags)
	w.runs("b/web", alsoFlags)
	settle(w)
	w.shared("2", "")
	w.requireRestarted(t, "while it is not shared")
	w.shared("2", "a")
	w.requireRestarted(t, "when it is shared")
	w.shared("3", "a")
	w.requireRestarted(t, "after an edit", "a/web")
	for namespace, want := range map[string]bool{"a": true, "b": false} {
		reads := w.controller.ExplainWorkload("deployment/"+namespace+"/web", time.Now()).Reads.Items
		if reads[0].Config != "configmap/"+namespace+"/others/flags" || (reads[0].Exists != nil) != want || reads[0].ReadAs != "API" {
			t.Errorf("%s reads %+v", namespace, reads)
		}
	}
	if explained := w.controller.ExplainConfig("configmap/others/flags", time.Now()); explained.Readers.Total != 0 || explained.SharedWith != "a" {
		t.Errorf("its owner sees %+v, shared with %q", explained.Readers, explained.SharedWith)
	}
	if explained := w.controller.ExplainConfig("configmap/a/others/flags", time.Now()); explained.Readers.Total != 1 || explained.Exists == nil || explained.SharedWith != "" {
		t.Errorf("its readers see %+v", explained)
	}
}

func TestAListShowsWithWhomAConfigIsShared(t *testing.T) {
	w := ruled(t, optin.Rules{})
	w.shared("1", "")
	w.runs("a/web", alsoFlags)
	settle(w)
	list(w, "configmaps", w.configMaps)
	w.configMaps["others/flags"].Annotations = map[string]string{annotation.ReadersAnnotation: "a"}
	list(w, "configmaps", w.configMaps)
	settle(w)
	if record := w.deployments["a/web"].Annotations[annotation.ChecksumsAnnotation]; !strings.Contains(record, `"configmap/a/others/flags"`) {
		t.Errorf("the record is %s", record)
	}
	w.shared("2", "a")
	w.requireRestarted(t, "after an edit", "a/web")
	w.shared("3", "a")
	w.configMaps["others/flags"].Annotations = nil
	list(w, "configmaps", w.configMaps)
	if waiting := w.controller.changes.Configs(objecttest.DeploymentNamed("a/web")); len(waiting) > 0 {
		t.Errorf("%v waits, although it is no longer shared", waiting)
	}
}

// Readers of one namespace can halt the content neither for its owner nor for readers elsewhere, and the owner
// does not learn their names.
func TestAFailureOfAReaderStaysInItsNamespace(t *testing.T) {
	w := gradual(t)
	log := w.log()
	w.shared("1", "*")
	for _, name := range []string{"a/web", "a/worker", "b/web"} {
		w.runs(name, alsoFlags)
	}
	w.runs("others/web", nil, "flags")
	settle(w)
	w.shared("2", "*")
	settle(w)
	first := "a/web"
	if w.deployments[first].Spec.Template.Annotations[annotation.TimestampAnnotation] == "" {
		first = "a/worker"
	}
	w.requireRestarted(t, "slowly, in each namespace", first, "b/web", "others/web")
	w.fails(t, first)
	settle(w)
	halted := w.controller.gate.ActiveHalts()
	if here := (names.ConfigRef{Kind: names.ConfigMap, Namespace: "a", Name: "others/flags"}); len(halted) != 1 || halted[0].Config != here {
		t.Fatalf("halted: %+v", halted)
	}
	if waiting := w.controller.gate.Ledger.Waiting(); waiting[gate.Halted]+waiting[gate.SlowStart] == 0 {
		t.Errorf("nobody waits: %v", waiting)
	}
	if events := w.controller.reports.Take(); len(events) > 0 {
		t.Errorf("its owner is told %+v", events)
	}
	if !strings.Contains(log.String(), "configmap/a/others/flags") {
		t.Errorf("the log does not name the config: %s", log)
	}
	w.configMaps["others/flags"].Annotations[annotation.ResumeAnnotation] = halted[0].ID
	w.show("configmaps", w.configMaps["others/flags"])
	w.requireRestarted(t, "when the owner resumes", "a/web", "a/worker", "b/web", "others/web")
}

// The new content must reach nobody, and each restart would bring it.
func TestAHoldOnASharedConfigHoldsEveryRestartOfAReaderUntilItIgnoresTheConfig(t *testing.T) {
	w := ruled(t, optin.Rules{})
	w.shared("1", "*")
	w.edited("a/c", "1")
	w.runs("a/web", alsoFlags, "c")
	settle(w)
	held := &corev1.ConfigMap{ObjectMeta: w.meta("others/flags"), Data: map[string]string{"k": "2"}}
	held.Annotations = map[string]string{annotation.ReadersAnnotation: "*", annotation.HoldAnnotation: "until Monday"}
	w.configMaps["others/flags"] = held
	w.show("configmaps", held)
	settle(w)
	w.edited("a/c", "2")
	w.requireRestarted(t, "for its own config while the shared one is held")
	if waits := fmt.Sprintf("%+v", w.controller.Overview("", time.Now()).Held.Items); !strings.Contains(waits, "the configmap/others/flags is held: until Monday") {
		t.Errorf("it is not said that the shared config holds the restart: %s", waits)
	}
	ignoring := w.deployments["a/web"].DeepCopy()
	ignoring.ResourceVersion = w.nextVersion()
	ignoring.Annotations[annotation.IgnoreAnnotation] = "configmap/others/flags"
	w.deployments["a/web"] = ignoring
	w.show("deployments", ignoring)
	w.requireRestarted(t, "for its own config when it ignores the shared one", "a/web")
}

func TestAHaltOfASharedConfigHasAnEntryOfItsOwn(t *testing.T) {
	for config, want := range map[string]string{
		"configmap/a/flags":        "configmap.a.flags",
		"configmap/a/others.flags": "configmap.a.others.flags",
		"configmap/a/others/flags": "configmap.a.others_flags",
		"configmap/*/flags":        "configmap._.flags",
	} {
		if got := gate.EntryOf(config); got != want {
			t.Errorf("%s: %s, want %s", config, got, want)
		}
	}
	resume := gate.ResumeCommand(names.ConfigRef{Kind: names.ConfigMap, Namespace: "a", Name: "others/flags"}, "id")
	if resume != "kubectl annotate --overwrite -n others configmap/flags "+annotation.ResumeAnnotation+"=id" {
		t.Errorf("resume with %s", resume)
	}
}

func TestNamingConfigsOfANamespaceThatIsNotWatchedIsAProblem(t *testing.T) {
	w := ruled(t, optin.Rules{Ignored: []string{"others"}})
	w.shared("1", "*")
	w.runs("a/web", alsoFlags)
	settle(w)
	explained := w.controller.ExplainWorkload("deployment/a/web", time.Now())
	const want = "annotation com.xing.deployment-restart.also: the controller does not watch configs in others; they do not count"
	if len(explained.Mistakes) != 1 || explained.Mistakes[0].Problem != want {
		t.Errorf("mistakes: %+v", explained.Mistakes)
	}
	named := newWorldOf(t, Options{Namespaces: []string{"a", "others"}}).controller.restarter
	if named.Watches("b") || !named.Watches("a") {
		t.Error("another namespace is watched than those of the options")
	}
}

// A decision waits until the configs of all namespaces are known that matter to it.
func TestAWorkloadWaitsForTheConfigsOfOtherNamespaces(t *testing.T) {
	w := ruled(t, optin.Rules{})
	w.runs("a/web", alsoFlags)
	w.runs("b/web", nil, "c")
	w.controller.restarter.KnowsConfigs = func(namespace string) bool { return namespace != "others" }
	for name, want := range map[string]bool{"a/web": false, "b/web": true} {
		if got := w.controller.restarter.KnowsConfigsOf(objecttest.DeploymentNamed(name)); got != want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestAWorkloadIsDecidedAboutOnceTheConfigsOfAnotherNamespaceAreListed(t *testing.T) {
	w := ruled(t, optin.Rules{})
	knowsAll := false
	w.controller.restarter.KnowsConfigs = func(namespace string) bool { return knowsAll || namespace != "others" }
	w.runs("a/web", alsoFlags)
	settle(w)
	waits := func() bool {
		return slices.Contains(slices.Collect(w.controller.restarter.Table.Undecided("a")), objecttest.DeploymentNamed("a/web"))
	}
	knowsAll = true
	for _, listed := range []map[string]bool{{}, {"b": true}} {
		if w.controller.restarter.AskUnknown(listed); w.work() || !waits() {
			t.Errorf("decided after a list of %v", listed)
		}
	}
	w.controller.restarter.AskUnknown(map[string]bool{"others": true})
	settle(w)
	if waits() {
		t.Error("not decided")
	}
}
