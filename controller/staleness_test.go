package controller

import (
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/controller/judge"
	"kubernetes-deployment-restart-controller/controller/objecttest"
	"kubernetes-deployment-restart-controller/controller/store"
	"kubernetes-deployment-restart-controller/internal/series"
)

// countStale judges all workloads, one by one.
func countStale(c *Controller) map[string]float64 {
	counts := map[string]float64{series.Other: 0}
	for _, ref := range c.catalog.WorkloadsIn("") {
		if c.staleness.Judge(ref) != judge.Fresh {
			counts[ref.Namespace]++
		}
	}
	return counts
}

// history does at random to a world what happens to one.
type history struct {
	*rapid.T
	*world
}

func (h history) name(of ...string) string {
	return rapid.SampledFrom([]string{"one", "two"}).Draw(h.T, "namespace") + "/" + rapid.SampledFrom(of).Draw(h.T, "name")
}

func (h history) value() string { return rapid.SampledFrom([]string{"x", "y"}).Draw(h.T, "value") }

// shown decides whether the watch shows what happens; what it does not, the next list shows.
func (h history) shown() bool { return rapid.IntRange(0, 3).Draw(h.T, "shown") > 0 }

func (h history) editConfigMap() {
	cm := &corev1.ConfigMap{ObjectMeta: h.meta(h.name("a", "b")), Data: map[string]string{"key": h.value()}}
	h.configMaps[nameOf(cm)] = cm
	if h.shown() {
		h.show("configmaps", cm)
	}
}

func (h history) editSecret() {
	secret := &corev1.Secret{ObjectMeta: h.meta(h.name("s")), Data: map[string][]byte{"key": []byte(h.value())}}
	h.secrets[nameOf(secret)] = secret
	if h.shown() {
		h.show("secrets", secret)
	}
}

func (h history) deleteConfigMap() {
	name := h.name("a", "b")
	if cm := h.configMaps[name]; cm != nil {
		delete(h.configMaps, name)
		if h.shown() {
			h.hide("configmaps", cm)
		}
	}
}

func (h history) editWorkload() {
	name := h.name("web", "api")
	configs := rapid.SliceOfDistinct(rapid.SampledFrom([]string{"a", "b", "s"}), rapid.ID[string]).Draw(h.T, "configs")
	d := h.deployment(name, configs...)
	if known := h.deployments[name]; known != nil {
		d.UID, d.Annotations, d.ManagedFields = known.UID, maps.Clone(known.Annotations), known.ManagedFields
	}
	if d.Annotations[annotation.EnabledAnnotation] = annotation.Enabled; rapid.IntRange(0, 5).Draw(h.T, "enabled") == 0 {
		delete(d.Annotations, annotation.EnabledAnnotation)
	}
	if replicas := int32(rapid.IntRange(0, 3).Draw(h.T, "replicas")); replicas < 2 {
		d.Spec.Replicas = &replicas
	}
	h.deployments[name] = d
	if h.shown() {
		h.show("deployments", d)
	}
}

func (h history) showWorkload() {
	if d := h.deployments[h.name("web", "api")]; d != nil {
		h.show("deployments", d)
	}
}

func (h history) deleteWorkload() {
	name := h.name("web", "api")
	if d := h.deployments[name]; d != nil {
		delete(h.deployments, name)
		if h.shown() {
			h.hide("deployments", d)
		}
	}
}

func (h history) letBeDue() {
	for _, change := range h.takeChanges() {
		h.controller.due(change)
	}
}

// decide lets a worker decide about a workload. Requests may be refused.
func (h history) decide() {
	h.refuse = rapid.SampledFrom([]int{0, 0, 0, 403, 409, 503}).Draw(h.T, "refuse")
	for range rapid.IntRange(1, 4).Draw(h.T, "workloads") {
		h.work()
	}
}

func (h history) retry() {
	namespace := rapid.SampledFrom([]string{"one", "two"}).Draw(h.T, "namespace")
	h.controller.restarter.Queue.Add(names.WorkloadRef{Kind: names.Deployment, Namespace: namespace, Name: "web"}, names.ConfigRef{})
}

// begin makes workloads that are recorded.
func (h history) begin() {
	for _, namespace := range []string{"one/", "two/"} {
		for _, name := range []string{"a", "b"} {
			h.configMaps[namespace+name] = &corev1.ConfigMap{ObjectMeta: h.meta(namespace + name), Data: map[string]string{"key": "x"}}
		}
		h.deployments[namespace+"web"] = h.deployment(namespace+"web", "a", "s")
		h.deployments[namespace+"api"] = h.deployment(namespace+"api", "a", "b")
	}
	list(h.world, "configmaps", h.configMaps)
	list(h.world, "secrets", h.secrets)
	list(h.world, "deployments", h.deployments)
	h.letBeDue()
	for h.work() {
	}
}

