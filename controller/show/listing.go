package show

import (
	"maps"
	"slices"
	"time"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/internal/status"
)

// List returns a page of the namespaces, or of the workloads or configs of a namespace, nil if there is no such page or if nothing is
// known of the namespace. Its cost grows with how many there are, not with what else the controller knows.
func (b *Board) List(what, namespace string, page int, now time.Time) *status.Listing {
	l := &status.Listing{Time: now.UTC(), What: what, Namespace: namespace, Page: page}
	isKnown := false
	switch what {
	case status.ListNamespaces:
		isKnown = true
		enabled := b.Catalog.Namespaces()
		l.Total = len(enabled)
		found, pages := status.PageOf(slices.Sorted(maps.Keys(enabled)), page)
		for _, name := range found {
			l.Items = append(l.Items, status.Listed{Name: name, Workloads: enabled[name]})
		}
		l.Pages = pages
	case status.ListWorkloads:
		refs := b.Catalog.WorkloadsIn(namespace)
		isKnown = len(refs) > 0 || b.Catalog.HasNamespace(namespace)
		slices.SortFunc(refs, names.CompareWorkloadRefs)
		l.Total = len(refs)
		found, pages := status.PageOf(refs, page)
		for _, ref := range found {
			l.Items = append(l.Items, status.Listed{Name: ref.String(), State: b.stateOf(ref)})
		}
		l.Pages = pages
	case status.ListConfigs:
		readers := b.Catalog.ConfigsIn(namespace)
		isKnown = len(readers) > 0 || b.Catalog.HasNamespace(namespace)
		l.Total = len(readers)
		found, pages := status.PageOf(slices.SortedFunc(maps.Keys(readers), names.CompareConfigRefs), page)
		for _, ref := range found {
			l.Items = append(l.Items, status.Listed{Name: ref.String(), Workloads: readers[ref]})
		}
		l.Pages = pages
	}
	if !isKnown || page < 1 || page > l.Pages {
		return nil
	}
	return l
}

// stateOf returns the state of a workload as its page shows it.
func (b *Board) stateOf(ref names.WorkloadRef) status.State {
	s := b.StandingOf(ref)
	if w := b.Catalog.Workload(ref); w != nil && s.State == status.Rolling {
		return s.StateOf(b.shown(w))
	}
	return s.State
}
