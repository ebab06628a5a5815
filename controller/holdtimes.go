package controller

import (
	"cmp"
	"context"
	"time"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/internal/status"
)

// holdPeriod is how exactly it is known since when annotations hold restarts, if no managedFields say so.
const holdPeriod = 5 * time.Second

// passTime lets the catalog know since when there are holds, until the context ends. Everything must have been listed.
func passTime(ctx context.Context, c *catalog.Catalog) {
	c.PassTime(time.Now())
	every(ctx, holdPeriod, c.PassTime)
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
	_, isConfig := h.On.(names.ConfigRef)
	since, atLeast := c.catalog.HeldSince(h.On)
	return status.Hold{
		On: h.On.String(), IsConfig: isConfig, Text: h.Text, Release: releaseCommand(h.On),
		Beginning: status.Beginning{Since: since.UTC(), AtLeast: atLeast},
	}
}
