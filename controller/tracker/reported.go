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

// NoteProblem notes the problem of a kind that a workload has as reported to its owner, and reports
// whether it is new. An empty problem means that there is none, which is new if there was one.
func (t *Table) NoteProblem(ref names.WorkloadRef, kind ProblemKind, problem string) (isNew bool) {
	update := t.Update
	if problem == "" {
		update = t.UpdateKnown
	}
	update(ref, func(row *Row) { isNew, row.Problems[kind] = row.Problems[kind] != problem, problem })
	return isNew
}

// NoteRevert notes a revert as reported, and reports whether it is new.
// Nil means that there is no revert.
func (t *Table) NoteRevert(ref names.WorkloadRef, revert *record.Revert) (isNew bool) {
	t.Update(ref, func(row *Row) {
		before := row.Reverted
		isNew = revert != nil && (before == nil || before.Restart != revert.Restart || !before.Recorded.Equal(revert.Recorded))
		row.Reverted = revert
	})
	return isNew
}

// NoteDryRun notes the [decide.Decision.Delivers] that a dry run has reported, and reports
// whether they are new.
func (t *Table) NoteDryRun(ref names.WorkloadRef, checksums record.Checksums) (isNew bool) {
	t.Update(ref, func(row *Row) {
		isNew, row.DryRun = row.DryRun == nil || !row.DryRun.Equal(checksums), &checksums
	})
	return isNew
}

// Rewrites count how often in a row the record of a workload was written again because another
// client undid it. reported is whether an Event has reported that the writes are spaced out.
type Rewrites struct {
	spent    policy.Budget
	reported bool
}

// SpaceRewrites returns how long the record of a workload has to wait that another client undid, and whether this is the
// first wait in a row.
func (t *Table) SpaceRewrites(ref names.WorkloadRef, spacing policy.Spacing, now time.Time) (wait time.Duration, news bool) {
	t.Update(ref, func(row *Row) {
		if wait = row.Rewrites.spent.Wait(spacing, now); wait != 0 {
			news, row.Rewrites.reported = !row.Rewrites.reported, true
		}
	})
	return wait, news
}

// NoteRewritten notes that the record of a workload was written again.
func (t *Table) NoteRewritten(ref names.WorkloadRef, spacing policy.Spacing, now time.Time) {
	t.Update(ref, func(row *Row) {
		spent := row.Rewrites.spent.Spend(spacing, now)
		row.Rewrites = Rewrites{spent, row.Rewrites.reported && spent.Restarts > 1}
	})
}
