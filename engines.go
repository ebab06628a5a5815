package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"

	"kubernetes-deployment-restart-controller/controller"
	"kubernetes-deployment-restart-controller/deployment"
	"kubernetes-deployment-restart-controller/internal/apiclient"
	"kubernetes-deployment-restart-controller/internal/election"
	"kubernetes-deployment-restart-controller/internal/permissions"
	"kubernetes-deployment-restart-controller/internal/status"
	"kubernetes-deployment-restart-controller/internal/statuspage"
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

// neededPermissions returns the permissions that the engines and the leader election
// need.
func neededPermissions(o *options, all engines) []apiclient.Permission {
	var needed []apiclient.Permission
	for _, e := range all {
		needed = append(needed, e.Permissions()...)
	}
	if o.elects() {
		const without = "no leader is elected and the controller does nothing"
		lease := apiclient.Permission{
			Group: "coordination.k8s.io", Resource: "leases", Namespace: o.ControllerNamespace, Name: o.LeaderElectLeaseName, Impact: without,
		}
		for _, verb := range []string{"get", "update"} {
			lease.Verb = verb
			needed = append(needed, lease)
		}
		// RBAC cannot limit create to a name, so the permission is to create any
		// lease.
		lease.Verb, lease.Name, lease.Impact = "create", "", "no leader is elected if the lease does not exist"
		needed = append(needed, lease)
	}
	return needed
}

// statusOf returns what the status page shows of the engines.
func statusOf(all engines, candidate *election.Election, missing *permissions.Missing) statuspage.Source {
	var restarts *controller.Controller
	var rollouts func() *status.Rollouts
	for _, e := range all {
		switch e := e.(type) {
		case *controller.Controller:
			restarts = e
		case *deployment.Engine:
			rollouts = e.Rollouts
		}
	}
	pod, _ := os.Hostname() // which the page does without
	return statuspage.Source{
		Version: version, Pod: pod,
		Leads: restarts.Leads,
		Knowledge: func(namespace string) status.Knowledge {
			known := status.NewKnowledge(restarts.Leads(), candidate.Lease(), restarts.Watches(namespace), time.Now())
			known.Gaps = append(known.Gaps, restarts.Gaps(namespace)...)
			known.Gaps = append(known.Gaps, missing.Gaps(namespace, known.Gaps)...)
			return known
		},
		Overview: func(namespace string) *status.Overview {
			overview := restarts.Overview(namespace, time.Now())
			if overview.Leads && rollouts != nil && namespace == "" {
				overview.Rollouts = rollouts()
			}
			return overview
		},
		Workload:     func(name string) *status.Workload { return restarts.ExplainWorkload(name, time.Now()) },
		Config:       func(name string) *status.Config { return restarts.ExplainConfig(name, time.Now()) },
		List:         func(asked status.Selection) *status.Listing { return restarts.List(asked, time.Now()) },
		HasNamespace: restarts.Catalog.HasNamespace,
		MistakeOn:    restarts.Mistakes.OnWorkload,
	}
}

// readiness returns whether all engines are ready, with details, whether anybody leads, and which permissions are missing.
func readiness(all engines, candidate *election.Election, missing *permissions.Missing) func() (bool, string) {
	return func() (bool, string) {
		isReady, detail := all.Ready()
		if l := candidate.Lease(); l != nil {
			detail += fmt.Sprintln(l.Line(candidate.Leads(), time.Now()))
		}
		for _, gap := range missing.Gaps("", []status.Gap{{Why: detail}}) {
			detail += fmt.Sprintln(gap.Line())
		}
		return isReady, detail
	}
}
