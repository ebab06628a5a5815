package controller

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog"
)

// invalidConfigs returns the configs that got an Event InvalidAnnotation since the last call, in its order.
func (w *world) invalidConfigs() (names []string) {
	for due := w.controller.reports.take(); len(due) > 0; due = w.controller.reports.take() {
		for _, e := range due {
			if e.reason == reasonInvalid && strings.Contains(e.message, "every night") {
				names = append(names, e.config.Namespace+"/"+e.config.Name)
			}
		}
	}
	return names
}

func TestAConfigWhoseWindowCannotBeReadIsReportedHoweverTheControllerLearnsOfIt(t *testing.T) {
	w := newWorld(t)
	c := w.controller
	require := func(what string, want ...string) {
		t.Helper()
		if got := w.invalidConfigs(); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: Events on %q, want %q", what, got, want)
		}
	}
	has := func(name, window string) {
		w.configMaps[name] = &corev1.ConfigMap{ObjectMeta: w.meta(name)}
		w.annotate(name, catalog.WindowAnnotation, window)
	}
	has("a/c", "every night")
	list(w, "configmaps", w.configMaps)
	require("a standby")
	c.beginToLead()
	require("a process that begins to lead", "a/c")
	list(w, "configmaps", w.configMaps)
	require("the same again")

	has("b/c", "every night")
	has("b/fine", "0 22 * * 1-5 6h")
	list(w, "configmaps", w.configMaps)
	require("after a gap", "b/c")
	has("b/c", "every night at ten")
	list(w, "configmaps", w.configMaps)
	require("another problem after a gap", "b/c")
	has("b/c", "0 22 * * 1-5 6h")
	list(w, "configmaps", w.configMaps)
	has("b/c", "every night at ten")
	list(w, "configmaps", w.configMaps)
	require("the same problem after another gap", "b/c")

	has("c/c", "every night")
	w.show("configmaps", w.configMaps["c/c"])
	require("an event", "c/c")
	list(w, "configmaps", w.configMaps)
	require("a list after the event")
	c.leading.Store(false)
	c.beginToLead()
	if got := w.invalidConfigs(); len(got) != 3 {
		t.Errorf("the next leader: Events on %q", got)
	}
}

// Anyone who may make configs can make very many.
func TestVeryManyConfigsWithProblemsAreReportedInBounds(t *testing.T) {
	w := newWorld(t)
	log := w.log()
	for i := range 10 * maxReportsOf {
		name := fmt.Sprintf("a/c-%d", i)
		w.configMaps[name] = &corev1.ConfigMap{ObjectMeta: w.meta(name)}
		w.annotate(name, catalog.WindowAnnotation, "every night")
	}
	list(w, "configmaps", w.configMaps)
	w.controller.beginToLead()
	if n := strings.Count(log.String(), "\n"); n != maxReportsOf+1 || !strings.Contains(log.String(), fmt.Sprintf("configs=%d", 9*maxReportsOf)) {
		t.Errorf("the log has %d lines:\n%.1000s", n, log)
	}
	if n := len(w.invalidConfigs()); n != maxReportsOf {
		t.Errorf("%d Events", n)
	}
}

// Whoever may create configs can create and delete them under ever new names.
func TestWhatWasReportedOfAConfigGoesWithIt(t *testing.T) {
	w := gradual(t, "a/web")
	w.annotate("a/c", catalog.FanOutAnnotation, "at night")
	w.show("configmaps", w.configMaps["a/c"])
	if size := w.controller.reports.problems.size(); size != 1 {
		t.Fatalf("%d problems are remembered", size)
	}
	w.hide("configmaps", w.configMaps["a/c"])
	if size := w.controller.reports.problems.size(); size != 0 {
		t.Errorf("%d problems are remembered of a config that is gone", size)
	}
}
