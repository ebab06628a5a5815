package catalog

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"kubernetes-deployment-restart-controller/catalog/catalogtest"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/index"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/template"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

// listConfigs returns the news of a list together.
func listConfigs(c *Catalog, kind names.ConfigKind, namespace string, configs []*content.Config, at time.Time, first bool) (news, gone []names.ConfigRef) {
	gone = c.ListConfigs(kind, namespace, configs, at, first, func(ref names.ConfigRef) { news = append(news, ref) })
	return news, gone
}

func listWorkloads(c *Catalog, kind names.WorkloadKind, namespace string, workloads []*workload.Workload, shown names.Sequence) (news, gone []names.WorkloadRef) {
	gone = c.ListWorkloads(kind, namespace, workloads, shown, func(ref names.WorkloadRef) { news = append(news, ref) })
	return news, gone
}

// To find what panicked in a list, its objects are processed one by one.
func TestAWorkloadThatPanicsInAListPanicsAgainByItself(t *testing.T) {
	c := New()
	bad := catalogtest.MustWorkload(objecttest.Deployment(objecttest.ReadsAll("web", false)))
	panics := func(takeIn func()) (panicked bool) {
		defer func() { panicked = recover() != nil }()
		takeIn()
		return false
	}
	references := c.references
	c.references = index.References{} // so that adding to it panics
	if !panics(func() { listWorkloads(c, names.Deployment, "", []*workload.Workload{&bad}, 0) }) || !panics(func() { c.ObserveWorkload(bad) }) {
		t.Error("it does not panic each time")
	}
	c.references = references
	listWorkloads(c, names.Deployment, "", []*workload.Workload{&bad}, 0)
	if len(c.WorkloadsReferencing(objecttest.ConfigMapRef("web"))) != 1 {
		t.Error("no edit of its config would wake it")
	}
}

func TestAListIsTakenInOneByOne(t *testing.T) {
	c := New()
	listConfigs(c, names.ConfigMap, "", manyConfigs(100), objecttest.Noon, true)
	before := c.Sequence()
	listConfigs(c, names.ConfigMap, "", manyConfigs(50), objecttest.Noon, false)
	if taken := c.Sequence() - before; taken != 100 {
		t.Errorf("50 configs that are listed and 50 that are gone were taken in with %d locks", taken)
	}
	listWorkloads(c, names.Deployment, "", manyWorkloads(20, 10), 0)
	before = c.Sequence()
	listWorkloads(c, names.Deployment, "", manyWorkloads(10, 10), before)
	if taken := c.Sequence() - before; taken != 20 {
		t.Errorf("10 workloads that are listed and 10 that are gone were taken in with %d locks", taken)
	}
}

