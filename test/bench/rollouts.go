package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
)

// sight is what a watch has shown of one Deployment.
type sight struct {
	resourceVersion string
	timestamp       string // of the last restart
	// restarts counts the changes of the timestamp since the watch began, and
	// restartedAt is when it showed the last one.
	restarts    int
	restartedAt time.Time
	// recorded means that there is a checksums annotation, since recordedAt.
	recorded   bool
	recordedAt time.Time
	// rolling means that the last restart was not complete yet; completeAt is when it was. What
	// becomes of the pods later does not matter.
	rolling    bool
	completeAt time.Time
	// image is that of the pod template, and complete means that it is rolled out.
	image    string
	complete bool
}

// rollouts follows the Deployments of a namespace as a Deployment controller
// would, and notes when their pod templates change.
type rollouts struct {
	stop context.CancelFunc
	done chan struct{}

	mu      sync.Mutex
	sights  map[string]*sight
	failure error
	changed chan struct{} // closed at the next event
	// rolling is how many restarts are rolling, and mostRolling how many ever were.
	rolling, mostRolling int
}

// follow begins to watch a namespace. The caller stops it with close.
func (s *stage) follow(ctx context.Context, namespace string) (*rollouts, error) {
	deployments := s.client.AppsV1().Deployments(namespace)
	list, err := deployments.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list deployments: %w", err)
	}
	ctx, stop := context.WithCancel(ctx)
	// The API server ends watches when it is very busy.
	events, err := watchtools.NewRetryWatcherWithContext(ctx, list.ResourceVersion, &cache.ListWatch{WatchFuncWithContext: deployments.Watch})
	if err != nil {
		stop()
		return nil, fmt.Errorf("watch deployments: %w", err)
	}
	r := &rollouts{stop: stop, done: make(chan struct{}), sights: make(map[string]*sight), changed: make(chan struct{})}
	for i := range list.Items {
		r.begin(&list.Items[i])
	}
	go r.run(ctx, events)
	return r, nil
}

func (r *rollouts) close() {
	r.stop()
	<-r.done
}

func (r *rollouts) begin(deployment *appsv1.Deployment) {
	_, recorded := deployment.Annotations[checksumsAnnotation]
	r.sights[deployment.Name] = &sight{
		resourceVersion: deployment.ResourceVersion,
		timestamp:       deployment.Spec.Template.Annotations[timestampAnnotation],
		recorded:        recorded,
		image:           imageIn(deployment.Spec.Template.Spec.Containers),
		complete:        isComplete(deployment),
	}
}

func (r *rollouts) run(ctx context.Context, events watch.Interface) {
	defer close(r.done)
	defer events.Stop()
	for event := range events.ResultChan() {
		now := time.Now()
		deployment, isDeployment := event.Object.(*appsv1.Deployment)
		r.mu.Lock()
		switch {
		case !isDeployment:
			r.failure = fmt.Errorf("the watch of deployments failed: %v", event.Object)
		case event.Type == watch.Deleted:
			delete(r.sights, deployment.Name)
		default:
			r.observe(deployment, now)
		}
		r.signal()
		r.mu.Unlock()
	}
	if ctx.Err() == nil {
		r.mu.Lock()
		r.failure = errors.Join(r.failure, errors.New("the watch of deployments ended"))
		r.signal()
		r.mu.Unlock()
	}
}

func (r *rollouts) signal() {
	close(r.changed)
	r.changed = make(chan struct{})
}

func (r *rollouts) observe(deployment *appsv1.Deployment, now time.Time) {
	seen, known := r.sights[deployment.Name]
	if !known {
		r.begin(deployment)
		return
	}
	seen.resourceVersion = deployment.ResourceVersion
	seen.image, seen.complete = imageIn(deployment.Spec.Template.Spec.Containers), isComplete(deployment)
	if timestamp := deployment.Spec.Template.Annotations[timestampAnnotation]; timestamp != seen.timestamp {
		seen.timestamp, seen.restartedAt = timestamp, now
		seen.restarts++
		r.noteRolling(seen, true)
	}
	if seen.rolling && seen.complete {
		seen.completeAt = now
		r.noteRolling(seen, false)
	}
	if _, recorded := deployment.Annotations[checksumsAnnotation]; recorded && !seen.recorded {
		seen.recorded, seen.recordedAt = true, now
	}
}

func (r *rollouts) noteRolling(seen *sight, isRolling bool) {
	switch {
	case isRolling && !seen.rolling:
		r.rolling++
	case !isRolling && seen.rolling:
		r.rolling--
	}
	seen.rolling = isRolling
	r.mostRolling = max(r.mostRolling, r.rolling)
}

// look returns a copy of what was seen.
func (r *rollouts) look() map[string]sight {
	r.mu.Lock()
	defer r.mu.Unlock()
	copied := make(map[string]sight, len(r.sights))
	for name, seen := range r.sights {
		copied[name] = *seen
	}
	return copied
}

// most returns how many restarts were rolling at the same time at most.
func (r *rollouts) most() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mostRolling
}

// errTooLate is returned by await when its condition did not come true in time.
var errTooLate = errors.New("it did not happen in time")

// await returns when at least so many Deployments are as the condition wants
// them.
func (r *rollouts) await(ctx context.Context, limit time.Duration, count int, condition func(*sight) bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errTooLate)
	defer cancel()
	for {
		r.mu.Lock()
		found, failure, changed := r.count(condition), r.failure, r.changed
		r.mu.Unlock()
		switch {
		case failure != nil:
			return failure
		case found >= count:
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("%d of %d deployments, waiting up to %s: %w", found, count, limit, context.Cause(ctx))
		}
	}
}

func (r *rollouts) count(condition func(*sight) bool) int {
	found := 0
	for _, seen := range r.sights {
		if condition(seen) {
			found++
		}
	}
	return found
}

// awaitRestart returns when the Deployment has restarted so many times since the
// watch began, with the time at which the watch showed it.
func (r *rollouts) awaitRestart(ctx context.Context, limit time.Duration, name string, times int) (time.Time, error) {
	err := r.await(ctx, limit, 1, func(seen *sight) bool { return seen == r.sights[name] && seen.restarts >= times })
	if err != nil {
		return time.Time{}, fmt.Errorf("restart of %s: %w", name, err)
	}
	return r.look()[name].restartedAt, nil
}

func isRecorded(seen *sight) bool { return seen.recorded }

func restartedTimes(times int) func(*sight) bool {
	return func(seen *sight) bool { return seen.restarts >= times }
}
