package handover

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"

	"kubernetes-deployment-restart-controller/deployment/rollout"
	"kubernetes-deployment-restart-controller/internal/apiclient"
	"kubernetes-deployment-restart-controller/internal/watch"
)

// overlap is how long two engines may drive at a time: until the watch of the one has
// shown what the other wrote.
const overlap = 100 * time.Millisecond

// calm is after what time somebody drives: the takeover delay of one engine, its probe, and as
// much again for two that took over at the same moment.
const calm = 2 * (takeoverDelay + takeoverJitter + probePeriod)

// Engines come and go at random. Each that drives answers the probes of the others
// within 50 ms.
func TestOfSeveralEnginesOneDrives(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &rivals{random: rand.New(rand.NewPCG(seed, 0))}
				ctx, stop := context.WithCancel(t.Context())
				for range 20 {
					r.change(ctx)
					r.watch(t, r.duration(90*time.Second), overlap)
				}
				if r.alive() == 0 {
					r.start(ctx)
				}
				r.watch(t, calm, overlap)
				if r.driving() != 1 {
					t.Errorf("of %d engines %d drive in the end", r.alive(), r.driving())
				}
				stop()
				r.group.Wait()
			})
		})
	}
}

// rivals are engines that know nothing of each other.
type rivals struct {
	group sync.WaitGroup

	mu      sync.Mutex
	random  *rand.Rand
	engines []*rivalEngine
	uids    int
}

// rivalEngine is one of them, and the API server as far as its probe goes.
type rivalEngine struct {
	apiclient.Apps
	apiclient.Objects[*appsv1.Deployment]

	all     *rivals
	monitor *Monitor
	drives  atomic.Bool
	kill    context.CancelFunc
	probe   *appsv1.Deployment // guarded by the lock of all
}

func (r *rivals) duration(limit time.Duration) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Duration(r.random.Int64N(int64(limit)))
}

// change starts an engine or kills one, sometimes two at a time.
func (r *rivals) change(ctx context.Context) {
	for range 1 + r.duration(2) {
		if alive := r.alive(); alive == 0 || alive < 4 && r.duration(2) == 0 {
			r.start(ctx)
			continue
		}
		r.killOne()
	}
}

// killOne kills one of them, which leaves its probe.
func (r *rivals) killOne() {
	r.mu.Lock()
	i := r.random.IntN(len(r.engines))
	killed := r.engines[i]
	r.engines = append(r.engines[:i:i], r.engines[i+1:]...)
	r.mu.Unlock()
	killed.kill()
	killed.drives.Store(false)
}

func (r *rivals) start(ctx context.Context) {
	e := &rivalEngine{all: r}
	r.launch(ctx, e, e, func() { r.group.Go(e.answerAll) })
}

// launch starts an engine that sees an API server and does something whenever it
// begins to drive.
func (r *rivals) launch(ctx context.Context, e *rivalEngine, apps apiclient.Apps, onDrive func()) {
	ctx, e.kill = context.WithCancel(ctx)
	start := time.Now()
	e.monitor = newMonitor(Options{
		Apps: apps, Namespace: "own", Standby: r.duration(2) == 0, Events: &record.FakeRecorder{},
		Drive: func() {
			e.drives.Store(ctx.Err() == nil)
			onDrive()
		},
		Rest:         func() { e.drives.Store(false) },
		RestIn:       func(string) {},
		ResumeIn:     func(string) {},
		WorkingSince: func() time.Time { return start },
	})
	e.monitor.probes = workingWatch{start}
	e.monitor.delay = func() time.Duration { return takeoverDelay + r.duration(takeoverJitter) }
	r.mu.Lock()
	r.engines = append(r.engines, e)
	r.mu.Unlock()
	r.group.Go(func() { e.monitor.Run(ctx) })
}

// workingWatch works since a time.
type workingWatch struct{ since time.Time }

// Run implements probeWatch.
func (w workingWatch) Run(context.Context) {}

// Status implements probeWatch.
func (w workingWatch) Status() watch.Status { return watch.Status{WorkingSince: w.since} }

func (r *rivals) others(than *rivalEngine) (others []*rivalEngine) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.engines {
		if e != than {
			others = append(others, e)
		}
	}
	return others
}

func (r *rivals) alive() int { return len(r.others(nil)) }

func (r *rivals) driving() (count int) {
	for _, e := range r.others(nil) {
		if e.drives.Load() {
			count++
		}
	}
	return count
}

// watch lets time pass, and fails the test if two engines drive for too long.
func (r *rivals) watch(t *testing.T, d, limit time.Duration) {
	var both time.Duration
	const look = 20 * time.Millisecond
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(look) {
		if r.driving() < 2 {
			both = 0
			continue
		}
		if both += look; both > limit {
			t.Fatalf("%d engines drive for %s", r.driving(), both)
		}
	}
}

// Deployments implements apiclient.Apps.
func (e *rivalEngine) Deployments(string) apiclient.Deployments { return e }

// Delete implements apiclient.Deployments.
func (e *rivalEngine) Delete(context.Context, string, metav1.DeleteOptions) error {
	e.all.mu.Lock()
	gone := e.probe
	e.probe = nil
	e.all.mu.Unlock()
	if gone != nil {
		probeObserver{e.monitor}.Forget(must(reduceProbe(gone)))
	}
	return nil
}

// Create implements apiclient.Deployments.
func (e *rivalEngine) Create(_ context.Context, d *appsv1.Deployment, _ metav1.CreateOptions) (*appsv1.Deployment, error) {
	made := d.DeepCopy()
	e.all.mu.Lock()
	e.all.uids++
	made.UID = types.UID(fmt.Sprint("uid-", e.all.uids))
	e.probe = made
	e.all.mu.Unlock()
	probeObserver{e.monitor}.Observe(must(reduceProbe(made)))
	for _, other := range e.all.others(e) {
		e.all.group.Go(func() { e.answeredBy(other) })
	}
	return made, nil
}

// answerAll answers the probes of all others.
func (e *rivalEngine) answerAll() {
	for _, other := range e.all.others(e) {
		e.all.group.Go(func() { other.answeredBy(e) })
	}
}

// answeredBy lets another engine answer the probe in a moment, if it drives then.
func (e *rivalEngine) answeredBy(other *rivalEngine) {
	time.Sleep(time.Millisecond + e.all.duration(50*time.Millisecond))
	e.all.mu.Lock()
	if e.probe == nil || e.probe.Status.ObservedGeneration > 0 || !other.drives.Load() {
		e.all.mu.Unlock()
		return
	}
	answered := e.probe.DeepCopy()
	answered.Status.ObservedGeneration = 1
	answered.ManagedFields = []metav1.ManagedFieldsEntry{statusBy(rollout.FieldManager, 1)}
	e.probe = answered
	e.all.mu.Unlock()
	probeObserver{e.monitor}.Observe(must(reduceProbe(answered)))
}
