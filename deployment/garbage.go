package deployment

import (
	"os"
	"runtime"
	"runtime/debug"
)

const (
	// largeHeap is the size above which the heap counts as large, in bytes.
	largeHeap = 32 << 20
	// percentWhenLarge and percentWhenSmall are how much garbage may accumulate, in percent
	// of the memory in use. With a small heap, collecting garbage more often costs more than
	// it saves.
	percentWhenLarge = 40
	percentWhenSmall = 100
)

// limitGarbage sets how much garbage may accumulate from now on, in percent, unless the user
// sets GOGC.
func limitGarbage(percent int) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}

// releaseGarbage returns the memory that lists have used to the system, and limits the
// garbage that accumulates afterwards.
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
