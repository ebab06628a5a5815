package controller

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/catalog/optin"
	"kubernetes-deployment-restart-controller/controller/controllertest"
	"kubernetes-deployment-restart-controller/controller/objecttest"
	"kubernetes-deployment-restart-controller/controller/optedin"
)

// Workloads and configs with the annotations of other tools, and nothing of ours.

const reloaderAuto = "reloader.stakater.com/auto"

func understands(dialects ...optin.Dialect) optin.Rules {
	return optin.Rules{Dialects: dialects}
}

// runsForeign creates a Deployment that reads configs, and has these annotations only.
func (w *world) runsForeign(name string, annotations map[string]string, configs ...string) {
	d := w.deployment(name, configs...)
	d.Annotations = annotations
	wholeStatus(d)
	w.deployments[name] = d
	w.show("deployments", d)
}

func TestWorkloadsOfOtherToolsAreOnlyRecordedAtTheSwitchAndRestartForLaterEdits(t *testing.T) {
	w := ruled(t, understands(optin.Reloader, optin.Wave))
	w.edited("a/c", "1")
	w.edited("a/d", "1")
	w.runsForeign("a/auto", map[string]string{reloaderAuto: "true"}, "c", "d")
	w.runsForeign("a/named", map[string]string{"configmap.reloader.stakater.com/reload": "d"}, "c", "d")
	w.runsForeign("a/out", map[string]string{reloaderAuto: "true", annotation.EnabledAnnotation: "disabled"}, "c")
	w.runsForeign("a/silent", map[string]string{reloaderAuto: "false"}, "c")
	w.runsForeign("a/wave", map[string]string{"wave.pusher.com/update-on-config-change": "true"}, "c")
	w.requireRestarted(t, "at the switch")
	for name, isRecorded := range map[string]bool{"a/auto": true, "a/named": true, "a/out": false, "a/silent": false, "a/wave": true} {
		if _, found := w.deployments[name].Annotations[annotation.BasisAnnotation]; found != isRecorded {
			t.Errorf("%s: it is %t that it is recorded", name, found)
		}
	}
	w.edited("a/c", "2")
	w.requireRestarted(t, "after an edit", "a/auto", "a/wave")
}

func TestNobodyUnderstandsOtherToolsUnlessAskedTo(t *testing.T) {
	w := ruled(t, understands(optin.Wave))
	w.edited("a/c", "1")
	w.runsForeign("a/auto", map[string]string{reloaderAuto: "true"}, "c")
	settle(w)
	w.edited("a/c", "2")
	w.requireRestarted(t, "after an edit")
}

func TestAConfigThatReloaderIgnoresRestartsNobody(t *testing.T) {
	for name, test := range map[string]struct {
		annotations map[string]string
		want        []string
	}{
		"ignored":           {map[string]string{"reloader.stakater.com/ignore": "true"}, nil},
		"another value":     {map[string]string{"reloader.stakater.com/ignore": "yes"}, []string{"a/web"}},
		"it is not ignored": {map[string]string{"reloader.stakater.com/ignore": "true", annotation.IgnoreAnnotation: "false"}, []string{"a/web"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := ruled(t, understands(optin.Reloader))
			show := func(value string) {
				config := &corev1.ConfigMap{ObjectMeta: w.meta("a/c"), Data: map[string]string{"k": value}}
				config.Annotations = test.annotations
				w.show("configmaps", config)
			}
			show("1")
			w.runsForeign("a/web", map[string]string{reloaderAuto: "true"}, "c")
			settle(w)
			show("2")
			w.requireRestarted(t, "after an edit", test.want...)
		})
	}
}

// Reloader has restarted for what was edited before the switch, and nobody knows what this controller has missed.
func TestEditsFromBeforeTheSwitchDoNotCount(t *testing.T) {
	minutesAgo := func(n int) time.Time { return time.Now().Add(-time.Duration(n) * time.Minute) }
	for name, test := range map[string]struct {
		edited, switched, annotated int // minutes ago; 0 means that it is not known when it was annotated
		want                        decide.Outcome
	}{
		"edited before the switch":               {edited: 20, switched: 10, annotated: 60, want: decide.RecordOnly},
		"edited after the switch":                {edited: 10, switched: 20, annotated: 60, want: decide.Restart},
		"annotated after the switch":             {edited: 10, switched: 20, annotated: 5, want: decide.RecordOnly},
		"annotated in the template at some time": {edited: 10, switched: 20, want: decide.Restart},
	} {
		t.Run(name, func(t *testing.T) {
			w := ruled(t, understands(optin.Reloader))
			w.controller.optIns.Since = minutesAgo(test.switched)
			edited := &corev1.ConfigMap{ObjectMeta: w.meta("a/c"), Data: map[string]string{"k": "1"}}
			edited.ManagedFields = []metav1.ManagedFieldsEntry{ownedSince(minutesAgo(test.edited), `{"f:data":{"f:k":{}}}`)}
			list(w, "configmaps", map[string]*corev1.ConfigMap{"a/c": edited})
			d := w.deployment("a/web", "c")
			d.Annotations, d.Spec.Template.Annotations = map[string]string{reloaderAuto: "true"}, nil
			d.ManagedFields = []metav1.ManagedFieldsEntry{ownedSince(minutesAgo(test.annotated), `{"f:metadata":{"f:annotations":{"f:`+reloaderAuto+`":{}}}}`)}
			if test.annotated == 0 {
				d.Annotations, d.Spec.Template.Annotations = nil, d.Annotations
			}
			w.deployments["a/web"] = d
			list(w, "deployments", map[string]*appsv1.Deployment{"a/web": d})
			if got := w.decidedFor(t, "a/web", minutesAgo(30)); got != test.want {
				t.Errorf("decided to %s, want %s", got, test.want)
			}
		})
	}
}

