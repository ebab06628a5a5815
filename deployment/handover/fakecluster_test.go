package handover

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"

	"kubernetes-deployment-restart-controller/internal/apiclient"
	"kubernetes-deployment-restart-controller/internal/watch"
)

// fakeCluster plays an API server with a probe in it, its watch, and a rival.
type fakeCluster struct {
	apiclient.Apps
	apiclient.Objects[*appsv1.Deployment]

	monitor       *Monitor
	watch         probeObserver
	events        *record.FakeRecorder
	start         time.Time
	engineWatches atomic.Pointer[time.Time] // since when the watches of the engine work, nil if they do not
	probeWatch    atomic.Pointer[time.Time] // since when the watch of the probe works, nil if it does not

	written sync.Mutex
	entries []string // when the engine began and ended to drive

	mu       sync.Mutex
	isRival  bool  // somebody answers probes
	refusal  error // of requests for probes
	loss     error // in place of the answer to a creation
	isSlow   bool  // the watch is, then
	probe    *appsv1.Deployment
	versions int
	requests []string
}

// live runs a test with a Monitor, whose takeover delay is 30 seconds.
func live(t *testing.T, isStandby bool, test func(*fakeCluster)) {
	synctest.Test(t, func(t *testing.T) {
		c := &fakeCluster{events: record.NewFakeRecorder(100), start: time.Now()}
		c.engineWatches.Store(&c.start)
		c.probeWatch.Store(&c.start)
		c.monitor = newMonitor(Options{
			Apps: c, Namespace: "own", Standby: isStandby, Events: c.events,
			Drive:        func() { c.record("drives") },
			Rest:         func() { c.record("rests") },
			RestIn:       func(namespace string) { c.record("rests in " + namespace) },
			ResumeIn:     func(namespace string) { c.record("resumes in " + namespace) },
			WorkingSince: func() time.Time { return since(&c.engineWatches) },
		})
		c.monitor.probes, c.watch = c, probeObserver{c.monitor}
		c.monitor.delay = func() time.Duration { return takeoverDelay }
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			c.monitor.Run(ctx)
		}()
		synctest.Wait()
		test(c)
		stop()
		<-done
	})
}

func since(pointer *atomic.Pointer[time.Time]) time.Time {
	if since := pointer.Load(); since != nil {
		return *since
	}
	return time.Time{}
}

// Run implements probeWatch.
func (c *fakeCluster) Run(context.Context) {}

// Status implements probeWatch.
func (c *fakeCluster) Status() watch.Status { return watch.Status{WorkingSince: since(&c.probeWatch)} }

func (c *fakeCluster) record(what string) {
	c.written.Lock()
	defer c.written.Unlock()
	c.entries = append(c.entries, fmt.Sprintf("%s at %s", what, time.Since(c.start)))
}

// history returns what was recorded so far.
func (c *fakeCluster) history() []string {
	c.written.Lock()
	defer c.written.Unlock()
	return slices.Clone(c.entries)
}

// requested returns the requests so far.
func (c *fakeCluster) requested() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.requests)
}

// after lets time pass.
func (c *fakeCluster) after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// set changes the cluster.
func (c *fakeCluster) set(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
}

// Deployments implements apiclient.Apps.
func (c *fakeCluster) Deployments(string) apiclient.Deployments { return c }

// Create implements apiclient.Deployments. The watch is faster than the answer.
func (c *fakeCluster) Create(_ context.Context, d *appsv1.Deployment, _ metav1.CreateOptions) (*appsv1.Deployment, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests = append(c.requests, "create")
	if c.refusal != nil {
		return nil, c.refusal
	}
	if c.probe != nil {
		return nil, apierrors.NewAlreadyExists(appsv1.Resource("deployments"), d.Name)
	}
	c.versions++
	c.probe = d.DeepCopy()
	c.probe.UID = types.UID(fmt.Sprint("uid-", c.versions))
	if c.loss != nil && c.isSlow {
		time.AfterFunc(time.Second, func() { c.set(func() { c.watch.Observe(must(reduceProbe(c.probe))) }) })
		return nil, c.loss
	}
	c.watch.Observe(must(reduceProbe(c.probe)))
	if c.isRival {
		c.answer("rival")
	}
	if c.loss != nil {
		return nil, c.loss
	}
	return c.probe.DeepCopy(), nil
}

// answer must be called with the lock held.
func (c *fakeCluster) answer(manager string) {
	c.probe.Status.ObservedGeneration = 1
	c.probe.ManagedFields = []metav1.ManagedFieldsEntry{statusBy(manager, 1)}
	c.watch.Observe(must(reduceProbe(c.probe)))
}

// Delete implements apiclient.Deployments.
func (c *fakeCluster) Delete(_ context.Context, name string, options metav1.DeleteOptions) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests = append(c.requests, "delete")
	switch {
	case c.refusal != nil:
		return c.refusal
	case c.probe == nil:
		return apierrors.NewNotFound(appsv1.Resource("deployments"), name)
	case options.Preconditions != nil && *options.Preconditions.UID != c.probe.UID:
		return apierrors.NewConflict(appsv1.Resource("deployments"), name, errors.New("another UID"))
	}
	gone := must(reduceProbe(c.probe))
	c.probe = nil
	c.watch.Forget(gone)
	return nil
}

// recordedEvents returns the Events since the last call.
func (c *fakeCluster) recordedEvents() (events []string) {
	for {
		select {
		case event := <-c.events.Events:
			events = append(events, event)
		default:
			return events
		}
	}
}

func (c *fakeCluster) detail() string { return c.monitor.Detail(true) }
