package controller

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/status"
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

// holdsIn lists the workloads and configs of a namespace, or of all, whose annotations hold restarts.
func (c *Controller) holdsIn(namespace string) status.List[status.Hold] {
	list := newHoldList()
	c.catalog.Holds(func(h catalog.HoldNote) {
		if isInside(namespace, h.Namespace) {
			list.Add(h)
		}
	})
	return status.ListOf(list, c.hold)
}

// holdsOf lists what holds the restarts of a workload: its own annotation, and those of the configs that it reads.
func (c *Controller) holdsOf(view *catalog.View) status.List[status.Hold] {
	list := newHoldList()
	if w := view.Workload; w.Policy != nil && w.Policy.Hold != "" {
		list.Add(catalog.HoldNote{On: w.Ref, Namespace: w.Ref.Namespace, Text: w.Policy.Hold})
	}
	for ref := range view.Configs {
		if policy := c.catalog.PolicyOf(ref); policy.Hold != "" {
			list.Add(catalog.HoldNote{On: ref, Namespace: ref.Namespace, Text: policy.Hold})
		}
	}
	return status.ListOf(list, c.hold)
}

func newHoldList() *status.Shortlist[catalog.HoldNote] {
	return status.NewShortlist(func(a, b catalog.HoldNote) int { return cmp.Compare(a.On.String(), b.On.String()) })
}

func (c *Controller) hold(h catalog.HoldNote) status.Hold {
	_, isConfig := h.On.(catalog.ConfigRef)
	began := c.holdTimes.find(h.On)
	return status.Hold{On: h.On.String(), IsConfig: isConfig, Text: h.Text, Beginning: status.Beginning{Since: began.since.UTC(), AtLeast: began.atLeast}}
}
