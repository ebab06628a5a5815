package controller

import (
	"os"
	"runtime/debug"
)

// percentAtStart is how much garbage may pile up, in percent of what is in use, while
// workloads are listed and decided about for the first time. By then all configs are kept, so
// that the usual 100 would be much; less costs more time than it saves memory.
const percentAtStart = 40

// limitGarbage lets so much garbage pile up from now on, in percent of what is in use, unless
// the user sets GOGC or nothing is to be changed.
func (c *Controller) limitGarbage(percent int) {
	if c.options.GarbagePercent > 0 && os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}
