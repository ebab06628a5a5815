package follow

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
	"kubernetes-deployment-restart-controller/controller/metrics"
	"kubernetes-deployment-restart-controller/controller/run"
	"kubernetes-deployment-restart-controller/internal/fairqueue"
	"kubernetes-deployment-restart-controller/internal/series"
	"kubernetes-deployment-restart-controller/internal/status"
)

// Evictions are the restarts by eviction that may not be over, and the queue of those that the evictor has to look at. Only the
// process that leads knows of any. Its methods may be called by several goroutines at once.
type Evictions struct {
	catalog *catalog.Catalog
	Queue   *fairqueue.Queue[names.WorkloadRef, struct{}]

	mu   sync.Mutex
	Rows map[names.WorkloadRef]*Eviction
}

// NewEvictions knows of no restarts by eviction yet.
func NewEvictions(known *catalog.Catalog) *Evictions {
	return &Evictions{catalog: known, Queue: newEvictionQueue(), Rows: make(map[names.WorkloadRef]*Eviction)}
}

// Eviction is a restart by eviction that may not be over.
type Eviction struct {
	Of   uint32 // [record.LastRestart.Evict]
	uid  types.UID
	Seen time.Time // since when this process knows the restart
	// Earlier is how many pods are left, if they were counted, and Counted is when they were.
	Earlier int32
	Counted time.Time
	Wait    EvictionWait
	// IsFollowed means that this process has followed the restart. It may have given that up.
	IsFollowed bool
	// NotBefore is when to look again at the earliest, Looks is how often that was in vain since the last eviction, and
	// refusals is how often in a row a pod was not evicted.
	NotBefore time.Time
	Looks     int
	Refusals  int
	Reported  time.Time // when an Event has last reported a refusal since the last eviction
	ownRestart
}

func newEvictionQueue() *fairqueue.Queue[names.WorkloadRef, struct{}] {
	return run.NewQueue[struct{}](evictionWorkers, time.Second)
}

// ownRestart is what the evictor knows of such a restart.
type ownRestart struct {
	Asked    time.Time // the .spec.restartAt that this process has set, zero if it has set none
	Restored bool      // whether an Event has reported that somebody removed it
	Stood    time.Time // since when nothing but the workload's own controller keeps the next pod waiting; zero if something does
}

// EvictionWait is what the next eviction waits for; the zero value for nothing.
type EvictionWait struct {
	Reason EvictionReason
	Text   string
	Since  time.Time
	Remedy status.Remedy
}

// EvictionReason is a kind of wait. The set is closed, because a metric has it as a label.
type EvictionReason string

const (
	// WaitsForPods means that the last pod has not been replaced.
	WaitsForPods EvictionReason = "pods"
	// WaitsForPerson means that people hold the restart, or that its content is halted.
	WaitsForPerson EvictionReason = "held"
	// WaitsForBudget means that a PodDisruptionBudget refuses.
	WaitsForBudget EvictionReason = "disruption-budget"
	// WaitsForError means that an eviction failed.
	WaitsForError EvictionReason = "error"
)

var evictionReasons = []EvictionReason{WaitsForPods, WaitsForPerson, WaitsForBudget, WaitsForError}

// IsOutside reports whether the wait has nothing to do with the pods of the workload.
func (w *EvictionWait) IsOutside() bool { return w.Reason != "" && w.Reason != WaitsForPods }

// Observe takes in a workload that has changed, or its status. Only the process that leads calls it.
func (e *Evictions) Observe(ref names.WorkloadRef) {
	w := e.catalog.Workload(ref)
	if w == nil || w.Record.Evict == 0 || w.Method() == policy.ByTemplate {
		e.Forget(ref)
		return
	}
	e.mu.Lock()
	if row := e.Rows[ref]; row == nil || row.Of != w.Record.Evict || row.uid != w.UID {
		e.Rows[ref] = &Eviction{Of: w.Record.Evict, uid: w.UID, Seen: time.Now()}
	}
	e.mu.Unlock()
	e.Queue.Add(ref, struct{}{})
}

