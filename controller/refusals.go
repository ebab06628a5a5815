package controller

import (
	"errors"
	"slices"
	"time"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/internal/apiclient"
	"kubernetes-deployment-restart-controller/internal/brief"
	"kubernetes-deployment-restart-controller/internal/status"
)

// failedAttempts describes the attempts at a workload that have failed in a row.
type failedAttempts struct {
	problem     string // a bounded text, empty if none has failed
	remedy      status.Remedy
	record      error  // errOnlyRecord or errNotMarked if they were only about the record
	unknown     string // what the next one needs that is not known, empty if all is
	count       int
	since, next time.Time
	late        time.Time // since when the restart is late if it fails again, whoever has the turn meanwhile; zero if it was held since
	atLeast     bool      // a former leader may have failed before since
	reason      string    // the last one's reason in metrics
	alike       int       // how many in a row had it
	isTold      bool      // the owner has been told
	isOver      bool      // the permission that lacked has been granted, and nothing was tried since
}

// longestFailure is how many bytes of an error are kept for each workload.
const longestFailure = 512

// noteFailure notes why an attempt failed, and whether the operator wants to ignore that. It returns how many attempts have
// failed, and how many of them in a row for this reason.
func (b *backlogs) noteFailure(ref names.WorkloadRef, err error, isIgnored bool) (count, alike int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	w, found := b.waiting[ref]
	if !found {
		return 1, 1
	}
	w.isIgnored = isIgnored
	switch {
	case errors.Is(err, errOutdated): // which is no failure
	case isWaiting(err):
		w.failure.unknown = brief.Within(longestFailure, brief.Line(err.Error()))
	default:
		w.fail(err, time.Now())
	}
	b.waiting[ref] = w
	return w.failure.count, w.failure.alike
}

// fail notes that an attempt has failed.
func (w *backlog) fail(err error, now time.Time) {
	f, remedy, record := &w.failure, remedyOf(err), recordErrorIn(err)
	since, atLeast := now, false
	if f.count == 0 && w.isInherited {
		since, atLeast = w.failsSince(now)
	}
	if f.count == 0 || remedy != f.remedy || !errors.Is(record, f.record) { // another failure begins now
		if f.count == 0 || !areAlike(remedy, f.remedy) || errors.Is(record, errOnlyRecord) || errors.Is(f.record, errOnlyRecord) {
			f.since, f.atLeast = since, atLeast
		}
		f.count, f.remedy, f.record = 0, remedy, record
	}
	f.count++
	f.isOver = false
	if reason := failureReason(err); reason != f.reason {
		f.reason, f.alike = reason, 0
	}
	f.alike++
	f.problem, f.unknown = brief.Within(longestFailure, brief.Line(err.Error())), ""
	if errors.Is(record, errOnlyRecord) {
		if w.putOff != "" {
			w.owed = since // what it was put off to is over
		}
		w.due, w.putOff = false, ""
	}
	w.noteLate(since)
}

// noteLate notes that a restart has failed since the given time. If it failed before and was not held since, it is as late as
// before, whoever had the turn meanwhile.
func (w *backlog) noteLate(since time.Time) {
	switch f := &w.failure; {
	case f.isMark():
	case f.late.IsZero():
		f.late = since
	case f.late.Before(w.owed):
		w.owed = f.late
	}
}

// failsSince returns since when attempts fail that a former leader may have made before, and whether they may have failed earlier.
func (w *backlog) failsSince(now time.Time) (since time.Time, atLeast bool) {
	wasPutOff := !w.putOffSince.IsZero()
	if w.putOff == "" && w.owed.Before(now) { // it was tried before
		return w.owed, wasPutOff
	}
	return now, wasPutOff
}

// areAlike reports whether two failures in a row are of the same policies, or for lack of a permission: what refuses a restart and
// what refuses to mark its record is one thing.
func areAlike(a, b status.Remedy) bool {
	return a == b && a != "" || a != "" && b != "" && a != status.GrantPermission && b != status.GrantPermission
}

// hasFailed reports whether what a workload waits for has failed, and may fail again.
func (b *backlogs) hasFailed(ref names.WorkloadRef) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.waiting[ref].failure.count > 0
}

// isMark reports whether the attempts were to mark the record of a workload whose restart is put off.
func (f *failedAttempts) isMark() bool { return errors.Is(f.record, errNotMarked) }

// noteNoMarkFails notes that the record of a workload whose restart is put off has been marked just now, or need not be. It
// reports whether the owner has been told of a failure that is known to be over.
func (b *backlogs) noteNoMarkFails(ref names.WorkloadRef, isMarked bool) (wasTold bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := b.waiting[ref]
	isOver := w.failure.isOver || isMarked && w.failure.isMark()
	if !isOver && !w.failure.isMark() {
		return false
	}
	wasTold = isOver && w.failure.isTold
	w.failure = failedAttempts{isTold: w.failure.isTold && !isOver}
	b.waiting[ref] = w
	return wasTold
}

// takeLacking returns the workloads that were refused for lack of a permission where some have been granted, and those of them
// that were refused for lack of one of these, and notes that the latter's refusal is over.
func (b *backlogs) takeLacking(granted []apiclient.Permission) (lacking, over []names.WorkloadRef) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for ref, w := range b.waiting {
		if w.failure.remedy != status.GrantPermission {
			continue
		}
		isThere := func(p apiclient.Permission) bool { return isInside(p.Namespace, ref.Namespace) }
		if slices.ContainsFunc(granted, isThere) {
			lacking = append(lacking, ref)
		}
		if slices.ContainsFunc(granted, func(p apiclient.Permission) bool { return isThere(p) && p.IsRefusedIn(w.failure.problem) }) {
			over = append(over, ref)
			w.failure = failedAttempts{isTold: w.failure.isTold, isOver: true}
			b.waiting[ref] = w
		}
	}
	return lacking, over
}

// noteFailureTold notes that the owner of a workload has been told of a failure.
func (b *backlogs) noteFailureTold(ref names.WorkloadRef) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if w, found := b.waiting[ref]; found {
		w.failure.isTold = true
		b.waiting[ref] = w
	}
}

// noteRetry notes when the next attempt follows on one that failed.
func (b *backlogs) noteRetry(ref names.WorkloadRef, next time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if w, found := b.waiting[ref]; found {
		w.failure.next = next
		b.waiting[ref] = w
	}
}
