package tracker

import (
	"time"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/policy"
	"kubernetes-deployment-restart-controller/catalog/record"
)

// What was reported of a workload, so that nothing is reported twice.

// ProblemKind is a kind of problem of which a workload has one at most. Several kinds may share the reason of an Event.
type ProblemKind int

// The kinds of problems.
const (
	LeftoverProblem ProblemKind = iota
	HarmlessProblem             // leftovers, too
	ReferenceProblem
	IdleProblem
	problemKinds
)

// Reported is what was reported of a workload. It is replaced, never changed.
type Reported struct {
	problems [problemKinds]string
	reverted *record.Revert    // nil if none was
	dryRun   *record.Checksums // what a dry run would have recorded, nil if it would have done nothing
	// rewrites count how often in a row the record of a workload was written again because another client undid it. isSpacingTold
	// means that an Event has reported that the writes are spaced out.
	rewrites      policy.Budget
	isSpacingTold bool
}

// report changes what was reported of a workload. If it adds nothing, there is nothing to do for a workload without reports.
func (t *Table) report(ref names.WorkloadRef, adds bool, change func(*Reported)) {
	update := t.UpdateKnown
	if adds {
		update = t.Update
	}
	update(ref, func(row *Row) {
		if row.Reported == nil && !adds {
			return
		}
		if row.Reported = changed(row.Reported, change); *row.Reported == (Reported{}) {
			row.Reported = nil
		}
	})
}

// NoteProblem notes the problem of a kind that a workload has as reported to its owner, and reports
// whether it is new. An empty problem means that there is none, which is new if there was one.
func (t *Table) NoteProblem(ref names.WorkloadRef, kind ProblemKind, problem string) (isNew bool) {
	t.report(ref, problem != "", func(r *Reported) { isNew, r.problems[kind] = r.problems[kind] != problem, problem })
	return isNew
}

// NoteRevert notes a revert as reported, and reports whether it is new.
// Nil means that there is no revert.
func (t *Table) NoteRevert(ref names.WorkloadRef, revert *record.Revert) (isNew bool) {
	t.report(ref, revert != nil, func(r *Reported) {
		before := r.reverted
		isNew = revert != nil && (before == nil || before.Restart != revert.Restart || !before.Recorded.Equal(revert.Recorded))
		r.reverted = revert
	})
	return isNew
}

// NoteDryRun notes the [decide.Decision.Delivers] that a dry run has reported, and reports
// whether they are new.
func (t *Table) NoteDryRun(ref names.WorkloadRef, checksums record.Checksums) (isNew bool) {
	t.report(ref, true, func(r *Reported) {
		isNew, r.dryRun = r.dryRun == nil || !r.dryRun.Equal(checksums), &checksums
	})
	return isNew
}

// ForgetDryRun notes that a dry run would do nothing any more.
func (t *Table) ForgetDryRun(ref names.WorkloadRef) {
	t.report(ref, false, func(r *Reported) { r.dryRun = nil })
}

// SpaceRewrites returns how long the record of a workload has to wait that another client undid, and whether this is the
// first wait in a row.
func (t *Table) SpaceRewrites(ref names.WorkloadRef, spacing policy.Spacing, now time.Time) (wait time.Duration, news bool) {
	t.report(ref, true, func(r *Reported) {
		if wait = r.rewrites.Wait(spacing, now); wait != 0 {
			news, r.isSpacingTold = !r.isSpacingTold, true
		}
	})
	return wait, news
}

// NoteRewritten notes that the record of a workload was written again.
func (t *Table) NoteRewritten(ref names.WorkloadRef, spacing policy.Spacing, now time.Time) {
	t.report(ref, true, func(r *Reported) {
		r.rewrites = r.rewrites.Spend(spacing, now)
		r.isSpacingTold = r.isSpacingTold && r.rewrites.Restarts > 1
	})
}