func TestWhatCameAfterAListIsNotGone(t *testing.T) {
	c := New()
	config, workload := content.NewConfigMap(objecttest.ConfigMap("web", objecttest.Data{"a": "1"})), catalogtest.MustWorkload(objecttest.Deployment(objecttest.ReadsAll("web", false)))
	c.ObserveConfig(config, objecttest.Noon)
	c.ObserveWorkload(workload)
	knownConfig, knownWorkload := c.config(config.Ref), c.workload(workload.Ref)
	c.ForgetConfig(config.Ref, objecttest.Noon)
	c.ObserveConfig(config, objecttest.Noon)
	if c.missConfig(knownConfig, objecttest.Noon) {
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
	c.ObserveWorkload(catalogtest.MustWorkload(objecttest.Deployment(objecttest.ReadsAll("web", false))))
	looks := func(state string, at time.Time) (looks int) {
		a := content.NewArrival(content.NewConfigMap(objecttest.ConfigMap("web", objecttest.Data{"a": state})), at, false)
		previous, past := c.config(a.Config.Ref), c.past[a.Config.Ref]
		a.Referenced = true
		a.Compare(previous, past, func() names.Sighting { looks++; return names.Sighting{} })
		c.moment++
		c.putConfig(a)
		return looks
	}
	long := content.SettledAfter.Seconds() + 1
	for i, test := range []struct {
		content string
		at      float64
		want    int
	}{
		{"1", 0, 0}, {"2", 1, 0}, // one past content, a moment ago
		{"3", 2, 0}, {"3", long + 10, 0}, // no edit
		{"4", long + 10, 1},
	} {
		if got := looks(test.content, objecttest.NoonPlus(test.at)); got != test.want {
			t.Errorf("arrival %d: %d looks at the records, want %d", i, got, test.want)
		}
	}
	if len(c.past[objecttest.ConfigMapRef("web")]) == 0 {
		t.Error("no past content is known")
	}
}

func BenchmarkList100000ConfigsAgain(b *testing.B) {
	c, configs := New(), manyConfigs(100_000)
	listConfigs(c, names.ConfigMap, "", configs, objecttest.Noon, true)
	for b.Loop() {
		listConfigs(c, names.ConfigMap, "", configs, objecttest.Noon, false)
	}
}

func BenchmarkListAnEmptyNamespaceBeside100000Configs(b *testing.B) {
	c := New()
	listConfigs(c, names.ConfigMap, "", manyConfigs(100_000), objecttest.Noon, true)
	for b.Loop() {
		listConfigs(c, names.ConfigMap, "empty", nil, objecttest.Noon, false)
	}
}

// BenchmarkCollectingWhatAListOf100000ConfigsMayLack is the longest that a list locks the catalog.
func BenchmarkCollectingWhatAListOf100000ConfigsMayLack(b *testing.B) {
	c := New()
	listConfigs(c, names.ConfigMap, "", manyConfigs(100_000), objecttest.Noon, true)
	for b.Loop() {
		c.beginList(names.ConfigMap, "")
		c.endList("", false)
	}
}

func BenchmarkALabelOfAConfigThat10000WorkloadsReadChanges(b *testing.B) {
	c := New()
	for i := range 10_000 {
		w := catalogtest.MustWorkload(objecttest.Deployment(objecttest.ReadsAll("web", false)))
		w.Ref.Name, w.Record.Trusted = fmt.Sprint("web-", i), true
		c.ObserveWorkload(w)
	}
	for i := range 3 {
		c.ObserveConfig(content.NewConfigMap(objecttest.ConfigMap("web", objecttest.Data{"a": fmt.Sprint(i)})), objecttest.NoonPlus(float64(i)))
	}
	config := content.NewConfigMap(objecttest.ConfigMap("web", objecttest.Data{"a": "2"}))
	for b.Loop() {
		c.ObserveConfig(config, objecttest.NoonPlus(1000))
	}
}

// BenchmarkAnEventOfAWorkloadOf10000References is all under the lock.
func BenchmarkAnEventOfAWorkloadOf10000References(b *testing.B) {
	c := New(names.ConfigMap)
	event := func() *workload.Workload {
		w := catalogtest.ReadsConfigs(template.MaxReferences, 0)
		w.Record = record.Record{Trusted: true, Checksums: record.Checksums{}}
		for i := range w.References {
			name := w.References[i].Config.Name
			w.References[i].Config.Name = string(append([]byte(nil), name...))
			w.Record.Checksums[w.References[i].Config] = 1
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

func TestThePastOfAConfigThatNobodyReadsIsNotKept(t *testing.T) {
	c := New()
	c.ObserveWorkload(catalogtest.MustWorkload(objecttest.Deployment(objecttest.ReadsAll("other", false))))
	for second := range 10 {
		c.ObserveConfig(content.NewConfigMap(objecttest.ConfigMap("web", objecttest.Data{"a": strconv.Itoa(second)})), objecttest.NoonPlus(float64(second)))
	}
	c.ForgetConfig(objecttest.ConfigMapRef("web"), objecttest.NoonPlus(20))
	if len(c.past) != 0 {
		t.Errorf("kept: %v", c.past)
	}
}
