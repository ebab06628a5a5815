package catalog

import (
	"cmp"
	"fmt"
	"testing"
	"time"
)

// listConfigs returns the news of a list together.
func listConfigs(c *Catalog, kind ConfigKind, namespace string, configs []*Config, at time.Time, first bool) (news, gone []ConfigRef) {
	gone = c.ListConfigs(kind, namespace, configs, at, first, func(ref ConfigRef) { news = append(news, ref) })
	return news, gone
}

func listWorkloads(c *Catalog, kind WorkloadKind, namespace string, workloads []*Workload, shown Sequence) (news, gone []WorkloadRef) {
	gone = c.ListWorkloads(kind, namespace, workloads, shown, func(ref WorkloadRef) { news = append(news, ref) })
	return news, gone
}

func TestAViewReportsThatAListIsBeingProcessed(t *testing.T) {
	s := begin(deployment(readsAll("web", false)))
	s.listed(configMap("web", data{"a": "1"}))
	ref := deploymentRef("web")
	isListing := func() bool {
		view, _ := s.catalog.View(ref)
		return view.Listing
	}
	for namespace, want := range map[string]bool{"": true, ref.Namespace: true, "elsewhere": false} {
		changed := NewConfigMap(configMap("web", data{"a": "in " + namespace}))
		changed.Ref.Namespace = cmp.Or(namespace, ref.Namespace)
		during := false
		s.catalog.ListConfigs(ConfigMap, namespace, []*Config{&changed}, noonPlus(10), false, func(ConfigRef) { during = isListing() })
		if during != want || isListing() {
			t.Errorf("in a list of namespace %q: %t, want %t; afterwards: %t", namespace, during, want, isListing())
		}
	}
}

// To find what panicked in a list, its objects are processed one by one.
func TestAWorkloadThatPanicsInAListPanicsAgainByItself(t *testing.T) {
	c := New()
	bad := mustWorkload(deployment(readsAll("web", false)))
	panics := func(takeIn func()) (panicked bool) {
		defer func() { panicked = recover() != nil }()
		takeIn()
		return false
	}
	index := c.referencing
	c.referencing = nil // so that adding to it panics
	if !panics(func() { listWorkloads(c, Deployment, "", []*Workload{&bad}, 0) }) || !panics(func() { c.ObserveWorkload(bad) }) {
		t.Error("it does not panic each time")
	}
	c.referencing = index
	listWorkloads(c, Deployment, "", []*Workload{&bad}, 0)
	if len(c.WorkloadsReferencing(configMapRef("web"))) != 1 {
		t.Error("no edit of its config would wake it")
	}
}

func TestAListIsTakenInOneByOne(t *testing.T) {
	c := New()
	listConfigs(c, ConfigMap, "", manyConfigs(100), noon, true)
	before := c.Sequence()
	listConfigs(c, ConfigMap, "", manyConfigs(50), noon, false)
	if taken := c.Sequence() - before; taken != 100 {
		t.Errorf("50 configs that are listed and 50 that are gone were taken in with %d locks", taken)
	}
	listWorkloads(c, Deployment, "", manyWorkloads(20, 10), 0)
	before = c.Sequence()
	listWorkloads(c, Deployment, "", manyWorkloads(10, 10), before)
	if taken := c.Sequence() - before; taken != 20 {
		t.Errorf("10 workloads that are listed and 10 that are gone were taken in with %d locks", taken)
	}
}

func TestWhatCameAfterAListIsNotGone(t *testing.T) {
	c := New()
	config, workload := NewConfigMap(configMap("web", data{"a": "1"})), mustWorkload(deployment(readsAll("web", false)))
	c.ObserveConfig(config, noon)
	c.ObserveWorkload(workload)
	knownConfig, knownWorkload := c.config(config.Ref), c.workload(workload.Ref)
	c.ForgetConfig(config.Ref, noon)
	c.ObserveConfig(config, noon)
	if c.missConfig(knownConfig, noon) {
		t.Error("a config is gone that was recreated")
	}
	again := workload
	again.UID, again.ResourceVersion = "another", "1000"
	c.ObserveWorkload(again)
	if c.missWorkload(knownWorkload) {
		t.Error("a workload is gone that was recreated")
	}
	again.ResourceVersion = "1001"
	known := c.workload(again.Ref)
	c.ObserveRead(again) // says that it was there, not that it still is
	if !c.missWorkload(known) || c.missWorkload(known) {
		t.Error("a workload that is gone was not, or twice")
	}
}

