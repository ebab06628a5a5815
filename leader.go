package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/util/uuid"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// errLeaseLost ends a process that led and does not any more. Another one may
// act already, and a new process starts with a clean slate.
var errLeaseLost = errors.New("the lease is lost")

// elect takes part in an election until the context ends, and leads while it
// holds the lease. It returns what leading returned, or errLeaseLost.
func elect(ctx context.Context, o *options, config *rest.Config, watchdog *leaderelection.HealthzAdaptor, log *slog.Logger, lead func(context.Context) error) error {
	lock, err := newLock(o, config)
	if err != nil {
		return err
	}
	electing, stop := context.WithCancel(ctx)
	defer stop()
	led := make(chan error, 1)
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock:            lock,
		Name:            o.LeaderElectLeaseName,
		LeaseDuration:   o.LeaderElectLeaseDuration,
		RenewDeadline:   o.LeaderElectRenewDeadline,
		RetryPeriod:     o.LeaderElectRetryPeriod,
		ReleaseOnCancel: true,
		WatchDog:        watchdog,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) {
				led <- lead(ctx)
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
	select {
	case err := <-led:
		if err != nil {
			return err
		}
	default:
	}
	if ctx.Err() == nil {
		return errLeaseLost
	}
	return nil
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
