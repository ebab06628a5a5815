package deployment

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"kubernetes-deployment-restart-controller/internal/watch"
)

const (
	// maxPodWatches is how many namespaces may each have a watch of their pods. If more
	// need one, a single watch of all namespaces costs less than their streams.
	maxPodWatches = 50
	// podWatchPeriod is the time between two checks of which watches are still needed.
	// podWatchLooks is how many checks in a row must find a watch idle before it ends, so
	// that a Deployment whose strategy changes all the time costs one list in ten minutes.
	podWatchPeriod = time.Minute
	podWatchLooks  = 10
)

// podWatches watches pods where a Deployment has the strategy Recreate. Only that strategy
// has to wait for pods that their ReplicaSet no longer counts. Its methods may be called by
// several goroutines at once.
type podWatches struct {
	table *podTable
	// make creates a watch of the pods in a namespace, or in all namespaces if that is
	// empty.
	make func(namespace string) follower
	// mayWatchAll is whether the engine drives all namespaces.
	mayWatchAll bool
	// isNeeded reports whether a Deployment of a namespace has the strategy Recreate. known
	// is called when the pods of a namespace, or of all namespaces, are known.
	isNeeded func(namespace string) bool
	known    func(namespace string)

	woken chan struct{}
	group sync.WaitGroup // the goroutines of the watches

	mu      sync.Mutex
	wanted  map[string]struct{}
	watches map[string]*begunWatch // by namespace; empty for all
}

// begunWatch is a watch that runs until it is stopped.
type begunWatch struct {
	follower

	stop func() // returns when it has ended
	idle int    // how many checks in a row have found it idle
}

// want requests a watch of the pods of a namespace.
func (w *podWatches) want(namespace string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.watches[""] != nil || w.watches[namespace] != nil {
		return
	}
	w.wanted[namespace] = struct{}{}
	select {
	case w.woken <- struct{}{}:
	default: // it is already woken
	}
}

// run starts and stops watches until the context ends, and returns when all have ended.
func (w *podWatches) run(ctx context.Context) {
	defer w.group.Wait()
	ticker := time.NewTicker(podWatchPeriod)
	defer ticker.Stop()
	for {
		select {
		case <-w.woken:
			w.begin(ctx)
		case <-ticker.C:
			w.tidy()
		case <-ctx.Done():
			return
		}
	}
}

// begin starts the requested watches.
func (w *podWatches) begin(ctx context.Context) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.mayWatchAll && len(w.watches)+len(w.wanted) > maxPodWatches {
		w.wanted = map[string]struct{}{"": {}}
	}
	for namespace := range w.wanted {
		if w.watches[namespace] == nil {
			w.watches[namespace] = w.follow(ctx, namespace)
		}
	}
	clear(w.wanted)
}

// follow starts a watch.
func (w *podWatches) follow(ctx context.Context, namespace string) *begunWatch {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	begun := &begunWatch{follower: w.make(namespace), stop: func() { cancel(); <-ended }}
	w.group.Go(func() {
		defer close(ended)
		begun.Run(ctx)
	})
	w.group.Go(func() {
		select {
		case <-begun.Synced():
			w.known(namespace)
		case <-ctx.Done():
		}
	})
	return begun
}

// tidy ends the watches that are no longer needed. A watch of all namespaces never ends.
func (w *podWatches) tidy() {
	watches := w.all()
	ofAll := watches[""]
	delete(watches, "")
	for namespace, watch := range watches {
		if ofAll != nil && ofAll.Status().Synced || w.isIdle(namespace, watch) {
			w.end(namespace, watch)
		}
	}
}

func (w *podWatches) isIdle(namespace string, watch *begunWatch) bool {
	watch.idle++
	if w.isNeeded(namespace) {
		watch.idle = 0
	}
	return watch.idle > podWatchLooks
}

// end ends a watch. If a Deployment has just begun to need it, it requests another one.
func (w *podWatches) end(namespace string, watch *begunWatch) {
	watch.stop()
	w.table.forget(namespace)
	w.mu.Lock()
	delete(w.watches, namespace)
	w.mu.Unlock()
	if w.isNeeded(namespace) {
		w.want(namespace)
	}
}

func (w *podWatches) all() map[string]*begunWatch {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.watches)
}

// statuses returns the statuses of the watches, in the order of their namespaces.
func (w *podWatches) statuses() []watch.Status {
	all := w.all()
	statuses := make([]watch.Status, 0, len(all))
	for _, namespace := range slices.Sorted(maps.Keys(all)) {
		statuses = append(statuses, all[namespace].Status())
	}
	return statuses
}
