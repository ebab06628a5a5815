package controller

import (
	"os"
	"runtime/debug"
)

// gcPercentSynced is how much garbage may pile up, in percent of what is in use,
// once everything is listed. Much passes through before that, little afterwards,
// and what is kept is little: a small heap costs next to nothing then. See
// docs/benchmarks.md.
const gcPercentSynced = 20

// releaseGarbage returns the memory to the system that the lists have used, and
// keeps the heap small from now on, unless the user sets GOGC.
func releaseGarbage() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercentSynced)
	}
	debug.FreeOSMemory()
}
