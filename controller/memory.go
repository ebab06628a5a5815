package controller

import (
	"os"
	"runtime/debug"
)

// How much garbage may pile up, in percent of what is in use. Much passes through
// while everything is listed, little afterwards, and what is kept is little: a
// small heap costs next to nothing then. See docs/benchmarks.md.
const (
	gcPercentListing = 100
	gcPercentSynced  = 20
)

// collectGarbage sets how much garbage may pile up, unless the user does so.
func collectGarbage(percent int) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}

// releaseGarbage returns the memory to the system that the lists have used.
func releaseGarbage() {
	collectGarbage(gcPercentSynced)
	debug.FreeOSMemory()
}
