package restart

import (
	"sync"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/internal/counts"
)

// Journal remembers what the controller has reported and written for each workload. This
// prevents duplicate reports, and makes it possible to recognize a write whose answer was
// lost or whose effect another client keeps undoing. Its methods may be called by several
// goroutines at once.
type Journal struct {
	mu     sync.Mutex
	dryRun map[names.WorkloadRef]record.Checksums // what a dry run would have recorded
	// Problems are the problems that have been reported to the owners.
	Problems map[names.WorkloadRef]map[ProblemKind]string
	// reverts are the reverts that have been reported.
	reverts map[names.WorkloadRef]record.Revert
	// Rewrites are the rewrites of records that another client undid.
	Rewrites map[names.WorkloadRef]Rewrites
	// Attempts are writes that may have succeeded, with a lost answer.
	Attempts map[names.WorkloadRef][]Attempt
	// attemptsIn is how many there are in each namespace.
	attemptsIn counts.By[string]
}

// ProblemKind is a kind of problem of which a workload has one at most. Several kinds may share the reason of an Event.
type ProblemKind string

const (
	leftoverProblem  ProblemKind = "leftovers"
	harmlessProblem  ProblemKind = "harmless leftovers"
	referenceProblem ProblemKind = "references"
	idleProblem      ProblemKind = "no pods"
)

// NewJournal remembers nothing yet.
func NewJournal() *Journal {
	return &Journal{
		dryRun:   make(map[names.WorkloadRef]record.Checksums),
		Problems: make(map[names.WorkloadRef]map[ProblemKind]string),
		reverts:  make(map[names.WorkloadRef]record.Revert),
		Rewrites: make(map[names.WorkloadRef]Rewrites),
		Attempts: make(map[names.WorkloadRef][]Attempt),

		attemptsIn: make(counts.By[string]),
	}
}

// noteProblem notes the problem of a kind that a workload has as reported to its owner, and reports
// whether it is new. An empty problem means that there is none, which is new if there was one.
func (j *Journal) noteProblem(ref names.WorkloadRef, kind ProblemKind, problem string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if problem == "" {
		_, isOver := j.Problems[ref][kind]
		delete(j.Problems[ref], kind)
		return isOver
	}
	if j.Problems[ref] == nil {
		j.Problems[ref] = make(map[ProblemKind]string)
	}
	isKnown := j.Problems[ref][kind] == problem
	j.Problems[ref][kind] = problem
	return !isKnown
}

// noteRevert notes a revert as reported, and reports whether it is new.
// Nil means that there is no revert.
func (j *Journal) noteRevert(ref names.WorkloadRef, revert *record.Revert) bool {
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

// NoteDryRun notes the [decide.Decision.Delivers] that a dry run has reported, and reports
// whether they are new.
func (j *Journal) NoteDryRun(ref names.WorkloadRef, checksums record.Checksums) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	reported, found := j.dryRun[ref]
	j.dryRun[ref] = checksums
	return !found || !reported.Equal(checksums)
}

// clearDryRun notes that a dry run would no longer do anything.
func (j *Journal) clearDryRun(ref names.WorkloadRef) {
	j.mu.Lock()
	defer j.mu.Unlock()
	delete(j.dryRun, ref)
}

// forget forgets all about a workload, which is gone.
func (j *Journal) forget(ref names.WorkloadRef) {
	j.mu.Lock()
	defer j.mu.Unlock()
	delete(j.dryRun, ref)
	delete(j.Problems, ref)
	delete(j.reverts, ref)
	delete(j.Rewrites, ref)
	j.keepAttempts(ref, nil)
}
