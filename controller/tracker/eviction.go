package tracker

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/internal/status"
)

// Eviction is a restart by eviction that may not be over.
type Eviction struct {
	Of   uint32 // [record.LastRestart.Evict]
	UID  types.UID
	Seen time.Time // since when this process knows the restart
	// Earlier is how many pods are left, if they were counted, and Counted is when they were.
	Earlier int32
	Counted time.Time
	Wait    EvictionWait
	// IsFollowed means that this process has followed the restart. It may have given that up.
	IsFollowed bool
	// NotBefore is when to look again at the earliest, Looks is how often that was in vain since the last eviction, and
	// Refusals is how often in a row a pod was not evicted.
	NotBefore time.Time
	Looks     int
	Refusals  int
	Reported  time.Time // when an Event has last reported a refusal since the last eviction
	// Asked is the .spec.restartAt that this process has set, zero if it has set none, and Restored whether an Event has reported that
	// somebody removed it. Stood is since when nothing but the workload's own controller keeps the next pod waiting; zero if something
	// does.
	Asked    time.Time
	Restored bool
	Stood    time.Time
}

// IsOf reports whether this is the last restart of a workload. There may be none.
func (e *Eviction) IsOf(w *workload.Workload) bool {
	return e != nil && e.Of == w.Record.Evict && e.UID == w.UID
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
	// WaitsForPods means that the last pod has not been replaced, or that restarts of other workloads come first.
	WaitsForPods EvictionReason = "pods"
	// WaitsForPerson means that people hold the restart, or that its content is halted.
	WaitsForPerson EvictionReason = "held"
	// WaitsForBudget means that a PodDisruptionBudget refuses.
	WaitsForBudget EvictionReason = "disruption-budget"
	// WaitsForError means that an eviction failed.
	WaitsForError EvictionReason = "error"
)

// EvictionReasons are all of them.
var EvictionReasons = []EvictionReason{WaitsForPods, WaitsForPerson, WaitsForBudget, WaitsForError}

// IsOutside reports whether the wait has nothing to do with the pods of the workload.
func (w *EvictionWait) IsOutside() bool { return w.Reason != "" && w.Reason != WaitsForPods }
