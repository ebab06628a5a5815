package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// errLeaseLost ends a process that led and does not any more. Another one may
// act already, and a new process starts with a clean slate.
var errLeaseLost = errors.New("the lease is lost")

// errUnfinished tells that a leader's work could not be ended.
var errUnfinished = errors.New("what was under way has not ended")

// endingLimit is how long the end of what a leader does is waited for: longer than the
// engine's last request may take, and shorter than a kubelet waits.
const endingLimit = 5 * time.Second

// releaseLimit is how long the API server has to take the lease back.
const releaseLimit = 2 * time.Second

// elect takes part in an election until the context ends, and leads while it
// holds the lease. It returns what leading returned, or errLeaseLost.
func elect(ctx context.Context, o *options, config *rest.Config, watchdog *leaderelection.HealthzAdaptor, log *slog.Logger, lead func(context.Context) error) error {
	lock, err := newLock(o, config)
	if err != nil {
		return err
	}
	// The lease is renewed until what it protects has ended.
	electing, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	t := newTerm()
	defer context.AfterFunc(ctx, func() {
		_ = t.await() // and below again
		stop()
	})()
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock:          lock,
		Name:          o.LeaderElectLeaseName,
		LeaseDuration: o.LeaderElectLeaseDuration,
		RenewDeadline: o.LeaderElectRenewDeadline,
		RetryPeriod:   o.LeaderElectRetryPeriod,
		WatchDog:      watchdog,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(held context.Context) {
				leading, end := context.WithCancel(ctx)
				defer end()
				defer context.AfterFunc(held, end)()
				t.lead(func() error { return lead(leading) })
				stop()
			},
			OnStoppedLeading: func() {},
			OnNewLeader: func(identity string) {
				if identity != lock.Identity() {
					log.Info("standing by", "leader", identity)
				}
			},
		},
	})
	if err != nil {
		return fmt.Errorf("set up leader election: %w", err)
	}
	elector.Run(electing)
	err = t.await()
	if elector.IsLeader() && !errors.Is(err, errUnfinished) {
		release(context.WithoutCancel(ctx), lock, log)
	}
	if err == nil && ctx.Err() == nil {
		err = errLeaseLost
	}
	return err
}

// release gives the lease up, if this process still has it, so that nobody waits until it
// expires. The elector's own release would come before it tells that leading is over.
func release(ctx context.Context, lock resourcelock.Interface, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(ctx, releaseLimit)
	defer cancel()
	record, _, err := lock.Get(ctx)
	if err == nil && record.HolderIdentity == lock.Identity() {
		now := metav1.Now()
		err = lock.Update(ctx, resourcelock.LeaderElectionRecord{
			LeaderTransitions: record.LeaderTransitions, LeaseDurationSeconds: 1, AcquireTime: now, RenewTime: now,
		})
	}
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		log.Warn("cannot give up the lease, it will expire", "error", err)
	}
}

// term is the time in which this process leads.
type term struct {
	begun, ended, overdue chan struct{}
	failure               error // why it has ended
	ending                sync.Once
}

func newTerm() *term {
	return &term{begun: make(chan struct{}), ended: make(chan struct{}), overdue: make(chan struct{})}
}

// lead leads. It may be called once.
func (t *term) lead(lead func() error) {
	close(t.begun)
	t.failure = lead()
	close(t.ended)
}

// await returns when the term has ended, if it has begun, and why. It waits for
// endingLimit from the first call.
func (t *term) await() error {
	select {
	case <-t.begun:
	default:
		return nil
	}
	t.ending.Do(func() { time.AfterFunc(endingLimit, func() { close(t.overdue) }) })
	select {
	case <-t.ended:
		return t.failure
	case <-t.overdue:
		return errUnfinished
	}
}

func newLock(o *options, config *rest.Config) (resourcelock.Interface, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("find host name: %w", err)
	}
	limited := rest.CopyConfig(config)
	limited.Timeout = max(o.LeaderElectRenewDeadline/2, time.Second) // so that one silent connection does not cost the lease
	client, err := coordination.NewForConfig(limited)
	if err != nil {
		return nil, fmt.Errorf("make client for the lease: %w", err)
	}
	lock, err := resourcelock.New(resourcelock.LeasesResourceLock, o.LeaderElectNamespace, o.LeaderElectLeaseName, nil, client,
		resourcelock.ResourceLockConfig{Identity: host + "_" + string(uuid.NewUUID())})
	if err != nil {
		return nil, fmt.Errorf("set up the lease: %w", err)
	}
	return lock, nil
}