// ObserveAll takes in all workloads, as at the start of a leader.
func (e *Evictions) ObserveAll() {
	for _, ref := range e.catalog.Workloads() {
		e.Observe(ref)
	}
}

// Forget forgets the restart by eviction of a workload that is gone, or needs none any more.
func (e *Evictions) Forget(ref names.WorkloadRef) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.Rows, ref)
}

// forgetReplaced forgets the restart by eviction of the given workload, unless another one has begun.
func (e *Evictions) forgetReplaced(w *workload.Workload) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if row := e.Rows[w.Ref]; row != nil && row.Of == w.Record.Evict && row.uid == w.UID {
		delete(e.Rows, w.Ref)
	}
}

// Of returns the restart by eviction of a workload, and false if none is under way.
func (e *Evictions) Of(ref names.WorkloadRef) (Eviction, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if row := e.Rows[ref]; row != nil {
		return *row, true
	}
	return Eviction{}, false
}

// Each calls a function with each restart by eviction that may not be over.
func (e *Evictions) Each(do func(names.WorkloadRef, Eviction)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for ref, row := range e.Rows {
		do(ref, *row)
	}
}

// TryRefused looks again at once at the workloads for which the controller lacked a permission, in some namespaces. The empty
// name stands for all.
func (e *Evictions) TryRefused(namespaces map[string]bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for ref, row := range e.Rows {
		if row.Wait.Remedy == status.GrantPermission && (namespaces[""] || namespaces[ref.Namespace]) {
			row.NotBefore = time.Time{}
			e.Queue.Add(ref, struct{}{})
		}
	}
}

// Update changes what is known of a restart by eviction, unless another one has begun.
func (e *Evictions) Update(ref names.WorkloadRef, of uint32, change func(*Eviction)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if row := e.Rows[ref]; row != nil && row.Of == of {
		change(row)
	}
}

// StatusOf returns a workload whose status says how far a restart by eviction has come, and why no pod may be evicted
// although the workload is ready for it; empty if one may.
func (e *Evictions) StatusOf(w *workload.Workload) (*workload.Workload, string) {
	if w.Record.Evict == 0 || w.Method() == policy.ByTemplate {
		return w, ""
	}
	row, isUnderWay := e.Of(w.Ref)
	isKnown := isUnderWay && row.Of == w.Record.Evict && row.uid == w.UID
	earlier := row.Earlier
	if !isKnown || row.Counted.IsZero() {
		earlier = max(1, w.Rollout.Wanted)
	}
	shown := *w
	shown.Rollout = delivery.Evicting(w, earlier)
	switch {
	case !isKnown: // it has just begun, or was left alone after an internal error
		return &shown, "its pods have not been counted"
	case row.Wait.IsOutside():
		return &shown, row.Wait.Text
	}
	return &shown, ""
}

// Collect computes the metric of the restarts by eviction that are not over.
func (e *Evictions) Collect(gauge func(desc *prometheus.Desc, value float64, labels ...string)) {
	count := make(map[EvictionReason]int)
	e.Each(func(_ names.WorkloadRef, row Eviction) { count[cmp.Or(row.Wait.Reason, WaitsForPods)]++ })
	for _, reason := range evictionReasons {
		gauge(EvictingDesc, float64(count[reason]), string(reason))
	}
}

// Clear forgets all, as at the end of a leader.
func (e *Evictions) Clear() {
	e.mu.Lock()
	defer e.mu.Unlock()
	clear(e.Rows)
}

// evictionWorkers is for how many workloads the evictor works at once. Each step takes two requests.
const evictionWorkers = 2

// EvictingDesc describes the metric that [Evictions.Collect] computes.
var EvictingDesc = series.Desc(metrics.Namespace, "evicting_workloads", "The number of restarts by eviction that are not over, by what the next eviction waits for.", "reason")
