package controller

import (
	"sync"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/record"
)

// journal remembers what the controller has reported and written for each workload. This
// prevents duplicate reports, and makes it possible to recognize a write whose answer was
// lost or whose effect another client keeps undoing. Its methods may be called by several
// goroutines at once.
type journal struct {
	mu     sync.Mutex
	dryRun map[names.WorkloadRef]record.Checksums // what a dry run would have recorded
	// problems are the problems that have been reported to the owners.
	problems map[names.WorkloadRef]map[problemKind]string
	// reverts are the reverts that have been reported.
	reverts map[names.WorkloadRef]record.Revert
	// rewrites are the rewrites of records that another client undid.
	rewrites map[names.WorkloadRef]rewrites
	// attempts are writes that may have succeeded, with a lost answer.
	attempts map[names.WorkloadRef][]attempt
	// attemptsIn is how many there are in each namespace.
	attemptsIn catalog.Counts[string]
}

// problemKind is a kind of problem of which a workload has one at most. Several kinds may share the reason of an Event.
type problemKind string

const (
	leftoverProblem  problemKind = "leftovers"
	harmlessProblem  problemKind = "harmless leftovers"
	referenceProblem problemKind = "references"
	idleProblem      problemKind = "no pods"
)

func newJournal() *journal {
	return &journal{
		dryRun:   make(map[names.WorkloadRef]record.Checksums),
		problems: make(map[names.WorkloadRef]map[problemKind]string),
		reverts:  make(map[names.WorkloadRef]record.Revert),
		rewrites: make(map[names.WorkloadRef]rewrites),
		attempts: make(map[names.WorkloadRef][]attempt),

		attemptsIn: make(catalog.Counts[string]),
	}
}

// noteProblem notes the problem of a kind that a workload has as reported to its owner, and reports
// whether it is new. An empty problem means that there is none, which is new if there was one.
func (j *journal) noteProblem(ref names.WorkloadRef, kind problemKind, problem string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if problem == "" {
		_, isOver := j.problems[ref][kind]
		delete(j.problems[ref], kind)
		return isOver
	}
	if j.problems[ref] == nil {
		j.problems[ref] = make(map[problemKind]string)
	}
	isKnown := j.problems[ref][kind] == problem
	j.problems[ref][kind] = problem
	return !isKnown
}

// noteRevert notes a revert as reported, and reports whether it is new.
// Nil means that there is no revert.
func (j *journal) noteRevert(ref names.WorkloadRef, revert *record.Revert) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if revert == nil {
		delete(j.reverts, ref)
		return false
	}
	reported, found := j.reverts[ref]
	j.reverts[ref] = *revert
	return !found || reported.Restart != revert.Restart || !reported.Recorded.Equal(revert.Recorded)
}

// noteDryRun notes the [decide.Decision.Delivers] that a dry run has reported, and reports
// whether they are new.
func (j *journal) noteDryRun(ref names.WorkloadRef, checksums record.Checksums) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	reported, found := j.dryRun[ref]
	j.dryRun[ref] = checksums
	return !found || !reported.Equal(checksums)
}

// clearDryRun notes that a dry run would no longer do anything.
func (j *journal) clearDryRun(ref names.WorkloadRef) {
	j.mu.Lock()
	defer j.mu.Unlock()
	delete(j.dryRun, ref)
}

// forget forgets all about a workload, which is gone.
func (j *journal) forget(ref names.WorkloadRef) {
	j.mu.Lock()
	defer j.mu.Unlock()
	delete(j.dryRun, ref)
	delete(j.problems, ref)
	delete(j.reverts, ref)
	delete(j.rewrites, ref)
	j.keepAttempts(ref, nil)
}
