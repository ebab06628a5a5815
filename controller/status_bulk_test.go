//go:build !race

package controller

import (
	"math"
	"runtime"
	"testing"
)

func TestAPageOfTenThousandWorkloadsTakesLittleMemory(t *testing.T) {
	const most = 2 << 20
	page := statusOfMany(t, 10_000)
	for _, path := range statusPaths {
		size, taken := 0, uint64(math.MaxUint64)
		for range 5 { // others may allocate meanwhile
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			size = loadPage(t, page, path)
			runtime.ReadMemStats(&after)
			taken = min(taken, after.TotalAlloc-before.TotalAlloc)
		}
		if t.Logf("%s: %d KiB for %d KiB", path, taken>>10, size>>10); taken > most || size > most/4 {
			t.Errorf("%s takes %d bytes for %d", path, taken, size)
		}
	}
}
