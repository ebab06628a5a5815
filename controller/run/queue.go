package run

import (
	"time"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/internal/fairqueue"
)

const (
	// MinBackoff is after how long a workload that could not be patched is tried again, then after twice that and so on, up to
	// MaxBackoff; see [fairqueue.Backoff].
	MinBackoff = 20 * time.Millisecond
	// MaxBackoff is the longest pause before something that failed is tried again.
	MaxBackoff = 30 * time.Second
)

// NewQueue returns a queue of workloads that so many workers work on. A workload that fails is tried
// again after the given pause, and then less and less often.
func NewQueue[F comparable](workers int, first time.Duration) *fairqueue.Queue[names.WorkloadRef, F] {
	return fairqueue.New[names.WorkloadRef, F](fairqueue.Options[names.WorkloadRef]{
		Namespace: func(ref names.WorkloadRef) string { return ref.Namespace },
		Workers:   workers,
		Backoff:   fairqueue.Backoff{First: first, Longest: MaxBackoff},
	})
}
