package rows

import (
	"slices"
	"sync"
	"testing"

	"kubernetes-deployment-restart-controller/catalog/names"
)

type row struct {
	first, second *int
	third         int
}

func (r *row) isEmpty() bool { return r.first == nil && r.second == nil && r.third == 0 }

var web, api = names.WorkloadRef{Kind: names.Deployment, Namespace: "ns", Name: "web"}, names.WorkloadRef{Kind: names.Deployment, Namespace: "ns", Name: "api"}

func TestTheColumnsOfAWorkloadShareItsRowUntilItKnowsNothing(t *testing.T) {
	table := New((*row).isEmpty)
	first := ColumnOf(table, func(r *row) **int { return &r.first })
	second := ColumnOf(table, func(r *row) **int { return &r.second })
	one, two := 1, 2
	first.Set(web, &one)
	second.Set(web, &two)
	table.Update(web, func(r *row) { r.third = 3 })
	second.Set(api, &two)
	if got := table.Of(web); got != (row{&one, &two, 3}) || first.Of(web) != &one || first.Of(api) != nil || len(table.Refs()) != 2 {
		t.Errorf("%+v of %v", got, table.Refs())
	}
	for ref, known := range first.All() {
		if ref != web || known != &one {
			t.Errorf("the first column has %v of %s", known, ref)
		}
		first.Set(ref, nil)
	}
	for range first.All() {
		t.Error("something is left in the first column")
	}
	second.Set(web, nil)
	second.Set(api, nil)
	if refs := table.Refs(); !slices.Equal(refs, []names.WorkloadRef{web}) {
		t.Errorf("left are %v", refs)
	}
	table.UpdateKnown(web, func(r *row) { r.third = 0 })
	table.UpdateKnown(web, func(*row) { t.Error("the row is still known") })
	table.Update(api, func(*row) {})
	if refs := table.Refs(); len(refs) > 0 {
		t.Errorf("rows that know nothing: %v", refs)
	}
}

func TestAWalkThroughTheTableMayChangeIt(t *testing.T) {
	table := New((*row).isEmpty)
	table.Update(web, func(r *row) { r.third = 1 })
	table.Update(api, func(r *row) { r.third = 1 })
	seen := 0
	for range table.All() {
		seen++
		for _, ref := range []names.WorkloadRef{web, api} {
			table.Update(ref, func(r *row) { r.third = 0 })
		}
	}
	if seen != 1 {
		t.Errorf("%d rows were yielded of which one was gone", seen)
	}
}

func TestTheTableIsUsedByManyAtOnce(t *testing.T) {
	table := New((*row).isEmpty)
	column := ColumnOf(table, func(r *row) **int { return &r.first })
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			for range 1000 {
				table.Update(web, func(r *row) { r.third++ })
				column.Lock()
				column.Set(web, &i)
				column.Unlock()
				for range table.All() {
				}
			}
		})
	}
	group.Wait()
	if got := table.Of(web); got.third != 8000 || got.first == nil {
		t.Errorf("%+v", got)
	}
}
