package controller

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/controller/events"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/controller/gatekeeper"
	"kubernetes-deployment-restart-controller/controller/halts"
	"kubernetes-deployment-restart-controller/controller/objecttest"
)

// groupOfC is the group of all ConfigMaps of the name c, and groupEntry its entry in the ConfigMap of halts.
var groupOfC = gate.GroupOf(names.ConfigMap, "c")

const groupEntry = "configmap._.c"

// grouped returns a world in which a Deployment of each namespace reads a copy of a ConfigMap, which has just got another
// content. The function that it returns lets the next restart fail, and returns in which namespace that was.
func grouped(t *testing.T, server *objecttest.HaltServer, namespaces ...string) (w *world, failNext func() string, pass func(time.Duration)) {
	return groupedAllowing(t, 0, server, namespaces...)
}

// groupedAllowing is grouped with so many failures that begin no halt.
func groupedAllowing(t *testing.T, failures int, server *objecttest.HaltServer, namespaces ...string) (w *world, failNext func() string, pass func(time.Duration)) {
	w = gradual(t)
	w.controller.gate.FanOut.Failures = failures
	w.controller.gate.FanOut.Groups = []names.ConfigRef{groupOfC}
	w.controller.halts.KnowsAllConfigs = func() bool { return true }
	w.controller.halts.HasGroups = true
	for _, namespace := range namespaces {
		w.edited(namespace+"/c", "1")
		w.runs(namespace+"/web", nil, "c")
	}
	settle(w)
	pass = w.takeOver(t, server, nil)
	pass(time.Second)
	for _, namespace := range namespaces {
		w.edited(namespace+"/c", "bad")
	}
	settle(w)
	var before []string
	return w, func() string {
		t.Helper()
		now := w.restarted()
		if len(now) != len(before)+1 {
			t.Fatalf("%q restarted, after %q", now, before)
		}
		next := slices.IndexFunc(now, func(name string) bool { return !slices.Contains(before, name) })
		w.fails(t, now[next])
		settle(w)
		before = now
		return objecttest.DeploymentNamed(now[next]).Namespace
	}, pass
}

func TestAGroupIsHaltedByFailuresInTwoNamespacesAndResumedByItsEntry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &objecttest.HaltServer{}
		w, failNext, pass := grouped(t, server, "b", "d", "e", "f")
		failNext()
		failNext()
		pass(time.Second)
		settle(w)
		if restarted := w.restarted(); len(restarted) != 2 {
			t.Fatalf("%q restarted", restarted)
		}
		server.Mu.Lock()
		entries := slices.Sorted(maps.Keys(server.Object.Data))
		for name := range server.Object.Data { // also those of the two namespaces
			delete(server.Object.Data, name)
		}
		server.Mu.Unlock()
		if len(entries) != 3 || !slices.Contains(entries, groupEntry) {
			t.Errorf("entries: %q", entries)
		}
		pass(2 * halts.Period)
		settle(w)
		if restarted := w.restarted(); len(restarted) != 3 {
			t.Errorf("%q restarted after somebody resumed the group", restarted)
		}
	})
}

func TestTheHaltOfAGroupEndsWhenNoCopyHasItsContent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, failNext, pass := grouped(t, &objecttest.HaltServer{}, "b", "d", "e")
		broken := []string{failNext(), failNext()}
		isHalted := func() bool {
			pass(2 * halts.Period)
			return slices.ContainsFunc(w.controller.gate.ActiveHalts(), func(h gate.Halt) bool { return h.Config == groupOfC })
		}
		for i, namespace := range []string{"b", "d", "e"} {
			if !isHalted() {
				t.Fatalf("the halt is over although %d copies have the content; %q failed", 3-i, broken)
			}
			w.edited(namespace+"/c", "good")
			settle(w)
		}
		if isHalted() {
			t.Error("the halt goes on although no copy has the content")
		}
	})
}

// What stands for the further halts of the namespace is about no single config.
func TestTheHaltOfAGroupIsReportedOnACopyWhoseNamespaceHasTooManyHalts(t *testing.T) {
	w := gradual(t)
	c := w.controller
	c.gate.FanOut.Groups = []names.ConfigRef{groupOfC}
	names := []string{"a/reader"}
	for i := range 16 {
		own, name := fmt.Sprint("own-", i), fmt.Sprint("a/web-", i)
		w.edited("a/"+own, "1")
		w.runs(name, nil, own)
		names = append(names, name)
	}
	for _, namespace := range []string{"a", "b"} {
		w.edited(namespace+"/c", "1")
		w.runs(namespace+"/reader", nil, "c")
	}
	settle(w)
	w.edited("b/c", "bad")
	settle(w)
	w.fails(t, "b/reader")
	for i := range 16 {
		w.edited(fmt.Sprint("a/own-", i), "2")
	}
	w.edited("a/c", "bad")
	settle(w)
	for _, name := range slices.Backward(names) { // the reader of the copy last
		w.fails(t, name)
	}
	if !slices.Contains(c.gate.Halted(), groupOfC) {
		t.Fatal("the group is not halted")
	}
	var last gatekeeper.ConfigEvent
	for c.reports.Waiting.Len() > 0 {
		last = c.reports.Waiting.Next()
	}
	if last.Config.String() != "configmap/a/c" || last.Reason != events.Halted || !strings.HasPrefix(last.Message, "halted in all namespaces after ") {
		t.Errorf("the last Event is about %q: %s %s", last.Config, last.Reason, last.Message)
	}
}

// Each namespace has one reader, so none has more failures than are allowed.
func TestAGroupIsHaltedAlsoIfNoNamespaceIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, failNext, pass := groupedAllowing(t, 1, &objecttest.HaltServer{}, "b", "d", "e", "f", "g")
		failNext()
		failNext()
		pass(time.Second)
		if halted := w.controller.gate.Halted(); !slices.Contains(halted, groupOfC) {
			t.Errorf("halted: %v", halted)
		}
	})
}

func TestTheHaltOfAGroupOutlivesATenantThatReplacesItsCopy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, failNext, pass := grouped(t, &objecttest.HaltServer{}, "b", "d", "e", "f")
		broken := failNext()
		failNext()
		pass(time.Minute)
		w.edited(broken+"/c", "their own")
		settle(w)
		w.delivers(t, broken+"/web")
		pass(2 * halts.Period)
		settle(w)
		if halted := w.controller.gate.Halted(); !slices.Contains(halted, groupOfC) || len(w.restarted()) != 2 {
			t.Errorf("halted: %v, restarted: %q", halted, w.restarted())
		}
	})
}
