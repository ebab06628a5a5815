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
	if namespace != "" && !b.Catalog.HasNamespace(namespace) {
		return nil
	}
	l := &status.Listing{Time: now.UTC(), What: what, Namespace: namespace, Page: page}
	switch what {
	case status.ListNamespaces:
		enabled := b.Catalog.Namespaces()
		fill(l, slices.Sorted(maps.Keys(enabled)), func(name string) status.Listed { return status.Listed{Name: name, Workloads: enabled[name]} })
	case status.ListWorkloads:
		refs := b.Catalog.WorkloadsIn(namespace)
		slices.SortFunc(refs, names.CompareWorkloadRefs)
		fill(l, refs, func(ref names.WorkloadRef) status.Listed {
			return status.Listed{Name: ref.String(), State: b.stateOf(ref)}
		})
	case status.ListConfigs:
		readers := b.Catalog.ConfigsIn(namespace)
		fill(l, slices.SortedFunc(maps.Keys(readers), names.CompareConfigRefs), func(ref names.ConfigRef) status.Listed {
			return status.Listed{Name: ref.String(), Workloads: readers[ref]}
		})
	}
	if page < 1 || page > l.Pages {
		return nil
	}
	return l
}

// fill puts those of all that are on the page of a list into it.
func fill[T any](l *status.Listing, all []T, listed func(T) status.Listed) {
	found, pages := status.PageOf(all, l.Page)
	l.Total, l.Pages = len(all), pages
	for _, item := range found {
		l.Items = append(l.Items, listed(item))
	}
}

// stateOf returns the state of a workload as its page shows it.
func (b *Board) stateOf(ref names.WorkloadRef) status.State {
	s := b.StandingOf(ref)
	if w := b.Catalog.Workload(ref); w != nil && s.State == status.Rolling {
		return s.StateOf(b.shown(w))
	}
	return s.State
}
