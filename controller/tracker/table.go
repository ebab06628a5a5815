package tracker

import (
	"iter"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/controller/pending"
	"kubernetes-deployment-restart-controller/controller/rows"
	"kubernetes-deployment-restart-controller/internal/counts"
)

// Row is all that this process knows of the restarts of one workload. The zero value knows nothing. What its exported fields point to
// is replaced, never changed, so a copy of a row stays as it was.
type Row struct {
	Changes *pending.Changes // that wait for the grace period, nil if none do; the queue of changes has them
	Backlog *Backlog         // what it waits for then, nil if it waits for nothing
	member  *gate.Member     // its place at the gate
	Exposed *gate.Exposures  // the contents that it is exposed to; the gatekeeper has them
	Rolling *RollingRestart  // the restart that is followed, nil if none is
	// Unmended means that a restart has failed and none was delivered since: the last word on the workload is a Warning.
	Unmended bool
	Eviction *Eviction // the restart by eviction that may not be over, nil if there is none
	Attempts []Attempt // writes that may have succeeded, with a lost answer
	Reported *Reported // to its owner, nil if nothing was
}

func (r *Row) isEmpty() bool {
	return r.Changes == nil && r.Backlog == nil && r.member == nil && r.Exposed == nil && r.Rolling == nil && !r.Unmended && r.Eviction == nil && len(r.Attempts) == 0 && r.Reported == nil
}

// ForgetWork forgets all but the restarts that have been made, and what the gate and the queue of changes know: these end in
// another way.
func (r *Row) ForgetWork() {
	*r = Row{Changes: r.Changes, member: r.member, Exposed: r.Exposed, Rolling: r.Rolling, Unmended: r.Unmended, Eviction: r.Eviction}
}

// isAtStep reports whether the restart that is followed waits at a step of its rollout.
func (r *Row) isAtStep() bool { return r.Rolling != nil && !r.Rolling.HeldAtStep().IsZero() }

// mostAtStep is how many workloads [Table.AtStep] returns.
const mostAtStep = 10

// AtStep returns some workloads of a namespace whose restarts wait at a step.
func (t *Table) AtStep(namespace string) (refs []names.WorkloadRef) {
	t.Lock()
	defer t.Unlock()
	for ref, row := range t.In(namespace) {
		if row.isAtStep() {
			refs = append(refs, ref)
		}
		if len(refs) == mostAtStep {
			break
		}
	}
	return refs
}

// changed returns a changed copy of what a row points to, of the zero value if that is nil.
func changed[T any](of *T, change func(*T)) *T {
	next := new(T)
	if of != nil {
		*next = *of
	}
	change(next)
	return next
}

// Table has a row for each workload of which something is known, and one lock; see [rows.Table].
type Table struct {
	*rows.Table[Row]
	attemptsIn counts.By[string] // how many attempts there are in each namespace; used with the table locked
}

// New knows nothing yet.
func New() *Table {
	return &Table{rows.New((*Row).isEmpty), make(counts.By[string])}
}

// Changes is the column of the queue of changes.
func (t *Table) Changes() rows.Column[pending.Changes] {
	return rows.ColumnOf(t.Table, func(row *Row) **pending.Changes { return &row.Changes })
}

// Members is the column of the gate.
func (t *Table) Members() rows.Column[gate.Member] {
	return rows.ColumnOf(t.Table, func(row *Row) **gate.Member { return &row.member })
}

// Exposures is the column of the gatekeeper.
func (t *Table) Exposures() rows.Column[gate.Exposures] {
	return rows.ColumnOf(t.Table, func(row *Row) **gate.Exposures { return &row.Exposed })
}

// Undecided yields the workloads of a namespace of which it is not known yet whether a restart is due. The table must be locked.
func (t *Table) Undecided(namespace string) iter.Seq[names.WorkloadRef] {
	return func(yield func(names.WorkloadRef) bool) {
		for ref, row := range t.In(namespace) {
			if (row.Changes != nil || row.Backlog != nil) && !yield(ref) {
				return
			}
		}
	}
}

// Update changes what is known of a workload. The function must do nothing else: the table is locked meanwhile.
func (t *Table) Update(ref names.WorkloadRef, change func(*Row)) {
	t.Table.Update(ref, func(row *Row) { t.counted(ref, row, change) })
}

// UpdateKnown does so if anything is known of it.
func (t *Table) UpdateKnown(ref names.WorkloadRef, change func(*Row)) {
	t.Table.UpdateKnown(ref, func(row *Row) { t.counted(ref, row, change) })
}

func (t *Table) counted(ref names.WorkloadRef, row *Row, change func(*Row)) {
	attempts := len(row.Attempts)
	if change(row); len(row.Attempts) != attempts {
		t.attemptsIn.Add(ref.Namespace, len(row.Attempts)-attempts)
	}
}

// UpdateAll changes what is known of each workload, as Update does.
func (t *Table) UpdateAll(change func(*Row)) {
	for _, ref := range t.Refs() {
		t.UpdateKnown(ref, change)
	}
}

// Forget forgets a workload, but for what the gate and the queue of changes know of it, and returns the restart that was followed.
func (t *Table) Forget(ref names.WorkloadRef) (rolling *RollingRestart) {
	t.UpdateKnown(ref, func(row *Row) {
		rolling, *row = row.Rolling, Row{Changes: row.Changes, member: row.member, Exposed: row.Exposed}
	})
	return rolling
}
