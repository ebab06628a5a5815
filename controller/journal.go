package controller

import (
	"sync"

	"kubernetes-deployment-restart-controller/catalog"
)

// journal remembers what the controller has reported and written for each workload. This
// prevents duplicate reports, and makes it possible to recognise a write whose answer was
// lost or whose effect somebody keeps undoing. Its methods may be called by several
// goroutines at once.
type journal struct {
	mu   sync.Mutex
	told map[catalog.WorkloadRef]catalog.Checksums // what a dry run would have recorded
	// problems are the problems that have been reported to the owners, by the reasons of
	// the Events.
	problems map[catalog.WorkloadRef]map[string]string
	// reverts are the reverts that have been reported.
	reverts map[catalog.WorkloadRef]catalog.Revert
	// rewrites are the rewrites of records that somebody undid.
	rewrites map[catalog.WorkloadRef]rewrites
	// attempts are writes that may have succeeded, with a lost answer.
	attempts map[catalog.WorkloadRef][]attempt
}

func newJournal() *journal {
	return &journal{
		told:     make(map[catalog.WorkloadRef]catalog.Checksums),
		problems: make(map[catalog.WorkloadRef]map[string]string),
		reverts:  make(map[catalog.WorkloadRef]catalog.Revert),
		rewrites: make(map[catalog.WorkloadRef]rewrites),
		attempts: make(map[catalog.WorkloadRef][]attempt),
	}
}

// tellProblem reports whether the problem of a workload still has to be reported to its
// owner, and notes it as reported. An empty problem means that there is no problem.
func (j *journal) tellProblem(ref catalog.WorkloadRef, reason, problem string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if problem == "" {
		delete(j.problems[ref], reason)
		return false
	}
	if j.problems[ref] == nil {
		j.problems[ref] = make(map[string]string)
	}
	told := j.problems[ref][reason] == problem
	j.problems[ref][reason] = problem
	return !told
}

// tellRevert reports whether a revert still has to be reported, and notes it as reported.
// Nil means that there is no revert.
func (j *journal) tellRevert(ref catalog.WorkloadRef, revert *catalog.Revert) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if revert == nil {
		delete(j.reverts, ref)
		return false
	}
	told, found := j.reverts[ref]
	j.reverts[ref] = *revert
	return !found || told.Restart != revert.Restart || !told.Recorded.Equal(revert.Recorded)
}

// tellFirst reports whether a dry run still has to report that it would record the
// checksums, and notes them as reported.
func (j *journal) tellFirst(ref catalog.WorkloadRef, checksums catalog.Checksums) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	told, found := j.told[ref]
	j.told[ref] = checksums
	return !found || !told.Equal(checksums)
}

// untell notes that a dry run would do nothing any more.
func (j *journal) untell(ref catalog.WorkloadRef) {
	j.mu.Lock()
	defer j.mu.Unlock()
	delete(j.told, ref)
}

// forget forgets all about a workload, which is gone.
func (j *journal) forget(ref catalog.WorkloadRef) {
	j.mu.Lock()
	defer j.mu.Unlock()
	delete(j.told, ref)
	delete(j.problems, ref)
	delete(j.reverts, ref)
	delete(j.rewrites, ref)
	delete(j.attempts, ref)
}
