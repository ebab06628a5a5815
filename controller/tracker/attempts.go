package tracker

import (
	"slices"
	"time"

	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/gate"
)

// Made is a restart that was made: what was written to the workload, which may show by now what others have done since.
type Made struct {
	At        time.Time
	Timestamp string // of the pod template
	Ran       record.Ran
}

// Attempt is a failed write that may have succeeded on the server because only its answer was
// lost.
type Attempt struct {
	// Version is the resource version of the workload that the write was for, and Written is
	// the time that identifies the record.
	Version  string
	Written  time.Time
	Decided  names.Sequence
	Decision decide.Decision
	Made     Made
	// Admitted is what the gate admitted, nil if the write was no restart.
	Admitted *gate.Request
}

// maxAttempts is the highest number of attempts remembered for a workload, which are the last
// ones. Each try of a worker adds at most one attempt. Once maxAttemptsIn are remembered of a namespace, only the last one
// of a workload is: each may have several kilobytes of causes.
const (
	maxAttempts   = 16
	maxAttemptsIn = 1000
)

// NoteAttempt remembers an attempt until the workload shows whether it succeeded. It drops
// the checksums, of which there may be very many, because the workload will then show them
// too.
func (t *Table) NoteAttempt(ref names.WorkloadRef, a Attempt) {
	a.Decision.Checksums, a.Decision.Without = nil, record.Without{}
	t.Update(ref, func(row *Row) {
		most := maxAttempts
		if t.attemptsIn[ref.Namespace] >= maxAttemptsIn {
			most = 1
		}
		attempts := row.Attempts
		attempts = append(attempts, a)
		row.Attempts = slices.Clone(attempts[max(0, len(attempts)-most):])
	})
}

// TakeCarriedOut returns the attempt that made the present record of a workload, nil if
// none did. It forgets the attempts as soon as they cannot succeed any more, because
// the workload has a later version than the one they were for, and reports whether it has.
func (t *Table) TakeCarriedOut(w *workload.Workload) (a *Attempt, isOver bool) {
	t.UpdateKnown(w.Ref, func(row *Row) {
		a = row.carriedOut(w)
		isOver = a != nil || slices.ContainsFunc(row.Attempts, func(a Attempt) bool { return workload.IsLaterVersion(w.ResourceVersion, a.Version) })
		if isOver {
			row.Attempts = nil
		}
	})
	return a, isOver
}

// HasAttempted reports whether an attempt made the present record of a workload.
func (t *Table) HasAttempted(w *workload.Workload) bool {
	row := t.Of(w.Ref)
	return row.carriedOut(w) != nil
}

func (r *Row) carriedOut(w *workload.Workload) *Attempt {
	for i := range r.Attempts {
		if r.Attempts[i].Written.Equal(w.Record.Written) {
			return &r.Attempts[i]
		}
	}
	return nil
}