func ownedSince(at time.Time, fields string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{
		Manager: "kubectl", Operation: metav1.ManagedFieldsOperationUpdate, Time: &metav1.Time{Time: at},
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields),
	}
}

func TestRemovingAnOptOutFromAWorkloadOfAnotherToolRestartsNothing(t *testing.T) {
	for name, test := range map[string]struct {
		meanwhile func(*world)
		want      decide.Outcome
	}{
		"no edit follows": {func(*world) {}, decide.RecordOnly},
		"an edit follows": {func(w *world) { w.edited("a/c", "3") }, decide.Restart},
	} {
		t.Run(name, func(t *testing.T) {
			w := ruled(t, understands(optin.Reloader))
			w.controller.optIns.Since = time.Now().Add(-time.Hour)
			w.edited("a/c", "1")
			w.runsForeign("a/web", map[string]string{reloaderAuto: "true", annotation.EnabledAnnotation: "disabled"}, "c")
			w.edited("a/c", "2")
			w.changed("a/web", removeOptOut)
			test.meanwhile(w)
			if got := w.decidedFor(t, "a/web", time.Now().Add(-30*time.Minute)); got != test.want {
				t.Errorf("decided to %s, want %s", got, test.want)
			}
		})
	}
}

func TestAWorkloadOfAnotherToolThatIsGoneIsForgotten(t *testing.T) {
	w := ruled(t, understands(optin.Reloader))
	w.runsForeign("a/web", map[string]string{reloaderAuto: "true"}, "c")
	w.runsForeign("a/own", map[string]string{annotation.EnabledAnnotation: annotation.Enabled}, "c")
	if kept := len(w.controller.optIns.Candidates["a"]); kept != 1 {
		t.Errorf("%d workloads are kept, want the one of the other tool", kept)
	}
	w.changed("a/web", func(d *appsv1.Deployment) { delete(d.Annotations, reloaderAuto) })
	if kept := len(w.controller.optIns.Candidates); kept != 0 {
		t.Error("a workload is kept that says nothing any more")
	}
	if _, workloads := w.controller.catalog.Size(); workloads != 1 {
		t.Errorf("%d workloads count, want 1", workloads)
	}
}

func TestWhatAnotherToolHasLeftBehindIsReportedOnce(t *testing.T) {
	w := ruled(t, understands(optin.Reloader))
	log := w.log()
	w.edited("a/c", "1")
	w.runsForeign("a/paused", map[string]string{reloaderAuto: "true", "deployment.reloader.stakater.com/paused-at": "2026-01-01T00:00:00Z"}, "c")
	w.changed("a/paused", func(d *appsv1.Deployment) { d.Spec.Paused = true })
	w.runsForeign("a/variable", map[string]string{reloaderAuto: "true"}, "c")
	w.changed("a/variable", func(d *appsv1.Deployment) {
		d.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "STAKATER_C_CONFIGMAP", Value: "0"}}
	})
	settle(w)
	w.edited("a/c", "2")
	settle(w)
	for _, line := range []string{"level=WARN msg=\"another tool has left something behind\" workload=deployment/a/paused", "level=INFO msg=\"another tool has left something behind\" workload=deployment/a/variable"} {
		if got := strings.Count(log.String(), line); got != 1 {
			t.Errorf("%d lines with %s:\n%s", got, line, log)
		}
	}
	if explained := w.controller.ExplainWorkload("deployment/a/paused", time.Now()); len(explained.Problems) != 1 || !strings.Contains(explained.Problems[0], "kubectl rollout resume") {
		t.Errorf("explained: %q", explained.Problems)
	}
}

func TestANewLeaderKnowsSinceWhenTheFormerOneUnderstoodAnotherTool(t *testing.T) {
	w := ruled(t, understands(optin.Reloader))
	edited := &corev1.ConfigMap{ObjectMeta: w.meta("a/c"), Data: map[string]string{"k": "1"}}
	edited.ManagedFields = []metav1.ManagedFieldsEntry{ownedSince(time.Now().Add(-20*time.Minute), `{"f:data":{"f:k":{}}}`)}
	list(w, "configmaps", map[string]*corev1.ConfigMap{"a/c": edited})
	w.runsForeign("a/web", map[string]string{reloaderAuto: "true"}, "c")
	started := time.Now().Add(-30 * time.Minute)
	if got := w.decidedFor(t, "a/web", started); got != decide.RecordOnly {
		t.Fatalf("decided to %s before it knew", got)
	}
	former := optedin.NewOptIns(understands(optin.Reloader), nil)
	former.Since = time.Now().Add(-time.Hour)
	server := &objecttest.HaltServer{}
	w.controller.halts.Store = controllertest.StoreOf(t, server)
	former.NoteOn(&server.Object)
	w.controller.relearnOptIns(t.Context())
	if got := w.decidedFor(t, "a/web", started); got != decide.Restart {
		t.Errorf("decided to %s", got)
	}
}
