package main

import (
	"context"
	"log/slog"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"

	"kubernetes-deployment-restart-controller/apiclient"
	"kubernetes-deployment-restart-controller/controller"
	"kubernetes-deployment-restart-controller/deployment"
)

// engine is one of the controllers of this program. The restart controller always
// runs, and the deployment engine runs if it is switched on. They do not depend
// on each other.
type engine interface {
	prometheus.Collector
	// Watch keeps the engine's knowledge up to date until the context ends.
	Watch(context.Context)
	// Lead acts on that knowledge until the context ends or the engine has to
	// give up.
	Lead(context.Context) error
	// Ready reports whether the engine has seen everything, with details.
	Ready() (bool, string)
	// Permissions returns the permissions that the engine needs.
	Permissions() []apiclient.Permission
}

// engines are engines that work side by side.
type engines []engine

// garbagePercent is how much garbage may accumulate if only the restart
// controller runs, in percent of the memory in use: the controller keeps little
// in memory, and a small heap costs next to nothing. See docs/benchmarks.md. Much
// more data passes through the deployment engine, which limits its garbage
// itself.
const garbagePercent = 20

func newEngines(o *options, config *rest.Config, log *slog.Logger) (engines, error) {
	percent := garbagePercent
	if o.drivesDeployments() {
		percent = 0
	}
	restarts, err := controller.New(controller.Options{
		API:          config,
		QPS:          o.KubeAPIQPS,
		Burst:        o.KubeAPIBurst,
		Namespaces:   o.Namespaces,
		OptIns:       o.optIns(),
		Evict:        o.Evict,
		CSI:          o.CSI,
		Configs:      o.configKinds(),
		Workloads:    o.workloads,
		OwnNamespace: o.ControllerNamespace,
		KeySecret:    o.ChecksumKeySecret, HaltsConfigMap: o.HaltsConfigMap,
		GracePeriod:  o.RestartGracePeriod.Duration,
		CheckPeriod:  o.RestartCheckPeriod.Duration,
		BackoffLimit: o.RestartBackoffLimit.Duration,
		RestartSoak:  o.RestartSoak.Duration, RestartDeadline: o.RestartDeadline.Duration,
		FanOut:         o.fanOut(),
		DryRun:         o.DryRun,
		ExitOnError:    o.ExitOnError,
		IgnoredErrors:  o.IgnoredErrors,
		GarbagePercent: percent,
		Log:            log,
	})
	if err != nil || !o.drivesDeployments() {
		return engines{restarts}, err
	}
	deployments, err := deployment.New(deployment.Options{
		API:          config,
		QPS:          o.KubeAPIQPS,
		Burst:        o.KubeAPIBurst,
		Namespaces:   o.Namespaces,
		Workers:      o.DeploymentWorkers,
		OwnNamespace: o.ControllerNamespace,
		Standby:      o.DeploymentEngine == engineStandby,
		Log:          log,
	})
	return engines{restarts, deployments}, err
}

// Watch runs Watch of all engines until the context ends.
func (all engines) Watch(ctx context.Context) {
	var group sync.WaitGroup
	for _, e := range all {
		group.Go(func() { e.Watch(ctx) })
	}
	group.Wait()
}

// Lead runs Lead of all engines until the context ends or the first engine gives
// up, and returns why.
func (all engines) Lead(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	failures := make(chan error, len(all))
	var group sync.WaitGroup
	for _, e := range all {
		group.Go(func() {
			if err := e.Lead(ctx); err != nil {
				failures <- err
				stop()
			}
		})
	}
	group.Wait()
	close(failures)
	return <-failures // nil if there is no failure
}

// granted lets the restart controller go on with what was refused until permissions were granted.
func (all engines) granted(permissions []apiclient.Permission) {
	for _, e := range all {
		if restarts, isOne := e.(*controller.Controller); isOne {
			restarts.TryRefused(permissions)
		}
	}
}

// refused returns a channel that has an element once the restart controller has begun to be refused something for lack of a
// permission.
func (all engines) refused() <-chan struct{} {
	for _, e := range all {
		if restarts, isOne := e.(*controller.Controller); isOne {
			return restarts.Refused()
		}
	}
	return nil
}

// Ready reports whether all engines are ready.
func (all engines) Ready() (bool, string) {
	ready := true
	var details strings.Builder
	for _, e := range all {
		isReady, detail := e.Ready()
		ready = ready && isReady
		details.WriteString(detail)
	}
	return ready, details.String()
}
