package judge

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/controller/objecttest"
)

// BenchmarkAbsencesOf10000Workloads is what is kept of the workloads of one namespace that all lack a config, with a long name.
func BenchmarkAbsencesOf10000Workloads(b *testing.B) {
	const n = 10000
	inUse := func() uint64 {
		runtime.GC()
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		return stats.HeapAlloc
	}
	names := make([]names.WorkloadRef, n)
	for i := range names {
		names[i] = objecttest.DeploymentNamed(fmt.Sprintf("hostile/web-%d", i))
	}
	for b.Loop() {
		before, all := inUse(), Absences{catalog: catalog.New()}
		for _, ref := range names {
			all.Put(ref, strings.Repeat("x", 250)+ref.Name, time.Now())
		}
		b.ReportMetric(float64(inUse()-before)/n, "B/workload")
		runtime.KeepAlive(&all)
	}
}
