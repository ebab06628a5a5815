package gate

import (
	"fmt"
	"runtime"
	"testing"

	"kubernetes-deployment-restart-controller/catalog/names"
)

// BenchmarkFanOut plays a fan-out to 10,000 readers through to the end: each asks once, waits, is woken, asks
// again, and is delivered.
func BenchmarkFanOut(b *testing.B) {
	const readers = 10_000
	for _, configs := range []int{1, 2} {
		b.Run(fmt.Sprintf("configs=%d", configs), func(b *testing.B) {
			requests := requestsOf(readers, configs)
			asked := 0
			b.ReportAllocs()
			for b.Loop() {
				asked += playFanOut(b, requests)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/readers, "ns/admission")
			b.ReportMetric(float64(asked)/float64(b.N)/readers, "asks/admission")
		})
	}
}

func requestsOf(readers, configs int) []*Request {
	requests := make([]*Request, readers)
	for i := range requests {
		requests[i] = due(fmt.Sprint(i))
		requests[i].Causes = nil
		for j := range configs {
			// Some read one config only, so the fan-outs differ in how far they have come.
			if j == 0 || i%10 > 0 {
				requests[i].Causes = append(requests[i].Causes, causeOf(fmt.Sprint("c", j), names.Sequence(j+1)))
			}
		}
	}
	return requests
}

// playFanOut returns how often the workloads asked.
func playFanOut(b *testing.B, requests []*Request) (asked int) {
	byRef := make(map[names.WorkloadRef]*Request, len(requests))
	queue := make([]*Request, 0, len(requests))
	l := newLedger(gradual(50), func(ref names.WorkloadRef) { queue = append(queue, byRef[ref]) })
	for _, r := range requests {
		byRef[r.Workload] = r
		queue = append(queue, r)
	}
	var rolling []*Request
	for done := 0; done < len(requests); done++ {
		for ; len(queue) > 0; asked++ {
			r := queue[0]
			if queue = queue[1:]; l.Ask(r, start).MayBegin() {
				l.Begin(r, start)
				rolling = append(rolling, r)
			}
		}
		if len(rolling) == 0 {
			b.Fatalf("after %d restarts nobody may begin", done)
		}
		l.Rolled(rolling[0].Workload)
		l.Deliver(rolling[0].Workload)
		rolling = rolling[1:]
	}
	return asked
}

// BenchmarkWaiting reports the memory of a workload that waits, beyond the strings of the caller.
func BenchmarkWaiting(b *testing.B) {
	const waiting = 100_000
	requests := requestsOf(waiting, 1)
	for b.Loop() {
		before := heapSize()
		l := newLedger(gradual(50), func(names.WorkloadRef) {})
		for _, r := range requests {
			l.Ask(r, start)
		}
		after := heapSize()
		b.ReportMetric(float64(after-before)/waiting, "B/workload")
		runtime.KeepAlive(l)
	}
}

func heapSize() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
