package controller

import (
	"os"
	"runtime/debug"
)

// percentAtStart is how much garbage may accumulate, in percent of the memory in use, while
// the controller lists workloads and decides about them for the first time. All configs are
// in memory by then, so the default of 100 would need much memory; a lower value would cost
// more time than the saved memory is worth.
const percentAtStart = 40

// limitGarbage sets how much garbage may accumulate from now on, in percent of the memory in
// use. It does nothing if the user sets GOGC or if the option is 0.
func (c *Controller) limitGarbage(percent int) {
	if c.options.GarbagePercent > 0 && os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}
