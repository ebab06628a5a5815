// Package rows keeps what several packages know of each workload in one row of one table, with one lock. A package sees its own
// [Column] of the table, and nothing else of a row; who owns the table decides what else a row holds.
//
// Invariant: a row that knows nothing leaves the table.
package rows

import (
	"iter"
	"maps"
	"slices"
	"sync"

	"kubernetes-deployment-restart-controller/catalog/names"
)

// Table has a row for each workload of which something is known. Its methods lock it, except In, so several goroutines may call them
// at once, but not while they hold the lock.
type Table[Row any] struct {
	sync.Mutex
	in      map[string]map[names.WorkloadRef]*Row // by namespace
	isEmpty func(*Row) bool
}

// New returns a table without rows. isEmpty reports whether a row knows nothing, as the zero value must.
func New[Row any](isEmpty func(*Row) bool) *Table[Row] {
	return &Table[Row]{in: make(map[string]map[names.WorkloadRef]*Row), isEmpty: isEmpty}
}

// Of returns a copy of a row.
func (t *Table[Row]) Of(ref names.WorkloadRef) Row {
	row, _ := t.find(ref)
	return row
}

func (t *Table[Row]) find(ref names.WorkloadRef) (row Row, isKnown bool) {
	t.Lock()
	defer t.Unlock()
	known := t.in[ref.Namespace][ref]
	if known == nil {
		return row, false
	}
	return *known, true
}

// All yields a copy of each row. Each is consistent in itself, but they are not of the same moment: the table is not locked
// meanwhile, so the loop may do anything.
func (t *Table[Row]) All() iter.Seq2[names.WorkloadRef, Row] {
	return func(yield func(names.WorkloadRef, Row) bool) {
		for _, ref := range t.Refs() {
			if row, isKnown := t.find(ref); isKnown && !yield(ref, row) {
				return
			}
		}
	}
}

// Refs returns the workloads that have a row, in no particular order.
func (t *Table[Row]) Refs() []names.WorkloadRef {
	t.Lock()
	defer t.Unlock()
	rows := 0
	for _, in := range t.in {
		rows += len(in)
	}
	refs := make([]names.WorkloadRef, 0, rows)
	for _, in := range t.in {
		refs = slices.AppendSeq(refs, maps.Keys(in))
	}
	return refs
}

// Update changes a row. The function must do nothing else: the table is locked meanwhile.
func (t *Table[Row]) Update(ref names.WorkloadRef, change func(*Row)) {
	t.Lock()
	defer t.Unlock()
	row, isKnown := t.row(ref)
	change(row)
	t.keep(ref, row, isKnown)
}

// UpdateKnown does so if anything is known of the workload.
func (t *Table[Row]) UpdateKnown(ref names.WorkloadRef, change func(*Row)) {
	t.Lock()
	defer t.Unlock()
	if row, isKnown := t.row(ref); isKnown {
		change(row)
		t.keep(ref, row, isKnown)
	}
}

// In yields the rows of a namespace. The table must be locked. The loop may let rows leave the table, but none join it.
func (t *Table[Row]) In(namespace string) iter.Seq2[names.WorkloadRef, *Row] {
	return maps.All(t.in[namespace])
}

// row returns the row of a workload, or a new one.
func (t *Table[Row]) row(ref names.WorkloadRef) (row *Row, isKnown bool) {
	if row = t.in[ref.Namespace][ref]; row != nil {
		return row, true
	}
	return new(Row), false
}

func (t *Table[Row]) keep(ref names.WorkloadRef, row *Row, isKnown bool) {
	switch isEmpty := t.isEmpty(row); {
	case !isEmpty && !isKnown:
		if t.in[ref.Namespace] == nil {
			t.in[ref.Namespace] = make(map[names.WorkloadRef]*Row)
		}
		t.in[ref.Namespace][ref] = row
	case isEmpty && isKnown:
		if delete(t.in[ref.Namespace], ref); len(t.in[ref.Namespace]) == 0 {
			delete(t.in, ref.Namespace) // which releases the memory that many rows took
		}
	}
}

// Column is what one package knows of each workload, which only that package changes. It must be locked while it is used, also while
// what it returned is.
type Column[T any] interface {
	sync.Locker // locks the whole table
	// Of returns what is known of a workload, nil if nothing is.
	Of(ref names.WorkloadRef) *T
	// Set takes in what is known of a workload; nil means nothing.
	Set(ref names.WorkloadRef, known *T)
	// All yields what is known of each workload, and In that of those of a namespace. The loop may set any of that to nil.
	All() iter.Seq2[names.WorkloadRef, *T]
	In(namespace string) iter.Seq2[names.WorkloadRef, *T]
}

// ColumnOf returns the column of a table that a function finds in a row.
func ColumnOf[Row, T any](t *Table[Row], cell func(*Row) **T) Column[T] {
	return column[Row, T]{t, cell}
}

type column[Row, T any] struct {
	*Table[Row]
	cell func(*Row) **T
}

func (c column[Row, T]) Of(ref names.WorkloadRef) *T {
	if row := c.in[ref.Namespace][ref]; row != nil {
		return *c.cell(row)
	}
	return nil
}

func (c column[Row, T]) Set(ref names.WorkloadRef, known *T) {
	row, isKnown := c.row(ref)
	*c.cell(row) = known
	c.keep(ref, row, isKnown)
}

func (c column[Row, T]) All() iter.Seq2[names.WorkloadRef, *T] {
	return func(yield func(names.WorkloadRef, *T) bool) {
		for namespace := range c.in {
			for ref, known := range c.In(namespace) {
				if !yield(ref, known) {
					return
				}
			}
		}
	}
}

func (c column[Row, T]) In(namespace string) iter.Seq2[names.WorkloadRef, *T] {
	return func(yield func(names.WorkloadRef, *T) bool) {
		for ref, row := range c.in[namespace] {
			if known := *c.cell(row); known != nil && !yield(ref, known) {
				return
			}
		}
	}
}
