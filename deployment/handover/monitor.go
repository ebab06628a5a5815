package handover

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"

	"kubernetes-deployment-restart-controller/deployment/rollout"
	"kubernetes-deployment-restart-controller/internal/apiclient"
	"kubernetes-deployment-restart-controller/internal/quarantine"
	"kubernetes-deployment-restart-controller/internal/series"
	"kubernetes-deployment-restart-controller/internal/watch"
)

const (
	// requestTimeout limits the requests for a probe.
	requestTimeout = 10 * time.Second
	// cleanupTimeout limits the last request of an engine that ends.
	cleanupTimeout = 2 * time.Second
	// brokenWatchPause is how long to wait for broken watches before checking again.
	brokenWatchPause = time.Second
	// takeoverJitter is how much the takeover delay of one engine may differ from that of
	// another: two engines that wait for each other must not take over at the same moment.
	takeoverJitter = 5 * time.Second
)

// Options configure a Monitor.
type Options struct {
	// Apps creates and deletes the probe, and WatchApps watches it, in the namespace.
	Apps      apiclient.Apps
	WatchApps rest.Interface
	Namespace string
	// Standby makes the engine stand by at first, as if a rival had just been detected.
	Standby bool

	// Drive and Rest make the engine start and stop driving, everywhere. They do not block,
	// and are called one at a time.
	Drive, Rest func()
	// RestIn makes the engine stop driving in a namespace, and ResumeIn makes it start again.
	// They do not block either.
	RestIn, ResumeIn func(namespace string)
	// WorkingSince returns since when all watches that the engine needs in order to drive have
	// worked; zero if one of them does not work.
	WorkingSince func() time.Time

	// Events records Events about the probe, and about Deployments whose status another field
	// manager writes.
	Events record.EventRecorder
	// ForeignWrites counts the writes of others by their field manager, and FalseAlarms counts
	// how often a namespace has rested needlessly because of such a write.
	ForeignWrites *series.Counter
	FalseAlarms   prometheus.Counter
	Quarantine    *quarantine.Set
	Log           *slog.Logger
}

// Monitor detects rivals, and lets the engine drive Deployments only while there is none. Its
// methods may be called by several goroutines at once.
type Monitor struct {
	options Options
	prober  prober
	probes  probeWatch
	// delay returns the takeover delay from now on.
	delay func() time.Duration
	woken chan struct{}

	mu          sync.Mutex
	detector    *detector // nil until the engine may drive
	rival       detection // the rival that was detected last
	lastForeign detection // the last foreign write
	// token is the token of the probe that was requested last, empty if there was no probe.
	// isShown means that the watch has reached that probe: what the watch showed earlier
	// existed before.
	token   string
	isShown bool
	present rollout.Meta // the probe that is in place
	own     types.UID    // the probe that this process created last
	problem error        // why no probe can be created, nil if the last attempt succeeded
}

// probeWatch is the watch of the probe.
type probeWatch interface {
	Run(context.Context)
	Status() watch.Status
}

// New returns a Monitor that does nothing until [Monitor.Run] is called. Until then, the
// engine may not drive.
func New(options Options) *Monitor {
	m := &Monitor{
		options: options,
		prober:  prober{apps: options.Apps, namespace: options.Namespace},
		delay:   func() time.Duration { return takeoverDelay + rand.N(takeoverJitter) },
		woken:   make(chan struct{}, 1),
	}
	m.probes = watch.New(watch.Options[*probeState]{
		Resource: "deployments", Namespace: options.Namespace, FieldSelector: "metadata.name=" + probeName,
		Kind: rollout.DeploymentKind, Client: options.WatchApps, Reduce: reduceProbe, Name: nameOfProbe,
		Observer: probeObserver{m}, Quarantine: options.Quarantine, Log: options.Log,
	})
	return m
}

// Run watches the probe and decides whether the engine drives, until the context ends. It may
// be called once.
func (m *Monitor) Run(ctx context.Context) {
	var group sync.WaitGroup
	group.Go(func() { m.probes.Run(ctx) })
	m.begin()
	for ctx.Err() == nil {
		step, due := m.next()
		switch step {
		case createProbe:
			m.createProbe(ctx)
		case takeOver:
			m.takeOver()
		case resume:
			m.resume()
		case wait:
			m.wait(ctx, due)
		}
	}
	group.Wait()
}

func (m *Monitor) begin() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.detector = newDetector(m.options.Standby, time.Now(), m.delay())
	if m.options.Standby {
		m.options.Log.Info("standing by for another deployment controller", "takes_over_after", m.detector.delay.Round(time.Second).String())
	} else {
		m.options.Log.Info("making sure that no other controller drives deployments")
	}
}

// next returns what to do now, and until when to wait. The time without a rival counts only if
// a rival could have been detected all the time: a watch may have been broken and work again.
func (m *Monitor) next() (step, time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	step, due := m.detector.next(now)
	since := m.probes.Status().WorkingSince
	switch step {
	case takeOver:
		since = latest(since, m.options.WorkingSince())
	case resume:
	default:
		return step, due
	}
	if since.IsZero() {
		return wait, now.Add(brokenWatchPause)
	}
	m.detector.watchesBrokenUntil(since)
	return m.detector.next(now)
}

// latest returns since when two watches have worked, given since when each of them has. Zero
// means that it does not work.
func latest(a, b time.Time) time.Time {
	if a.IsZero() || b.IsZero() {
		return time.Time{}
	}
	return later(a, b)
}

func (m *Monitor) wait(ctx context.Context, due time.Time) {
	var expired <-chan time.Time
	if !due.IsZero() {
		timer := time.NewTimer(time.Until(due))
		defer timer.Stop()
		expired = timer.C
	}
	select {
	case <-expired:
	case <-m.woken:
	case <-ctx.Done():
	}
}

// wake makes Run check again what to do.
func (m *Monitor) wake() {
	select {
	case m.woken <- struct{}{}:
	default: // it will check anyway
	}
}
