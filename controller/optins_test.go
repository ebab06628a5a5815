package controller

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/optin"
	"kubernetes-deployment-restart-controller/controller/controllertest"
	"kubernetes-deployment-restart-controller/controller/gatekeeper"
	"kubernetes-deployment-restart-controller/controller/kinds"
	"kubernetes-deployment-restart-controller/controller/objecttest"
	"kubernetes-deployment-restart-controller/controller/optedin"
)

// ruled returns a world whose controller leads and has rules about which workloads count.
func ruled(t *testing.T, rules optin.Rules) *world {
	t.Helper()
	w := newWorldWith(t, rules)
	c := w.controller
	c.intake.Grace, c.restarter.Grace, c.restarter.BackoffLimit = time.Millisecond, time.Millisecond, 0
	c.gate.FanOut = gatekeeper.FanOutOptions{Limit: 50}
	c.gate.KnowsWorkloads = func(string) bool { return true }
	c.beginToLead()
	c.gate.SetHaltsTried()
	c.gate.SetHaltsKnown(true)
	return w
}

// says lets the watch of Namespaces show one whose opt-in annotation has the given value, none if it is empty.
func (w *world) says(name, value string, more ...string) {
	namespace := &corev1.Namespace{ObjectMeta: w.meta("/" + name)}
	namespace.Annotations = map[string]string{}
	if value != "" {
		namespace.Annotations[annotation.EnabledAnnotation] = value
	}
	namespace.Labels = make(map[string]string)
	for _, label := range more {
		key, value, _ := strings.Cut(label, "=")
		namespace.Labels[key] = value
	}
	w.show("namespaces", namespace)
}

// runsPlain creates a Deployment that reads ConfigMap c, and whose opt-in annotation has the given value, none if
// it is empty.
func (w *world) runsPlain(name, value string) {
	d := w.deployment(name, "c")
	if delete(d.Annotations, annotation.EnabledAnnotation); value != "" {
		d.Annotations[annotation.EnabledAnnotation] = value
	}
	wholeStatus(d)
	w.deployments[name] = d
	w.show("deployments", d)
}

func (w *world) requireRestarted(t *testing.T, when string, want ...string) {
	t.Helper()
	settle(w)
	if got := w.restarted(); !slices.Equal(got, want) {
		t.Errorf("%s: %q restarted, want %q", when, got, want)
	}
}

