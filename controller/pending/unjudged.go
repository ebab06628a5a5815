package pending

import (
	"sync"

	"kubernetes-deployment-restart-controller/catalog/names"
)

// Unjudged is what may have changed the verdicts on workloads since they were judged; see [judge.Staleness]. To note that costs next to
// nothing. Its methods may be called by several goroutines at once.
type Unjudged struct {
	Wake chan struct{} // has an element when something was noted

	mu    sync.Mutex
	dirty DirtySet
}

// DirtySet is what may have changed the verdict on workloads.
type DirtySet struct {
	Everything bool
	Stale      bool // all that are stale
	Configs    map[names.ConfigRef]struct{}
	Workloads  map[names.WorkloadRef]bool // the value is whether to judge the workload only if it is stale
}

// NewUnjudged has nothing to judge yet.
func NewUnjudged() *Unjudged {
	return &Unjudged{Wake: make(chan struct{}, 1), dirty: newDirtySet()}
}

func newDirtySet() DirtySet {
	return DirtySet{Configs: make(map[names.ConfigRef]struct{}), Workloads: make(map[names.WorkloadRef]bool)}
}

// NoteWorkload notes that the verdict on a workload may have changed.
func (u *Unjudged) NoteWorkload(ref names.WorkloadRef) {
	u.note(func(d *DirtySet) { d.Workloads[ref] = false })
}

// NoteWaiting notes that work is under way for a workload, which makes no difference to a
// fresh workload.
func (u *Unjudged) NoteWaiting(ref names.WorkloadRef) {
	u.note(func(d *DirtySet) {
		if _, found := d.Workloads[ref]; !found {
			d.Workloads[ref] = true
		}
	})
}

// NoteLeading notes that this process restarts stale workloads from now on.
func (u *Unjudged) NoteLeading() {
	u.note(func(d *DirtySet) { d.Stale = true })
}

// NoteConfig notes that the verdict on the workloads that reference a config may have changed.
func (u *Unjudged) NoteConfig(ref names.ConfigRef) {
	u.note(func(d *DirtySet) { d.Configs[ref] = struct{}{} })
}

// NoteEverything notes that the verdict on any workload may have changed.
func (u *Unjudged) NoteEverything() {
	u.note(func(d *DirtySet) { d.Everything = true })
}

func (u *Unjudged) note(add func(*DirtySet)) {
	u.mu.Lock()
	add(&u.dirty)
	u.mu.Unlock()
	select {
	case u.Wake <- struct{}{}:
	default:
	}
}

// Take removes the notes and returns them.
func (u *Unjudged) Take() DirtySet {
	u.mu.Lock()
	defer u.mu.Unlock()
	dirty := u.dirty
	u.dirty = newDirtySet()
	return dirty
}
