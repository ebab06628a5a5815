package controller

import (
	"os"
	"runtime/debug"
)

// releaseGarbage returns the memory to the system that the lists have used, and
// lets less garbage pile up from now on, unless the user sets GOGC.
func (c *Controller) releaseGarbage() {
	if percent := c.options.GarbagePercent; percent > 0 && os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
	debug.FreeOSMemory()
}
