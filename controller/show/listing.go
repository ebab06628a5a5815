package show

import (
	"maps"
	"slices"
	"strings"
	"time"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/internal/status"
)

// List returns a page of the namespaces, workloads or configs that are asked for, nil if there is no such page or if nothing is known of
// the namespace. It looks once at each that there is in the namespace, or in all, and sorts those that are asked for.
func (b *Board) List(asked status.Selection, now time.Time) *status.Listing {
	if asked.Namespace != "" && !b.Catalog.HasNamespace(asked.Namespace) {
		return nil
	}
	l := &status.Listing{Time: now.UTC(), Selection: asked}
	switch asked.What {
	case status.ListNamespaces:
		enabled := b.Catalog.Namespaces()
		all := slices.DeleteFunc(slices.Collect(maps.Keys(enabled)), func(name string) bool { return !asked.Names(name) })
		fill(l, all, strings.Compare, func(name string) status.Listed { return status.Listed{Name: name, Workloads: enabled[name]} })
	case status.ListWorkloads:
		all := slices.DeleteFunc(b.Catalog.WorkloadsIn(asked.Namespace), func(ref names.WorkloadRef) bool {
			return !asked.Names(ref.String()) || len(asked.States) > 0 && !slices.Contains(asked.States, b.stateOf(ref))
		})
		fill(l, all, names.CompareWorkloadRefs, func(ref names.WorkloadRef) status.Listed {
			return status.Listed{Name: ref.String(), State: b.stateOf(ref)}
		})
	case status.ListConfigs:
		all := slices.DeleteFunc(b.Catalog.ConfigsIn(asked.Namespace), func(ref names.ConfigRef) bool { return !asked.Names(ref.String()) })
		fill(l, all, names.CompareConfigRefs, func(ref names.ConfigRef) status.Listed {
			return status.Listed{Name: ref.String(), Workloads: b.Catalog.CountReaders(ref)}
		})
	}
	if asked.Page < 1 || asked.Page > l.Pages {
		return nil
	}
	return l
}

// fill puts those of all that are on the page of a list into it.
func fill[T any](l *status.Listing, all []T, compare func(a, b T) int, listed func(T) status.Listed) {
	slices.SortFunc(all, compare)
	found, pages := status.PageOf(all, l.Page)
	l.Total, l.Pages = len(all), pages
	for _, item := range found {
		l.Items = append(l.Items, listed(item))
	}
}

// stateOf returns the state of a workload as its page shows it. It does not look for what the workload lacks, which may take long.
func (b *Board) stateOf(ref names.WorkloadRef) status.State {
	if _, isAlone := b.standingAlone(ref); isAlone {
		return status.LeftAlone
	}
	s := b.standingOfRestarts(ref)
	if _, lacks := b.Absences.Of.Find(ref.Namespace, ref); lacks && s.State != status.Failed {
		return status.Lacking
	}
	if w := b.Catalog.Workload(ref); w != nil && s.State == status.Rolling {
		return s.StateOf(b.shown(w))
	}
	return s.State
}
