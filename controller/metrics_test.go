package controller

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/template"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/judge"
	"kubernetes-deployment-restart-controller/controller/metrics"
	"kubernetes-deployment-restart-controller/controller/objecttest"
	"kubernetes-deployment-restart-controller/controller/show"
)

// collect reads all samples of a controller once.
func collect(c *Controller) int {
	samples := make(chan prometheus.Metric, 64)
	go func() {
		defer close(samples)
		c.Collect(samples)
	}()
	count := 0
	for range samples {
		count++
	}
	return count
}

// newFleet returns a controller that knows 10,000 workloads of 100 namespaces, each with
// ten configs of its own and a record of earlier contents.
func newFleet(tb testing.TB) *Controller {
	tb.Helper()
	c, _ := newIdleController(tb)
	const namespaces, workloads, configs = 100, 100, 10
	var allConfigs []*content.Config
	var all []*workload.Workload
	for n := range namespaces {
		namespace := fmt.Sprintf("namespace-%d", n)
		for i := range workloads {
			w := workload.Workload{Object: workload.Object{Ref: names.WorkloadRef{Kind: names.Deployment, Namespace: namespace, Name: fmt.Sprintf("workload-%d", i)}, ResourceVersion: "1"}, Record: record.Record{Room: 1 << 18, Trusted: true, Checksums: record.Checksums{}, Written: time.Unix(1, 0)}}
			for k := range configs {
				config := content.Config{
					Ref:  names.ConfigRef{Kind: names.ConfigMap, Namespace: namespace, Name: fmt.Sprintf("config-%d-%d", i, k)},
					Keys: names.NewKeys([]names.Key{{Name: "a", Checksum: 1}, {Name: "b", Checksum: 1}, {Name: "c", Checksum: 1}}),
				}
				allConfigs = append(allConfigs, &config)
				w.References = append(w.References, template.Reference{Config: config.Ref, Container: "app"})
				w.Record.Checksums[config.Ref] = config.Checksum([]template.Selection{{}}, content.ChecksumKey{})
			}
			all = append(all, &w)
		}
	}
	c.catalog.ListConfigs(names.ConfigMap, "", allConfigs, time.Unix(2, 0), true, func(names.ConfigRef) {})
	c.catalog.ListWorkloads(names.Deployment, "", all, 0, func(names.WorkloadRef) {})
	return c
}

// The scrape of a cluster in which nothing happens, and of one in which all is overdue and
// slowed down by configs of their own.
func BenchmarkCollect(b *testing.B) {
	c := newFleet(b)
	b.Run("10,000 workloads at rest", func(b *testing.B) { benchmarkCollect(b, c) })
	for _, ref := range c.catalog.WorkloadsIn("") {
		causes := []decide.Cause{{Config: names.ConfigRef{Kind: names.ConfigMap, Namespace: ref.Namespace, Name: ref.Name}}}
		c.restarter.Backlogs.PutOff(ref, causes, objecttest.SlowedUntil(time.Now().Add(-time.Hour)), time.Now())
	}
	c.staleness.NoteEverything()
	c.staleness.Update(b.Context(), time.Hour)
	b.Run("10,000 workloads overdue", func(b *testing.B) { benchmarkCollect(b, c) })
}

func benchmarkCollect(b *testing.B, c *Controller) {
	b.ReportAllocs()
	for b.Loop() {
		if collect(c) == 0 {
			b.Fatal("no samples")
		}
	}
}

// What a scrape spares: judging all workloads.
func BenchmarkJudge10000Workloads(b *testing.B) {
	c := newFleet(b)
	b.ReportAllocs()
	for b.Loop() {
		c.staleness.NoteEverything()
		c.staleness.Update(b.Context(), time.Hour)
	}
}

func TestEditsWithNewKeysByNewManagersMakeOneSeries(t *testing.T) {
	c, _ := newIdleController(t)
	for i := range 1000 {
		cause := decide.Cause{Config: objecttest.MapA, Keys: []string{fmt.Sprint("key-", i)}, Writers: []string{fmt.Sprint("manager-", i)}}
		c.restarter.Backlogs.PutOff(objecttest.Web, []decide.Cause{cause}, objecttest.SlowedUntil(time.Now()), time.Now())
		want := fmt.Sprintf(`
# HELP deployment_restart_controller_slowed_workloads The number of workloads whose next restart is put off because a config keeps changing.
# TYPE deployment_restart_controller_slowed_workloads gauge
deployment_restart_controller_slowed_workloads{config="%s"} 1
deployment_restart_controller_slowed_workloads{config="other"} 0
`, objecttest.MapA)
		if err := testutil.CollectAndCompare(c, strings.NewReader(want), "deployment_restart_controller_slowed_workloads"); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTheNumberOfSeriesDoesNotGrowWithNamespacesAndConfigs(t *testing.T) {
	c, _ := newIdleController(t)
	for i := range 1000 {
		namespace := fmt.Sprint("namespace-", i)
		workload := names.WorkloadRef{Kind: names.Deployment, Namespace: namespace, Name: "web"}
		config := names.ConfigRef{Kind: names.ConfigMap, Namespace: namespace, Name: "a"}
		c.restarter.Backlogs.PutOff(workload, []decide.Cause{{Config: config}}, objecttest.SlowedUntil(time.Now().Add(-time.Hour)), time.Now())
	}
	for i := range 1000 {
		c.staleness.Put(names.WorkloadRef{Kind: names.Deployment, Namespace: fmt.Sprint("namespace-", i), Name: "web"}, judge.Stale, time.Now())
	}
	for name, want := range map[string]int{"stale_workloads": judge.NamedNamespaces + 1, "longest_wait_seconds": judge.NamedNamespaces + 1, "slowed_workloads": show.NamedConfigs + 1} {
		if got := testutil.CollectAndCount(c, "deployment_restart_controller_"+name); got != want {
			t.Errorf("%s has %d series, want %d", name, got, want)
		}
	}
}

func TestTheMetricsAreConsistent(t *testing.T) {
	c, _ := newIdleController(t)
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(c)
	if _, err := registry.Gather(); err != nil {
		t.Error(err)
	}
}

func TestNoMetricIsForgottenInCollectors(t *testing.T) {
	m := metrics.New()
	if fields, collected := reflect.TypeOf(*m).NumField(), len(m.Collectors()); fields != collected {
		t.Errorf("metrics has %d fields, but collectors returns %d", fields, collected)
	}
}
