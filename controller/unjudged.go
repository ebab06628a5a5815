package controller

import (
	"sync"

	"kubernetes-deployment-restart-controller/catalog/names"
)

// unjudged is what may have changed the verdicts on workloads since they were judged; see [staleness]. To note that costs next to
// nothing. Its methods may be called by several goroutines at once.
type unjudged struct {
	wake chan struct{} // has an element when something was noted

	mu    sync.Mutex
	dirty dirtySet
}

// dirtySet is what may have changed the verdict on workloads.
type dirtySet struct {
	everything bool
	stale      bool // all that are stale
	configs    map[names.ConfigRef]struct{}
	workloads  map[names.WorkloadRef]bool // the value is whether to judge the workload only if it is stale
}

func newUnjudged() *unjudged {
	return &unjudged{wake: make(chan struct{}, 1), dirty: newDirtySet()}
}

func newDirtySet() dirtySet {
	return dirtySet{configs: make(map[names.ConfigRef]struct{}), workloads: make(map[names.WorkloadRef]bool)}
}

// noteWorkload notes that the verdict on a workload may have changed.
func (u *unjudged) noteWorkload(ref names.WorkloadRef) {
	u.note(func(d *dirtySet) { d.workloads[ref] = false })
}

// noteWaiting notes that work is under way for a workload, which makes no difference to a
// fresh workload.
func (u *unjudged) noteWaiting(ref names.WorkloadRef) {
	u.note(func(d *dirtySet) {
		if _, found := d.workloads[ref]; !found {
			d.workloads[ref] = true
		}
	})
}

// noteLeading notes that this process restarts stale workloads from now on.
func (u *unjudged) noteLeading() {
	u.note(func(d *dirtySet) { d.stale = true })
}

// noteConfig notes that the verdict on the workloads that reference a config may have changed.
func (u *unjudged) noteConfig(ref names.ConfigRef) {
	u.note(func(d *dirtySet) { d.configs[ref] = struct{}{} })
}

// noteEverything notes that the verdict on any workload may have changed.
func (u *unjudged) noteEverything() {
	u.note(func(d *dirtySet) { d.everything = true })
}

func (u *unjudged) note(add func(*dirtySet)) {
	u.mu.Lock()
	add(&u.dirty)
	u.mu.Unlock()
	select {
	case u.wake <- struct{}{}:
	default:
	}
}

// take removes the notes and returns them.
func (u *unjudged) take() dirtySet {
	u.mu.Lock()
	defer u.mu.Unlock()
	dirty := u.dirty
	u.dirty = newDirtySet()
	return dirty
}