func TestAnExplanationSaysByWhatAWorkloadIsEnabled(t *testing.T) {
	const own = "its annotation com.xing.deployment-restart"
	for name, rules := range map[string]optin.Rules{
		"no rules": {}, "other tools": understands(optin.Reloader), "everything": {ByDefault: true, Dialects: []optin.Dialect{optin.Reloader}},
	} {
		w := ruled(t, rules)
		w.says("a", annotation.Enabled)
		w.says("b", "")
		w.edited("a/c", "1")
		w.edited("b/c", "1")
		w.runsPlain("a/own", annotation.Enabled)
		w.runsPlain("a/none", "")
		w.runsPlain("b/none", "")
		w.runsForeign("a/auto", map[string]string{reloaderAuto: "true"}, "c")
		settle(w)
		got := make(map[string]string)
		for _, name := range []string{"a/own", "a/none", "b/none", "a/auto"} {
			if explained := w.controller.ExplainWorkload("deployment/"+name, time.Now()); explained != nil {
				got[name] = explained.EnabledBy
			}
		}
		want := map[string]map[string]string{
			"no rules":    {"a/own": own},
			"other tools": {"a/own": own, "a/auto": "its annotations of reloader"},
			"everything": {
				"a/own": own, "a/auto": "its annotations of reloader",
				"a/none": "the annotation com.xing.deployment-restart of its Namespace", "b/none": "default (--enable-by-default)",
			},
		}[name]
		if !maps.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestANamespaceThatOptsInEnablesItsWorkloadsWithoutARestart(t *testing.T) {
	w := ruled(t, optin.Rules{ByNamespace: true})
	log := w.log()
	w.says("a", "")
	w.edited("a/c", "1")
	w.runsPlain("a/web", "")
	w.runsPlain("a/out", "disabled")
	w.runsPlain("b/web", "")
	w.edited("a/c", "2")
	w.requireRestarted(t, "before it opts in")
	if _, workloads := w.controller.catalog.Size(); workloads != 0 {
		t.Errorf("%d workloads count already", workloads)
	}

	w.says("a", annotation.Enabled)
	w.requireRestarted(t, "when it opts in")
	if _, recorded := w.deployments["a/web"].Annotations[annotation.BasisAnnotation]; !recorded {
		t.Error("its workload is not recorded")
	}
	w.edited("a/c", "3")
	w.requireRestarted(t, "after an edit", "a/web")
	if got := strings.Count(log.String(), "changed which of its workloads are enabled"); got != 1 {
		t.Errorf("reported %d times, want once:\n%s", got, log)
	}
}

func TestAWorkloadThatComesLaterFollowsItsNamespace(t *testing.T) {
	w := ruled(t, optin.Rules{ByNamespace: true})
	w.says("a", annotation.Enabled)
	w.edited("a/c", "1")
	w.runsPlain("a/web", "")
	settle(w)
	w.edited("a/c", "2")
	w.requireRestarted(t, "after an edit", "a/web")
}

func TestANamespaceThatNoLongerOptsInDisablesItsWorkloads(t *testing.T) {
	for name, leave := range map[string]func(*world){
		"by another value":          func(w *world) { w.says("a", "disabled") },
		"by removal":                func(w *world) { w.says("a", "") },
		"by an opt-out of its own":  func(w *world) { w.optsOut("a/web") },
		"while nobody was watching": func(w *world) { list(w, "namespaces", map[string]*corev1.Namespace{"a": {ObjectMeta: w.meta("/a")}}) },
	} {
		t.Run(name, func(t *testing.T) {
			w := ruled(t, optin.Rules{ByNamespace: true})
			w.says("a", annotation.Enabled)
			w.edited("a/c", "1")
			w.runsPlain("a/web", "")
			w.runsPlain("a/own", annotation.Enabled)
			settle(w)
			w.edited("a/c", "2") // its grace period has not ended yet
			leave(w)
			w.requireRestarted(t, "after an edit", "a/own")
		})
	}
}

func (w *world) optsOut(name string) {
	w.changed(name, func(d *appsv1.Deployment) { d.Annotations[annotation.EnabledAnnotation] = "disabled" })
}

func TestWorkloadsAreEnabledByDefaultUnlessTheyOrTheirNamespacesOptOut(t *testing.T) {
	w := ruled(t, optin.Rules{ByDefault: true})
	w.says("a", "")
	w.says("b", "no")
	w.says("kube-system", "")
	for _, namespace := range []string{"a", "b", "kube-system"} {
		w.edited(namespace+"/c", "1")
		w.runsPlain(namespace+"/web", "")
		w.runsPlain(namespace+"/out", "disabled")
		w.runsPlain(namespace+"/own", annotation.Enabled)
	}
	settle(w)
	for _, namespace := range []string{"a", "b", "kube-system"} {
		w.edited(namespace+"/c", "2")
	}
	w.requireRestarted(t, "after an edit", "a/own", "a/web", "b/own", "kube-system/own")
}

func TestOnlySelectedNamespacesAreLookedAt(t *testing.T) {
	selector, err := labels.Parse("tier=web")
	if err != nil {
		t.Fatal(err)
	}
	w := ruled(t, optin.Rules{Selector: selector, Ignored: []string{"preview-*"}})
	w.says("a", "", "tier=web")
	w.says("b", "", "tier=db")
	w.says("preview-1", "", "tier=web")
	for _, namespace := range []string{"a", "b", "preview-1"} {
		w.edited(namespace+"/c", "1")
		w.runsPlain(namespace+"/web", annotation.Enabled)
	}
	settle(w)
	for _, namespace := range []string{"a", "b", "preview-1"} {
		w.edited(namespace+"/c", "2")
	}
	w.requireRestarted(t, "after an edit", "a/web")
	if configs, workloads := w.controller.catalog.Size(); configs != 2 || workloads != 1 {
		t.Errorf("%d configs and %d workloads are kept, want 2 and 1", configs, workloads)
	}
	w.says("b", "", "tier=web")
	settle(w)
	if _, workloads := w.controller.catalog.Size(); workloads != 2 {
		t.Errorf("%d workloads count when b is selected, want 2", workloads)
	}
	w.says("a", "", "tier=db")
	w.edited("a/c", "3")
	w.requireRestarted(t, "after a is no longer selected", "a/web")
	if _, workloads := w.controller.catalog.Size(); workloads != 1 {
		t.Errorf("%d workloads count when a is not selected, want 1", workloads)
	}
}

func TestWorkloadsThatAreGoneAreForgottenWithTheirNamespaces(t *testing.T) {
	w := ruled(t, optin.Rules{ByNamespace: true})
	w.says("a", annotation.Enabled)
	w.runsPlain("a/web", "")
	w.runsPlain("a/other", "")
	w.runsPlain("b/web", "")
	w.hide("deployments", w.deployments["a/web"])
	list(w, "deployments", map[string]*appsv1.Deployment{})
	list(w, "namespaces", map[string]*corev1.Namespace{})
	o := w.controller.optIns
	if len(o.Candidates) != 0 || len(o.Namespaces) != 0 {
		t.Errorf("still kept: %v, %v", o.Candidates, o.Namespaces)
	}
}

// Enabling a workload does not restart it, also if it is enabled by removing an annotation, which leaves no time.
func TestRemovingAnOptOutRestartsNothing(t *testing.T) {
	negative, err := labels.Parse("!legacy")
	if err != nil {
		t.Fatal(err)
	}
	nothing := func(*world) {}
	for name, test := range map[string]struct {
		rules              optin.Rules
		namespace, label   string
		workload           string
		removed, meanwhile func(*world)
		want               decide.Outcome
	}{
		"of its Namespace": {
			optin.Rules{ByDefault: true}, "disabled", "tier=web", "", func(w *world) { w.says("a", "") }, nothing, decide.RecordOnly,
		},
		"of its Namespace, which is labelled after that": {
			optin.Rules{ByDefault: true}, "disabled", "tier=web", "",
			func(w *world) {
				w.says("a", "")
				w.says("a", "", "tier=db")
				w.changed("a/web", func(*appsv1.Deployment) {})
			}, nothing, decide.RecordOnly,
		},
		"of its Namespace, and an edit follows": {
			optin.Rules{ByDefault: true}, "disabled", "tier=web", "", func(w *world) { w.says("a", "") }, func(w *world) { w.edited("a/c", "3") }, decide.Restart,
		},
		"of its Namespace, in a gap in which an edit may have followed": {
			optin.Rules{ByDefault: true}, "disabled", "tier=web", "",
			func(w *world) { list(w, "namespaces", map[string]*corev1.Namespace{"a": {ObjectMeta: w.meta("/a")}}) }, nothing, decide.Restart,
		},
		"of its Namespace by a label": {
			optin.Rules{ByDefault: true, Selector: negative}, "", "legacy=yes", "", func(w *world) { w.says("a", "") }, nothing, decide.RecordOnly,
		},
		"of its own": {
			optin.Rules{ByDefault: true}, "", "tier=web", "disabled", func(w *world) { w.changed("a/web", removeOptOut) }, nothing, decide.RecordOnly,
		},
		"of its own, and it is written after that": {
			optin.Rules{ByDefault: true}, "", "tier=web", "disabled",
			func(w *world) { w.changed("a/web", removeOptOut); w.changed("a/web", func(*appsv1.Deployment) {}) }, nothing, decide.RecordOnly,
		},
		"of its own, and it is read after a conflict": {
			optin.Rules{ByDefault: true}, "", "tier=web", "disabled", func(w *world) {
				w.changed("a/web", removeOptOut)
				w.deployments["a/web"].ResourceVersion = w.nextVersion()
				if found, err := controllertest.Reduce(w.deployments["a/web"], &w.controller.optIns.Rules); err == nil {
					w.controller.restarter.ObserveRead(found)
				}
			}, nothing, decide.RecordOnly,
		},
		"of its own, and an edit follows": {
			optin.Rules{ByDefault: true}, "", "tier=web", "disabled", func(w *world) { w.changed("a/web", removeOptOut) }, func(w *world) { w.edited("a/c", "3") }, decide.Restart,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := ruled(t, test.rules)
			w.controller.optIns.Since = time.Now().Add(-time.Hour)
			w.says("a", test.namespace, test.label)
			w.edited("a/c", "1")
			w.runsPlain("a/web", test.workload)
			w.edited("a/c", "2")
			test.removed(w)
			test.meanwhile(w)
			if got := w.decidedFor(t, "a/web", time.Now().Add(-30*time.Minute)); got != test.want {
				t.Errorf("decided to %s, want %s", got, test.want)
			}
		})
	}
}

func removeOptOut(d *appsv1.Deployment) { delete(d.Annotations, annotation.EnabledAnnotation) }

// decidedFor returns the decision about a Deployment with a pod that has run since the given time.
func (w *world) decidedFor(t *testing.T, name string, started time.Time) decide.Outcome {
	t.Helper()
	view, counts := w.controller.catalog.View(names.WorkloadRef{Kind: names.Deployment, Namespace: w.deployments[name].Namespace, Name: w.deployments[name].Name})
	if !counts {
		t.Fatalf("%s does not count", name)
	}
	decision := decide.Decide(view)
	if decision.Outcome == decide.AskPods {
		decision = decide.ByPods(view, []decide.Pod{{Mounted: started, Started: []decide.Start{{Container: "app", At: started}}}})
	}
	return decision.Outcome
}

func TestANewLeaderCountsTheEditsSinceTheRulesAppliedToTheFormerOne(t *testing.T) {
	for name, test := range map[string]struct {
		noted optin.Rules
		since time.Duration // before now
		want  decide.Outcome
	}{
		"the same rules":                  {optin.Rules{ByDefault: true}, time.Hour, decide.Restart},
		"the same rules, since the edit":  {optin.Rules{ByDefault: true}, time.Minute, decide.RecordOnly},
		"other rules":                     {optin.Rules{ByNamespace: true}, time.Hour, decide.RecordOnly},
		"the same rules, from the future": {optin.Rules{ByDefault: true}, -time.Hour, decide.RecordOnly},
	} {
		t.Run(name, func(t *testing.T) {
			w := ruled(t, optin.Rules{ByDefault: true})
			w.says("a", "")
			edited := &corev1.ConfigMap{ObjectMeta: w.meta("a/c"), Data: map[string]string{"k": "1"}}
			edited.ManagedFields = []metav1.ManagedFieldsEntry{{
				Manager: "kubectl", Operation: metav1.ManagedFieldsOperationUpdate, Time: &metav1.Time{Time: time.Now().Add(-20 * time.Minute)},
				FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:data":{"f:k":{}}}`),
			}}
			list(w, "configmaps", map[string]*corev1.ConfigMap{"a/c": edited})
			w.runsPlain("a/web", "")
			former := optedin.NewOptIns(test.noted, nil)
			former.Since = time.Now().Add(-test.since)
			server := &objecttest.HaltServer{}
			w.controller.halts.Store = controllertest.StoreOf(t, server)
			former.NoteOn(&server.Object)
			w.controller.relearnOptIns(t.Context())
			if got := w.decidedFor(t, "a/web", time.Now().Add(-30*time.Minute)); got != test.want {
				t.Errorf("decided to %s, want %s", got, test.want)
			}
		})
	}
}

func TestRulesAreNotedOnceForEachSetOfNamespaces(t *testing.T) {
	o := optedin.NewOptIns(optin.Rules{ByDefault: true}, nil)
	other := optedin.NewOptIns(optin.Rules{ByNamespace: true}, []string{"a"})
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "halts"}}
	if !o.NoteOn(object) || o.NoteOn(object) || !other.NoteOn(object) || other.NoteOn(object) || o.NoteOn(object) {
		t.Fatalf("they were not noted once each: %q", object.Annotations)
	}
	off := optedin.NewOptIns(optin.Rules{}, nil)
	if !off.NoteOn(object) || off.NoteOn(object) || other.NoteOn(object) {
		t.Errorf("turning off did not remove the one note: %q", object.Annotations)
	}
	object.Annotations[annotation.OptInsAnnotation] = "{not JSON"
	if !o.NoteOn(object) || len(optin.ReadOptInNotes(object.Annotations[annotation.OptInsAnnotation])) != 1 {
		t.Errorf("an unreadable note was not replaced: %q", object.Annotations)
	}
}

