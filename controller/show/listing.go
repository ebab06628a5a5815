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
		all := named(&asked, slices.Collect(maps.Keys(enabled)), func(name string) string { return name })
		fill(l, all, strings.Compare, func(name string) status.Listed { return status.Listed{Name: name, Workloads: enabled[name]} })
	case status.ListWorkloads:
		all := named(&asked, b.Catalog.WorkloadsIn(asked.Namespace), names.WorkloadRef.String)
		if len(asked.States) > 0 {
			all = slices.DeleteFunc(all, func(ref names.WorkloadRef) bool { return !slices.Contains(asked.States, b.stateOf(ref)) })
		}
		fill(l, all, names.CompareWorkloadRefs, func(ref names.WorkloadRef) status.Listed {
			return status.Listed{Name: ref.String(), State: b.stateOf(ref)}
		})
	case status.ListConfigs:
		all := named(&asked, b.Catalog.ConfigsIn(asked.Namespace), names.ConfigRef.String)
		fill(l, all, names.CompareConfigRefs, func(ref names.ConfigRef) status.Listed {
			return status.Listed{Name: ref.String(), Workloads: b.Catalog.CountReaders(ref)}
		})
	}
	if asked.Page < 1 || asked.Page > l.Pages {
		return nil
	}
	return l
}

// named returns those of all whose names have the part that is asked for.
func named[T any](asked *status.Selection, all []T, name func(T) string) []T {
	if asked.Query == "" {
		return all
	}
	return slices.DeleteFunc(all, func(item T) bool { return !strings.Contains(strings.ToLower(name(item)), asked.Query) })
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
