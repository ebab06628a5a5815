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
	// putOff is what a restart is due to that has to wait, because the workload has
	// no budget left; nil if there is none.
	putOff []catalog.Cause
}

// backlogs are those of all workloads. They are for telling only: what is to be
// done is decided anew each time. Their methods may be called by several
// goroutines at once.
type backlogs struct {
	mu      sync.Mutex
	waiting map[catalog.WorkloadRef]backlog
	told    map[catalog.WorkloadRef]catalog.Checksums // what a dry run would have recorded
	// problems are those that the owners have been told of, by the reasons of the Events.
	problems map[catalog.WorkloadRef]map[string]string
}

func newBacklogs() *backlogs {
	return &backlogs{
		waiting:  make(map[catalog.WorkloadRef]backlog),
		told:     make(map[catalog.WorkloadRef]catalog.Checksums),
		problems: make(map[catalog.WorkloadRef]map[string]string),
	}
}

// note notes a change that may concern its workload.
func (b *backlogs) note(change Change) {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := b.waiting[change.Workload]
	if w.count == 0 || change.Since.Before(w.since) {
		w.since = change.Since
	}
	w.count += change.Count
	b.waiting[change.Workload] = w
}

// putOff notes that a restart has to wait, and tells whether that is news: it did
// not before, or there was a restart since.
func (b *backlogs) putOff(ref catalog.WorkloadRef, causes []catalog.Cause) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := b.waiting[ref]
	news := w.putOff == nil
	w.due, w.putOff = true, causes
	b.waiting[ref] = w
	return news
}

// allPutOff returns the causes of all restarts that have to wait.
func (b *backlogs) allPutOff() [][]catalog.Cause {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all [][]catalog.Cause
	for _, w := range b.waiting {
		if w.putOff != nil {
			all = append(all, w.putOff)
		}
	}
	return all
}

// longestWait returns how long the first of all changes has waited since it was observed.
func (b *backlogs) longestWait(now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	var longest time.Duration
	for _, w := range b.waiting {
		if w.count > 0 {
			longest = max(longest, now.Sub(w.since))
		}
	}
	return longest
}

// tellProblem reports whether a workload's owner has not been told of the problem
// yet, and notes that it is. An empty one is none.
func (b *backlogs) tellProblem(ref catalog.WorkloadRef, reason, problem string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if problem == "" {
		delete(b.problems[ref], reason)
		return false
	}
	if b.problems[ref] == nil {
		b.problems[ref] = make(map[string]string)
	}
	told := b.problems[ref][reason] == problem
	b.problems[ref][reason] = problem
	return !told
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

// forget forgets all about a workload, which is gone.
func (b *backlogs) forget(ref catalog.WorkloadRef) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.waiting, ref)
	delete(b.told, ref)
	delete(b.problems, ref)
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