// requireCounts compares what is counted with what there is to count.
func (h history) requireCounts(seen map[judge.Verdict]int) {
	c := h.controller
	if diff := cmp.Diff(countStale(c), objecttest.Counted(c.staleness.Samples())); diff != "" {
		h.Errorf("stale workloads (-all +counted):\n%s", diff)
	}
	for _, ref := range c.catalog.WorkloadsIn("") {
		v := c.staleness.Judge(ref)
		if since, found := c.staleness.Stale[ref]; found != (v != judge.Fresh) || found && (v == judge.Forgotten) == since.IsZero() {
			h.Errorf("%s is counted (%t, %s) unlike the verdict %d", ref, found, since, v)
		}
		seen[v]++
		view, _ := c.catalog.View(ref)
		if d := h.deployments[ref.Namespace+"/"+ref.Name]; v == judge.Forgotten && d != nil && d.UID == view.Workload.UID {
			h.Errorf("%s runs with an earlier content, and nothing is under way for it", ref) // nor is it gone
		}
	}
}

func TestStaleWorkloadsAreCountedLikeByLookingAtAllOfThem(t *testing.T) {
	seen := make(map[judge.Verdict]int)
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t)
		h := history{rt, w}
		h.begin()
		rt.Repeat(map[string]func(*rapid.T){
			"edit a ConfigMap":   func(*rapid.T) { h.editConfigMap() },
			"edit a Secret":      func(*rapid.T) { h.editSecret() },
			"delete a ConfigMap": func(*rapid.T) { h.deleteConfigMap() },
			"list ConfigMaps":    func(*rapid.T) { list(w, "configmaps", w.configMaps) },
			"list Secrets":       func(*rapid.T) { list(w, "secrets", w.secrets) },
			"edit a workload":    func(*rapid.T) { h.editWorkload() },
			"show a workload":    func(*rapid.T) { h.showWorkload() },
			"delete a workload":  func(*rapid.T) { h.deleteWorkload() },
			"list workloads":     func(*rapid.T) { list(w, "deployments", w.deployments) },
			"let be due":         func(*rapid.T) { h.letBeDue() },
			"decide":             func(*rapid.T) { h.decide() },
			"retry":              func(*rapid.T) { h.retry() },
			"lead":               func(*rapid.T) { w.controller.beginToLead() },
			"know the key":       func(*rapid.T) { w.controller.useKey(store.NewKey()) },
			"": func(*rapid.T) {
				if rapid.IntRange(0, 2).Draw(rt, "count") == 0 {
					return // so that several notes are judged at once
				}
				w.controller.staleness.Update(t.Context(), time.Hour)
				h.requireCounts(seen)
			},
		})
	})
	if seen[judge.Fresh] == 0 || seen[judge.Stale] == 0 {
		t.Errorf("the histories had verdicts %v, want more than one", seen)
	}
}

// edited is a world with a workload whose config was edited after its record was made.
func edited(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.configMaps["ns/a"] = &corev1.ConfigMap{ObjectMeta: w.meta("ns/a"), Data: map[string]string{"key": "x"}}
	w.deployments["ns/web"] = w.deployment("ns/web", "a")
	list(w, "configmaps", w.configMaps)
	list(w, "deployments", w.deployments)
	for _, change := range w.takeChanges() {
		w.controller.due(change)
	}
	w.work()
	w.show("deployments", w.deployments["ns/web"])
	w.show("configmaps", &corev1.ConfigMap{ObjectMeta: w.meta("ns/a"), Data: map[string]string{"key": "y"}})
	return w
}

func TestAStaleWorkloadThatNothingIsUnderWayForCountsAsOverdue(t *testing.T) {
	w := edited(t)
	c := w.controller
	require := func(when string, isForgotten bool) {
		t.Helper()
		c.staleness.Update(t.Context(), time.Hour)
		if stale := objecttest.Counted(c.staleness.Samples())["ns"]; stale != 1 {
			t.Errorf("%s: %v stale workloads", when, stale)
		}
		waits := make(map[string]time.Duration)
		c.staleness.AddForgotten(waits, time.Now().Add(time.Hour))
		if wait, found := waits["ns"]; found != isForgotten || found && (wait < time.Hour || wait > 2*time.Hour) {
			t.Errorf("%s: overdue for %s", when, wait)
		}
	}
	require("within the grace period", false)
	changes := w.takeChanges()
	c.staleness.NoteWorkload(objecttest.Web)
	require("on a standby", false)
	c.beginToLead()
	require("on a leader that has lost the change", true)
	c.due(changes[0])
	require("when a worker is to look at it", false)
}
