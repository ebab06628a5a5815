package controller

import (
	"sync"
	"time"

	"kubernetes-deployment-restart-controller/catalog"
)

// backlog is what a workload with unapplied changes waits for.
type backlog struct {
	since time.Time // when the first of the changes was observed
	count int       // how often changes were observed
	due   bool      // whether the pods are known to need a restart
}

// backlogs are those of all workloads. They are for telling only: what is to be
// done is decided anew each time. Their methods may be called by several
// goroutines at once.
type backlogs struct {
	mu      sync.Mutex
	waiting map[catalog.WorkloadRef]backlog
	told    map[catalog.WorkloadRef]catalog.Checksums // what a dry run would have recorded
}

func newBacklogs() *backlogs {
	return &backlogs{
		waiting: make(map[catalog.WorkloadRef]backlog),
		told:    make(map[catalog.WorkloadRef]catalog.Checksums),
	}
}

// note notes that a change may affect a workload.
func (b *backlogs) note(ref catalog.WorkloadRef, change Change) {
	b.mu.Lock()
	defer b.mu.Unlock()
	w, found := b.waiting[ref]
	if !found || change.Since.Before(w.since) {
		w.since = change.Since
	}
	w.count += change.Count
	b.waiting[ref] = w
}

// noteDue notes that a workload is to be restarted.
func (b *backlogs) noteDue(ref catalog.WorkloadRef) {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := b.waiting[ref]
	w.due = true
	b.waiting[ref] = w
}

func (b *backlogs) isDue(ref catalog.WorkloadRef) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.waiting[ref].due
}

// settle forgets what a workload waited for, and returns it.
func (b *backlogs) settle(ref catalog.WorkloadRef) backlog {
	b.mu.Lock()
	defer b.mu.Unlock()
	waited := b.waiting[ref]
	delete(b.waiting, ref)
	return waited
}

// tellFirst tells whether a dry run has not yet told that it would record the
// checksums, and notes that it does.
func (b *backlogs) tellFirst(ref catalog.WorkloadRef, checksums catalog.Checksums) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	told, found := b.told[ref]
	b.told[ref] = checksums
	return !found || !told.Equal(checksums)
}

// untell notes that there is nothing left that a dry run would do.
func (b *backlogs) untell(ref catalog.WorkloadRef) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.told, ref)
}
