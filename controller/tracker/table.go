package tracker

import (
	"iter"
	"maps"
	"slices"
	"sync"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/internal/counts"
)

// Row is all that this process knows of the restarts of one workload. The zero value knows nothing. What a row points to is
// replaced, never changed, so a copy of it stays as it was.
type Row struct {
	Backlog *Backlog        // what it waits for, nil if it waits for nothing
	Rolling *RollingRestart // the restart that is followed, nil if none is
	// Unmended means that a restart has failed and none was delivered since: the last word on the workload is a Warning.
	Unmended bool
	Eviction *Eviction // the restart by eviction that may not be over, nil if there is none
	// Attempts are writes that may have succeeded, with a lost answer.
	Attempts []Attempt
	Problems [problemKinds]string // that were reported to the owner
	Reverted *record.Revert       // the revert that was reported, nil if none was
	DryRun   *record.Checksums    // what a dry run would have recorded, nil if it would have done nothing
	Rewrites Rewrites             // of a record that another client undid
}

func (r *Row) isEmpty() bool {
	return r.Backlog == nil && r.Rolling == nil && !r.Unmended && r.Eviction == nil &&
		len(r.Attempts) == 0 && r.Problems == [problemKinds]string{} && r.Reverted == nil && r.DryRun == nil && r.Rewrites == Rewrites{}
}

// ForgetWork forgets all but the restarts that have been made, which end in another way.
func (r *Row) ForgetWork() { *r = Row{Rolling: r.Rolling, Unmended: r.Unmended, Eviction: r.Eviction} }

// Table has a row for each workload of which something is known. Its methods may be called by several goroutines at once.
type Table struct {
	mu   sync.Mutex
	rows map[names.WorkloadRef]*Row
	// attemptsIn is how many attempts there are in each namespace.
	attemptsIn counts.By[string]
}

// New knows nothing yet.
func New() *Table {
	return &Table{rows: make(map[names.WorkloadRef]*Row), attemptsIn: make(counts.By[string])}
}

// Of returns a copy of what is known of a workload.
func (t *Table) Of(ref names.WorkloadRef) Row {
	t.mu.Lock()
	defer t.mu.Unlock()
	if row := t.rows[ref]; row != nil {
		return *row
	}
	return Row{}
}

// All yields a copy of each row. Each is consistent in itself, but they are not of the same moment: the table is not locked
// meanwhile, so the loop may do anything.
func (t *Table) All() iter.Seq2[names.WorkloadRef, Row] {
	return func(yield func(names.WorkloadRef, Row) bool) {
		for _, ref := range t.refs() {
			if row := t.Of(ref); !row.isEmpty() && !yield(ref, row) {
				return
			}
		}
	}
}

func (t *Table) refs() []names.WorkloadRef {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.AppendSeq(make([]names.WorkloadRef, 0, len(t.rows)), maps.Keys(t.rows))
}

// Update changes what is known of a workload. The function must do nothing else: the table is locked meanwhile.
func (t *Table) Update(ref names.WorkloadRef, change func(*Row)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	row := t.rows[ref]
	if row == nil {
		row = new(Row)
	}
	t.apply(ref, row, change)
}

// UpdateKnown does so if anything is known of it.
func (t *Table) UpdateKnown(ref names.WorkloadRef, change func(*Row)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if row := t.rows[ref]; row != nil {
		t.apply(ref, row, change)
	}
}

// apply must be called with the lock held.
func (t *Table) apply(ref names.WorkloadRef, row *Row, change func(*Row)) {
	attempts := len(row.Attempts)
	if change(row); len(row.Attempts) != attempts {
		t.attemptsIn.Add(ref.Namespace, len(row.Attempts)-attempts)
	}
	if !row.isEmpty() {
		t.rows[ref] = row
		return
	}
	if _, isKnown := t.rows[ref]; !isKnown {
		return
	}
	if delete(t.rows, ref); len(t.rows) == 0 {
		t.rows = make(map[names.WorkloadRef]*Row) // releases the memory that many rows took
	}
}

// UpdateAll changes what is known of each workload, as Update does.
func (t *Table) UpdateAll(change func(*Row)) {
	for _, ref := range t.refs() {
		t.UpdateKnown(ref, change)
	}
}

// Forget forgets a workload, and returns what was known.
func (t *Table) Forget(ref names.WorkloadRef) (known Row) {
	t.UpdateKnown(ref, func(row *Row) { known, *row = *row, Row{} })
	return known
}
