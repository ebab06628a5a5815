package differential

import (
	"slices"
	"time"
)

// firstBackoff is how long the first retry waits; each further one twice as long.
const firstBackoff = 5 * time.Millisecond

// queue is the original's queue for the one Deployment, without goroutines: its user asks what is due. It
// never drops what has failed.
type queue struct {
	key      string
	isReady  bool
	dues     []time.Time
	failures int
}

func newQueue() *queue { return &queue{} }

// Add implements workqueue.TypedInterface.
func (q *queue) Add(key string) { q.key, q.isReady = key, true }

// AddAfter implements workqueue.TypedDelayingInterface.
func (q *queue) AddAfter(key string, after time.Duration) {
	q.key = key
	q.dues = append(q.dues, time.Now().Add(after))
}

// AddRateLimited implements workqueue.TypedRateLimitingInterface.
func (q *queue) AddRateLimited(key string) {
	q.AddAfter(key, firstBackoff<<min(q.failures, 20))
	q.failures++
}

// Forget implements workqueue.TypedRateLimitingInterface.
func (q *queue) Forget(string) { q.failures = 0 }

// NumRequeues implements workqueue.TypedRateLimitingInterface.
func (q *queue) NumRequeues(string) int { return q.failures }

// retry makes due what has failed.
func (q *queue) retry() {
	if q.failures > 0 {
		q.failures, q.isReady = 0, true
	}
}

// next reports whether the Deployment is due, and takes it out.
func (q *queue) next() (key string, found bool) {
	q.dues = slices.DeleteFunc(q.dues, func(due time.Time) bool {
		isDue := !due.After(time.Now())
		q.isReady = q.isReady || isDue
		return isDue
	})
	found, q.isReady = q.isReady, false
	return q.key, found
}

// nextDue is when the Deployment is due next, zero for never.
func (q *queue) nextDue() (next time.Time) {
	for _, due := range q.dues {
		if next.IsZero() || due.Before(next) {
			next = due
		}
	}
	return next
}

// The rest is not used in a sync.

// Len implements workqueue.TypedInterface.
func (*queue) Len() int { return 0 }

// Get implements workqueue.TypedInterface.
func (*queue) Get() (key string, shutdown bool) { panic("not played") }

// Done implements workqueue.TypedInterface.
func (*queue) Done(string) {}

// ShutDown implements workqueue.TypedInterface.
func (*queue) ShutDown() {}

// ShutDownWithDrain implements workqueue.TypedInterface.
func (*queue) ShutDownWithDrain() {}

// ShuttingDown implements workqueue.TypedInterface.
func (*queue) ShuttingDown() bool { return false }
