package tracker

import (
	"errors"
	"slices"
	"time"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/controller/failures"
	"kubernetes-deployment-restart-controller/internal/apiclient"
	"kubernetes-deployment-restart-controller/internal/brief"
	"kubernetes-deployment-restart-controller/internal/notes"
	"kubernetes-deployment-restart-controller/internal/status"
)

// FailedAttempts describes the attempts at a workload that have failed in a row.
type FailedAttempts struct {
	Problem     string // a bounded text, empty if none has failed
	Remedy      status.Remedy
	Record      error  // ErrOnlyRecord or ErrNotMarked if they were only about the record
	Unknown     string // what the next one needs that is not known, empty if all is
	Count       int
	Since, Next time.Time
	late        time.Time // since when the restart is late if it fails again, whoever has the turn meanwhile; zero if it was held since
	atLeast     bool      // a former leader may have failed before since
	reason      string    // the last one's reason in metrics
	alike       int       // how many in a row had it
	IsTold      bool      // the owner has been told
	isOver      bool      // the permission that lacked has been granted, and nothing was tried since
}

// LongestFailure is how many bytes of an error are kept for each workload.
const LongestFailure = 512

// NoteFailure notes why an attempt failed, and whether the operator wants to ignore that. It returns how many attempts have
// failed, and how many of them in a row for this reason.
func (b *Backlogs) NoteFailure(ref names.WorkloadRef, err error, isIgnored bool) (count, alike int) {
	count, alike = 1, 1
	now := time.Now()
	b.changeKnown(ref, func(w *Backlog) {
		w.isIgnored = isIgnored
		switch {
		case errors.Is(err, failures.ErrOutdated): // which is no failure
		case failures.IsWaiting(err):
			w.Failure.Unknown = brief.Within(LongestFailure, brief.Line(err.Error()))
		default:
			w.fail(err, now)
		}
		count, alike = w.Failure.Count, w.Failure.alike
	})
	return count, alike
}

// fail notes that an attempt has failed.
func (w *Backlog) fail(err error, now time.Time) {
	f, remedy, record := &w.Failure, failures.RemedyOf(err), failures.RecordErrorIn(err)
	since, atLeast := now, false
	if f.Count == 0 && w.IsInherited {
		since, atLeast = w.failsSince(now)
	}
	if f.Count == 0 || remedy != f.Remedy || !errors.Is(record, f.Record) { // another failure begins now
		if f.Count == 0 || !areAlike(remedy, f.Remedy) || errors.Is(record, failures.ErrOnlyRecord) || errors.Is(f.Record, failures.ErrOnlyRecord) {
			f.Since, f.atLeast = since, atLeast
		}
		f.Count, f.Remedy, f.Record = 0, remedy, record
	}
	f.Count++
	f.isOver = false
	if reason := failures.Reason(err); reason != f.reason {
		f.reason, f.alike = reason, 0
	}
	f.alike++
	f.Problem, f.Unknown = brief.Within(LongestFailure, brief.Line(err.Error())), ""
	if errors.Is(record, failures.ErrOnlyRecord) {
		if w.PutOff != "" {
			w.Owed = since // what it was put off to is over
		}
		w.Due, w.PutOff = false, ""
	}
	w.noteLate(since)
}

// noteLate notes that a restart has failed since the given time. If it failed before and was not held since, it is as late as
// before, whoever had the turn meanwhile.
func (w *Backlog) noteLate(since time.Time) {
	switch f := &w.Failure; {
	case f.IsMark():
	case f.late.IsZero():
		f.late = since
	case f.late.Before(w.Owed):
		w.Owed = f.late
	}
}

// failsSince returns since when attempts fail that a former leader may have made before, and whether they may have failed earlier.
func (w *Backlog) failsSince(now time.Time) (since time.Time, atLeast bool) {
	wasPutOff := !w.putOffSince.IsZero()
	if w.PutOff == "" && w.Owed.Before(now) { // it was tried before
		return w.Owed, wasPutOff
	}
	return now, wasPutOff
}

// areAlike reports whether two failures in a row are of the same policies, or for lack of a permission: what refuses a restart and
// what refuses to mark its record is one thing.
func areAlike(a, b status.Remedy) bool {
	return a == b && a != "" || a != "" && b != "" && a != status.GrantPermission && b != status.GrantPermission
}

// HasFailed reports whether what a workload waits for has failed, and may fail again.
func (w *Backlog) HasFailed() bool { return w != nil && w.Failure.Count > 0 }

// IsMark reports whether the attempts were to mark the record of a workload whose restart is put off.
func (f *FailedAttempts) IsMark() bool { return errors.Is(f.Record, failures.ErrNotMarked) }

// NoteNoMarkFails notes that the record of a workload whose restart is put off has been marked just now, or need not be. It
// reports whether the owner has been told of a failure that is known to be over.
func (b *Backlogs) NoteNoMarkFails(ref names.WorkloadRef, isMarked bool) (wasTold bool) {
	b.changeKnown(ref, func(w *Backlog) {
		isOver := w.Failure.isOver || isMarked && w.Failure.IsMark()
		if isOver || w.Failure.IsMark() {
			wasTold = isOver && w.Failure.IsTold
			w.Failure = FailedAttempts{IsTold: w.Failure.IsTold && !isOver}
		}
	})
	return wasTold
}

// TakeLacking returns the workloads that were refused for lack of a permission where some have been granted, and those of them
// that were refused for lack of one of these, and notes that the latter's refusal is over.
func (b *Backlogs) TakeLacking(granted []apiclient.Permission) (lacking, over []names.WorkloadRef) {
	for _, ref := range b.Those(func(w *Backlog) bool { return w.Failure.Remedy == status.GrantPermission }) {
		isThere := func(p apiclient.Permission) bool { return notes.IsInside(p.Namespace, ref.Namespace) }
		if slices.ContainsFunc(granted, isThere) {
			lacking = append(lacking, ref)
		}
		b.changeKnown(ref, func(w *Backlog) {
			if slices.ContainsFunc(granted, func(p apiclient.Permission) bool { return isThere(p) && p.IsRefusedIn(w.Failure.Problem) }) {
				over = append(over, ref)
				w.Failure = FailedAttempts{IsTold: w.Failure.IsTold, isOver: true}
			}
		})
	}
	return lacking, over
}

// NoteFailureTold notes that the owner of a workload has been told of a failure.
func (b *Backlogs) NoteFailureTold(ref names.WorkloadRef) {
	b.changeKnown(ref, func(w *Backlog) { w.Failure.IsTold = true })
}

// NoteRetry notes when the next attempt follows on one that failed.
func (b *Backlogs) NoteRetry(ref names.WorkloadRef, next time.Time) {
	b.changeKnown(ref, func(w *Backlog) { w.Failure.Next = next })
}