func TestOthersAreServedWhileANamespaceChangesManyWorkloads(t *testing.T) {
	const many = 100
	w := ruled(t, optin.Rules{ByNamespace: true})
	for i := range many {
		w.runsPlain(fmt.Sprint("a/web-", i), "")
	}
	var isServed, isOver atomic.Bool
	var group sync.WaitGroup
	group.Go(func() {
		for o := w.controller.optIns; !isOver.Load() && !isServed.Load(); {
			o.Mu.Lock()
			_, workloads := w.controller.catalog.Size()
			o.Mu.Unlock()
			isServed.Store(workloads > 0 && workloads < many)
		}
	})
	for range 1000 {
		w.says("a", annotation.Enabled)
		w.says("a", "")
		if isServed.Load() {
			break
		}
	}
	isOver.Store(true)
	group.Wait()
	if !isServed.Load() {
		t.Error("the lock was held for all workloads of the namespace")
	}
}

// Without rules, nothing is kept that a list could change.
func TestAWriteDoesNotWaitForAListUnlessNamespacesMatter(t *testing.T) {
	w := ruled(t, optin.Rules{})
	o, err := kinds.KindOfWorkload(names.Deployment).Reduce(w.deployment("a/web", "c"), &w.controller.optIns.Rules)
	if err != nil {
		t.Fatal(err)
	}
	w.controller.optIns.Mu.Lock() // as ListWorkloads does
	defer w.controller.optIns.Mu.Unlock()
	if read := w.controller.optIns.Read(o); read == nil || read.Ref != objecttest.DeploymentNamed("a/web") {
		t.Errorf("got %+v", read)
	}
}

// BenchmarkTakeInAListOf10000Workloads is how long others wait for the lock if Namespaces matter.
func BenchmarkTakeInAListOf10000Workloads(b *testing.B) {
	w := newWorldWith(b, optin.Rules{ByNamespace: true})
	var all []*kinds.Observation
	for i := range 10_000 {
		d := w.deployment(fmt.Sprintf("n%d/web-%d", i%100, i), "c")
		wholeStatus(d)
		o, err := kinds.KindOfWorkload(names.Deployment).Reduce(d, &w.controller.optIns.Rules)
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, o)
	}
	w.controller.beginToLead()
	w.controller.intake.ListWorkloads(names.Deployment, "", all, 0)
	for b.Loop() {
		w.controller.intake.ListWorkloads(names.Deployment, "", all, 1)
	}
}
