package controller

import (
	"cmp"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/policy"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/delivery"
	"kubernetes-deployment-restart-controller/internal/fairqueue"
	"kubernetes-deployment-restart-controller/internal/status"
)

// evictions are the restarts by eviction that may not be over, and the queue of those that the evictor has to look at. Only the
// process that leads knows of any. Its methods may be called by several goroutines at once.
type evictions struct {
	catalog *catalog.Catalog
	queue   *fairqueue.Queue[names.WorkloadRef, struct{}]

	mu   sync.Mutex
	rows map[names.WorkloadRef]*eviction
}

func newEvictions(known *catalog.Catalog) *evictions {
	return &evictions{catalog: known, queue: newEvictionQueue(), rows: make(map[names.WorkloadRef]*eviction)}
}

// eviction is a restart by eviction that may not be over.
type eviction struct {
	of   uint32 // [workload.Workload.Evict]
	uid  types.UID
	seen time.Time // since when this process knows the restart
	// earlier is how many pods are left, if they were counted, and counted is when they were.
	earlier int32
	counted time.Time
	wait    evictionWait
	// isFollowed means that this process has followed the restart. It may have given that up.
	isFollowed bool
	// notBefore is when to look again at the earliest, looks is how often that was in vain since the last eviction, and
	// refusals is how often in a row a pod was not evicted.
	notBefore time.Time
	looks     int
	refusals  int
	reported  time.Time // when an Event has last reported a refusal since the last eviction
	ownRestart
}

func newEvictionQueue() *fairqueue.Queue[names.WorkloadRef, struct{}] {
	return queueOf[struct{}](evictionWorkers, time.Second)
}

// ownRestart is what the evictor knows of such a restart.
type ownRestart struct {
	asked    time.Time // the .spec.restartAt that this process has set, zero if it has set none
	restored bool      // whether an Event has reported that somebody removed it
	stood    time.Time // since when nothing but the workload's own controller keeps the next pod waiting; zero if something does
}

// evictionWait is what the next eviction waits for; the zero value for nothing.
type evictionWait struct {
	reason evictionReason
	text   string
	since  time.Time
	remedy status.Remedy
}

// evictionReason is a kind of wait. The set is closed, because a metric has it as a label.
type evictionReason string

const (
	waitsForPods   evictionReason = "pods"              // the last pod has not been replaced
	waitsForPerson evictionReason = "held"              // people hold the restart, or its content is halted
	waitsForBudget evictionReason = "disruption-budget" // a PodDisruptionBudget refuses
	waitsForError  evictionReason = "error"             // an eviction failed
)

var evictionReasons = []evictionReason{waitsForPods, waitsForPerson, waitsForBudget, waitsForError}

// isOutside reports whether the wait has nothing to do with the pods of the workload.
func (w *evictionWait) isOutside() bool { return w.reason != "" && w.reason != waitsForPods }

// observe takes in a workload that has changed, or its status. Only the process that leads calls it.
func (e *evictions) observe(ref names.WorkloadRef) {
	w := e.catalog.Workload(ref)
	if w == nil || w.Evict == 0 || w.Method() == policy.ByTemplate {
		e.forget(ref)
		return
	}
	e.mu.Lock()
	if row := e.rows[ref]; row == nil || row.of != w.Evict || row.uid != w.UID {
		e.rows[ref] = &eviction{of: w.Evict, uid: w.UID, seen: time.Now()}
	}
	e.mu.Unlock()
	e.queue.Add(ref, struct{}{})
}

// observeAll takes in all workloads, as at the start of a leader.
func (e *evictions) observeAll() {
	for _, ref := range e.catalog.Workloads() {
		e.observe(ref)
	}
}

func (e *evictions) forget(ref names.WorkloadRef) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.rows, ref)
}

// forgetReplaced forgets the restart by eviction of the given workload, unless another one has begun.
func (e *evictions) forgetReplaced(w *workload.Workload) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if row := e.rows[w.Ref]; row != nil && row.of == w.Evict && row.uid == w.UID {
		delete(e.rows, w.Ref)
	}
}

// of returns the restart by eviction of a workload, and false if none is under way.
func (e *evictions) of(ref names.WorkloadRef) (eviction, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if row := e.rows[ref]; row != nil {
		return *row, true
	}
	return eviction{}, false
}

// each calls a function with each restart by eviction that may not be over.
func (e *evictions) each(do func(names.WorkloadRef, eviction)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for ref, row := range e.rows {
		do(ref, *row)
	}
}

// tryRefused looks again at once at the workloads for which the controller lacked a permission, in some namespaces. The empty
// name stands for all.
func (e *evictions) tryRefused(namespaces map[string]bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for ref, row := range e.rows {
		if row.wait.remedy == status.GrantPermission && (namespaces[""] || namespaces[ref.Namespace]) {
			row.notBefore = time.Time{}
			e.queue.Add(ref, struct{}{})
		}
	}
}

// update changes what is known of a restart by eviction, unless another one has begun.
func (e *evictions) update(ref names.WorkloadRef, of uint32, change func(*eviction)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if row := e.rows[ref]; row != nil && row.of == of {
		change(row)
	}
}

// statusOf returns a workload whose status says how far a restart by eviction has come, and why no pod may be evicted
// although the workload is ready for it; empty if one may.
func (e *evictions) statusOf(w *workload.Workload) (*workload.Workload, string) {
	if w.Evict == 0 || w.Method() == policy.ByTemplate {
		return w, ""
	}
	row, isUnderWay := e.of(w.Ref)
	isKnown := isUnderWay && row.of == w.Evict && row.uid == w.UID
	earlier := row.earlier
	if !isKnown || row.counted.IsZero() {
		earlier = max(1, w.Rollout.Wanted)
	}
	shown := *w
	shown.Rollout = delivery.Evicting(w, earlier)
	switch {
	case !isKnown: // it has just begun, or was left alone after an internal error
		return &shown, "its pods have not been counted"
	case row.wait.isOutside():
		return &shown, row.wait.text
	}
	return &shown, ""
}

// collect computes the metric of the restarts by eviction that are not over.
func (e *evictions) collect(gauge func(desc *prometheus.Desc, value float64, labels ...string)) {
	count := make(map[evictionReason]int)
	e.each(func(_ names.WorkloadRef, row eviction) { count[cmp.Or(row.wait.reason, waitsForPods)]++ })
	for _, reason := range evictionReasons {
		gauge(evictingDesc, float64(count[reason]), string(reason))
	}
}

// clear forgets all, as at the end of a leader.
func (e *evictions) clear() {
	e.mu.Lock()
	defer e.mu.Unlock()
	clear(e.rows)
}
