package show

import (
	"cmp"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/controller/wording"
	"kubernetes-deployment-restart-controller/internal/notes"
	"kubernetes-deployment-restart-controller/internal/status"
)

// holdsIn lists the workloads and configs of a namespace, or of all, whose annotations hold restarts.
func holdsIn(namespace string, known *catalog.Catalog) status.List[status.Hold] {
	list := newHoldList()
	known.Holds(func(h catalog.HoldNote) {
		if notes.IsInside(namespace, h.Namespace) {
			list.Add(h)
		}
	})
	return status.ListOf(list, func(h catalog.HoldNote) status.Hold { return holdOf(h, known) })
}

// holdsOf lists what holds the restarts of a workload: its own annotation, and those of the configs that it reads.
func holdsOf(view *catalog.View, known *catalog.Catalog) status.List[status.Hold] {
	list := newHoldList()
	if w := view.Workload; w.Policy != nil && w.Policy.Hold != "" {
		list.Add(catalog.HoldNote{On: w.Ref, Namespace: w.Ref.Namespace, Text: w.Policy.Hold})
	}
	for ref := range view.Configs {
		if policy := known.PolicyOf(ref); policy.Hold != "" {
			list.Add(catalog.HoldNote{On: ref, Namespace: ref.Namespace, Text: policy.Hold})
		}
	}
	return status.ListOf(list, func(h catalog.HoldNote) status.Hold { return holdOf(h, known) })
}

func newHoldList() *status.Shortlist[catalog.HoldNote] {
	return status.NewShortlist(func(a, b catalog.HoldNote) int { return cmp.Compare(a.On.String(), b.On.String()) })
}

func holdOf(h catalog.HoldNote, known *catalog.Catalog) status.Hold {
	_, isConfig := h.On.(names.ConfigRef)
	since, atLeast := known.HeldSince(h.On)
	return status.Hold{
		On: h.On.String(), IsConfig: isConfig, Text: h.Text, Release: wording.ReleaseCommand(h.On),
		Beginning: status.Beginning{Since: since.UTC(), AtLeast: atLeast},
	}
}
