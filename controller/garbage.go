package controller

import (
	"context"
	"os"
	"runtime/debug"
	"time"
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

// releaseGarbageOnceDecided releases the memory that the first decisions used, which all come
// at once when the grace period is over. Little garbage accumulates after that.
func (c *Controller) releaseGarbageOnceDecided(ctx context.Context) {
	timer := time.NewTimer(c.options.GracePeriod + 5*time.Second)
	defer timer.Stop()
	select {
	case <-timer.C:
		c.limitGarbage(c.options.GarbagePercent)
		debug.FreeOSMemory()
	case <-ctx.Done():
	}
}