func TestTheRecordsOfAConfigsReadersAreOnlyLookedAtWhenPastContentsMayBeDropped(t *testing.T) {
	c := New()
	c.ObserveWorkload(mustWorkload(deployment(readsAll("web", false))))
	looks := func(content string, at time.Time) (looks int) {
		a := newArrival(NewConfigMap(configMap("web", data{"a": content})), at, false)
		previous, past := c.config(a.config.Ref), c.past[a.config.Ref]
		a.referenced = true
		a.compare(previous, past, func() Sighting { looks++; return Sighting{} })
		c.moment++
		c.putConfig(a)
		return looks
	}
	long := settledAfter.Seconds() + 1
	for i, test := range []struct {
		content string
		at      float64
		want    int
	}{
		{"1", 0, 0}, {"2", 1, 0}, // one past content, a moment ago
		{"3", 2, 0}, {"3", long + 10, 0}, // no edit
		{"4", long + 10, 1},
	} {
		if got := looks(test.content, noonPlus(test.at)); got != test.want {
			t.Errorf("arrival %d: %d looks at the records, want %d", i, got, test.want)
		}
	}
	if len(c.past[configMapRef("web")]) == 0 {
		t.Error("no past content is known")
	}
}

func BenchmarkList100000ConfigsAgain(b *testing.B) {
	c, configs := New(), manyConfigs(100_000)
	listConfigs(c, ConfigMap, "", configs, noon, true)
	for b.Loop() {
		listConfigs(c, ConfigMap, "", configs, noon, false)
	}
}

func BenchmarkListAnEmptyNamespaceBeside100000Configs(b *testing.B) {
	c := New()
	listConfigs(c, ConfigMap, "", manyConfigs(100_000), noon, true)
	for b.Loop() {
		listConfigs(c, ConfigMap, "empty", nil, noon, false)
	}
}

// BenchmarkCollectingWhatAListOf100000ConfigsMayLack is the longest that a list locks the catalog.
func BenchmarkCollectingWhatAListOf100000ConfigsMayLack(b *testing.B) {
	c := New()
	listConfigs(c, ConfigMap, "", manyConfigs(100_000), noon, true)
	for b.Loop() {
		c.beginList(ConfigMap, "")
		c.endList("", false)
	}
}

func BenchmarkALabelOfAConfigThat10000WorkloadsReadChanges(b *testing.B) {
	c := New()
	for i := range 10_000 {
		w := mustWorkload(deployment(readsAll("web", false)))
		w.Ref.Name, w.Applied.Trusted = fmt.Sprint("web-", i), true
		c.ObserveWorkload(w)
	}
	for i := range 3 {
		c.ObserveConfig(NewConfigMap(configMap("web", data{"a": fmt.Sprint(i)})), noonPlus(float64(i)))
	}
	config := NewConfigMap(configMap("web", data{"a": "2"}))
	for b.Loop() {
		c.ObserveConfig(config, noonPlus(1000))
	}
}

// BenchmarkAnEventOfAWorkloadOf10000References is all under the lock.
func BenchmarkAnEventOfAWorkloadOf10000References(b *testing.B) {
	c := New(ConfigMap)
	event := func() *Workload {
		w := readsConfigs(MaxReferences, 0)
		w.Applied = AppliedState{Trusted: true, Checksums: Checksums{}}
		for i := range w.References {
			name := w.References[i].Config.Name
			w.References[i].Config.Name = string(append([]byte(nil), name...))
			w.Applied.Checksums[w.References[i].Config] = 1
		}
		return &w
	}
	w := event()
	c.ObserveWorkload(*w)
	same := event()
	for b.Loop() {
		c.takeListed(same, 1)
		same, w = w, same
	}
}
