package controller

import (
	"sync"

	"kubernetes-deployment-restart-controller/catalog"
)

// lanes orders the workloads that wait for a worker so that changes take turns:
// a lane for each config that changed, and one (the zero ConfigRef) for
// workloads that changed by themselves or are tried again, served in rotation. A
// config that a thousand workloads share does not make the workload of another
// one wait behind them.
//
// It is the storage of a work queue, see workqueue.TypedQueueConfig, which calls
// its methods one at a time and pushes no workload twice.
type lanes struct {
	mu       sync.Mutex // for assigned; the rest is guarded by the work queue
	assigned map[catalog.WorkloadRef]catalog.ConfigRef

	waiting map[catalog.WorkloadRef]catalog.ConfigRef // the lane in which each waits
	queues  map[catalog.ConfigRef][]catalog.WorkloadRef
	turns   []catalog.ConfigRef // the lanes that are not empty, the next first
}

func newLanes() *lanes {
	return &lanes{
		assigned: make(map[catalog.WorkloadRef]catalog.ConfigRef),
		waiting:  make(map[catalog.WorkloadRef]catalog.ConfigRef),
		queues:   make(map[catalog.ConfigRef][]catalog.WorkloadRef),
	}
}

// assign chooses the lane of a workload that is about to be added to the work
// queue.
func (l *lanes) assign(workload catalog.WorkloadRef, lane catalog.ConfigRef) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.assigned[workload] = lane
}

func (l *lanes) takeAssigned(workload catalog.WorkloadRef) catalog.ConfigRef {
	l.mu.Lock()
	defer l.mu.Unlock()
	lane := l.assigned[workload]
	delete(l.assigned, workload)
	return lane
}

// Push adds a workload at the end of its lane.
func (l *lanes) Push(workload catalog.WorkloadRef) {
	l.push(workload, l.takeAssigned(workload))
}

// Touch moves a workload that waits already to the lane of the change that makes
// it wait anew, if that one is shorter. The entry in the old lane is passed over
// when its turn comes.
func (l *lanes) Touch(workload catalog.WorkloadRef) {
	if lane := l.takeAssigned(workload); len(l.queues[lane]) < len(l.queues[l.waiting[workload]]) {
		l.push(workload, lane)
	}
}

func (l *lanes) push(workload catalog.WorkloadRef, lane catalog.ConfigRef) {
	if len(l.queues[lane]) == 0 {
		l.turns = append(l.turns, lane)
	}
	l.waiting[workload] = lane
	l.queues[lane] = append(l.queues[lane], workload)
}

// Len returns how many workloads wait.
func (l *lanes) Len() int { return len(l.waiting) }

// Pop removes the first workload of the lane whose turn it is. It must not be
// called when none waits.
func (l *lanes) Pop() catalog.WorkloadRef {
	for {
		lane, workload := l.next()
		if waitsIn, waits := l.waiting[workload]; waits && waitsIn == lane {
			delete(l.waiting, workload)
			return workload
		}
	}
}

func (l *lanes) next() (catalog.ConfigRef, catalog.WorkloadRef) {
	lane := l.turns[0]
	l.turns = l.turns[1:]
	workload := l.queues[lane][0]
	if rest := l.queues[lane][1:]; len(rest) > 0 {
		l.queues[lane] = rest
		l.turns = append(l.turns, lane)
	} else {
		delete(l.queues, lane)
	}
	return lane, workload
}
