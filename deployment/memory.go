package deployment

import (
	"os"
	"runtime"
	"runtime/debug"
)

const (
	// largeHeap is from which size on the heap counts as large, in bytes.
	largeHeap = 32 << 20
	// percentWhenLarge and percentWhenSmall are how much garbage may pile up, in percent of
	// what is in use. Beside a small heap, to collect it more often costs more than it saves.
	percentWhenLarge = 40
	percentWhenSmall = 100
)

// limitGarbage lets so much garbage pile up from now on, unless the user sets GOGC.
func limitGarbage(percent int) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}

// releaseGarbage returns the memory to the system that lists have used, and limits what piles
// up afterwards.
func releaseGarbage() {
	debug.FreeOSMemory()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	limitGarbage(garbagePercent(memory.HeapAlloc))
}

func garbagePercent(heap uint64) int {
	if heap > largeHeap {
		return percentWhenLarge
	}
	return percentWhenSmall
}
