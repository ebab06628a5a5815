package controller

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/status"
)

// listens lets the workloads hear Events, and returns a function that takes those of a reason; it drops the others.
func (w *world) listens() func(reason string) []string {
	recorder := record.NewFakeRecorder(1000)
	w.controller.restarter.events, w.controller.deliveries.events = recorder, recorder
	return func(reason string) (messages []string) {
		for len(recorder.Events) > 0 {
			if _, message, isOne := strings.Cut(<-recorder.Events, " "+reason+" "); isOne {
				messages = append(messages, message)
			}
		}
		return messages
	}
}

// lacking returns a world in which Deployments read two ConfigMaps, of which one is deleted.
func lacking(t *testing.T, names ...string) *world {
	w := gradual(t)
	w.edited("a/b", "1")
	for _, name := range names {
		w.runs(name, nil, "b", "c")
	}
	settle(w)
	w.hide("configmaps", w.configMaps["a/b"])
	settle(w)
	return w
}

func TestNoRestartBeginsWhileARequiredConfigIsMissing(t *testing.T) {
	w := lacking(t, "a/one", "a/two")
	told := w.listens()
	w.edited("a/c", "2")
	settle(w)
	if got := w.restarted(); len(got) != 0 {
		t.Fatalf("restarted without the config: %v", got)
	}
	held := w.overview().Held
	if held.Total != 2 || held.Items[0].Reason != string(gate.Missing) || held.Items[0].Text != "configmap/b does not exist" || held.Items[0].State != status.Held {
		t.Errorf("held: %+v", held)
	}
	explained := w.controller.ExplainWorkload("deployment/a/one", time.Now())
	if why := explained.Gate.Why; why != "configmap/b does not exist, which new pods need to start; create it, or make the reference optional" {
		t.Errorf("why: %q", why)
	}
	if events := told(reasonHeld); len(events) != 2 || !strings.Contains(events[0], "restart is held: configmap/b does not exist, which new pods need") {
		t.Errorf("events: %q", events)
	}

	w.show("configmaps", w.configMaps["a/b"])
	settle(w)
	if got := w.restarted(); len(got) != 1 { // the slow start lets one begin
		t.Errorf("restarted with the config: %v", got)
	}
}

func TestAConfigThatCannotBeSeenIsNotMissing(t *testing.T) {
	w := lacking(t, "a/one")
	w.controller.gate.seesConfigs = func(kind catalog.ConfigKind, _ string) bool { return kind != catalog.ConfigMap }
	w.edited("a/c", "2")
	settle(w)
	if got := w.restarted(); !slices.Equal(got, []string{"a/one"}) {
		t.Errorf("restarted: %v", got)
	}
}

func TestAConfigThatNobodyNeedsKeepsNoRestartWaiting(t *testing.T) {
	w := gradual(t)
	d := w.deployment("a/one", "b", "c")
	for _, from := range d.Spec.Template.Spec.Containers[0].EnvFrom {
		if from.ConfigMapRef.Name == "b" {
			from.ConfigMapRef.Optional = new(true)
		}
	}
	wholeStatus(d)
	w.deployments["a/one"] = d
	w.show("deployments", d)
	settle(w)
	w.edited("a/c", "2")
	settle(w)
	if got := w.restarted(); !slices.Equal(got, []string{"a/one"}) {
		t.Errorf("restarted: %v", got)
	}
}

func TestAnEarlierWaveThatLacksAConfigHoldsLaterOnes(t *testing.T) {
	w := gradual(t)
	w.edited("a/b", "1")
	w.runs("a/first", nil, "b", "c")
	w.runs("a/second", map[string]string{catalog.WaveAnnotation: "1"}, "c")
	settle(w)
	w.hide("configmaps", w.configMaps["a/b"])
	settle(w)
	w.edited("a/c", "2")
	settle(w)
	if got := w.restarted(); len(got) != 0 {
		t.Fatalf("restarted: %v", got)
	}
	explained := w.controller.ExplainWorkload("deployment/a/second", time.Now())
	if why := explained.Gate.Why; why != "wave 0 is not over: deployment/first waits for its missing config" {
		t.Errorf("why: %q", why)
	}
}

func TestARestartThatLacksAConfigTakesNoSlotOfOthers(t *testing.T) {
	w := gradual(t)
	group := gate.GroupOf(catalog.ConfigMap, "c")
	w.controller.gate.options.Groups = []catalog.ConfigRef{group}
	w.edited("a/b", "1")
	w.edited("b/c", "1")
	w.runs("a/one", nil, "b", "c")
	w.runs("b/other", nil, "c")
	settle(w)
	w.hide("configmaps", w.configMaps["a/b"])
	settle(w)
	w.edited("a/c", "2")
	settle(w)
	w.edited("b/c", "2")
	settle(w)
	if got := w.restarted(); !slices.Equal(got, []string{"b/other"}) {
		t.Errorf("restarted: %v", got)
	}
}

func TestAnEditThatRemovesARequiredKeyBreaksNobody(t *testing.T) {
	w := gradual(t)
	d := w.deployment("a/one")
	d.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "K", ValueFrom: &corev1.EnvVarSource{
		ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "c"}, Key: "k"},
	}}}
	wholeStatus(d)
	w.deployments["a/one"] = d
	w.show("deployments", d)
	settle(w)
	without := w.configMaps["a/c"].DeepCopy()
	without.Data = map[string]string{"other": "1"}
	w.show("configmaps", without)
	settle(w)
	if got := w.restarted(); len(got) != 0 {
		t.Fatalf("restarted: %v", got)
	}
	if held := w.overview().Held; held.Total != 1 || held.Items[0].Text != "configmap/c has no key k" {
		t.Errorf("held: %+v", held)
	}
	w.edited("a/c", "2")
	settle(w)
	if got := w.restarted(); !slices.Equal(got, []string{"a/one"}) {
		t.Errorf("restarted: %v", got)
	}
}

func TestAConfigIsMissingAlsoWhileConfigsOfAnotherKindCannotBeSeen(t *testing.T) {
	w := lacking(t, "a/one")
	w.controller.gate.seesConfigs = func(kind catalog.ConfigKind, _ string) bool { return kind == catalog.ConfigMap }
	w.edited("a/c", "2")
	settle(w)
	if got := w.restarted(); len(got) > 0 {
		t.Errorf("restarted without the config: %v", got)
	}
}

func TestNoFurtherPodIsEvictedWhileARequiredConfigIsMissing(t *testing.T) {
	inEvictingWorld(t, nil, func(w *evictingWorld) {
		w.controller.gate.seesConfigs = func(catalog.ConfigKind, string) bool { return true }
		w.edited("a/c", "2")
		w.pass(5)
		w.requireEvicted("web-1")
		w.hide("configmaps", w.configMaps["a/c"])
		w.pass(100)
		w.requireEvicted("web-1")
		w.show("configmaps", w.configMaps["a/c"])
		w.pass(100)
		w.requireEvicted("web-1", "web-2", "web-3")
	})
}
