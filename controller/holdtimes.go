package controller

import (
	"context"
	"fmt"
	"sync"
	"time"

	"kubernetes-deployment-restart-controller/catalog"
)

// holdTimes are since when annotations of workloads and configs hold restarts, which no object says. What is there when this
// process has listed everything has held for longer. They are as many as the holds. Its methods may be called by several
// goroutines at once.
type holdTimes struct {
	catalog *catalog.Catalog

	mu sync.Mutex
	of map[fmt.Stringer]holdTime
}

type holdTime struct {
	since   time.Time
	atLeast bool // it may have begun earlier
}

// holdPeriod is how often new holds are looked for.
const holdPeriod = 5 * time.Second

// run takes in holds until the context ends. Everything must have been listed.
func (h *holdTimes) run(ctx context.Context) {
	h.take(time.Now(), true)
	every(ctx, holdPeriod, func(now time.Time) { h.take(now, false) })
}

func (h *holdTimes) take(now time.Time, isFirst bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	present := make(map[fmt.Stringer]holdTime, len(h.of))
	h.catalog.Holds(func(note catalog.HoldNote) {
		known, found := h.of[note.On]
		if !found {
			known = holdTime{now, isFirst}
		}
		present[note.On] = known
	})
	h.of = present
}

// find returns since when an object holds restarts, the zero value if that is not known yet.
func (h *holdTimes) find(on fmt.Stringer) holdTime {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.of[on]
}
