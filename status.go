package main

import (
	"fmt"
	"sync/atomic"
	"time"

	"kubernetes-deployment-restart-controller/controller"
	"kubernetes-deployment-restart-controller/deployment"
	"kubernetes-deployment-restart-controller/status"
	"kubernetes-deployment-restart-controller/statuspage"
)

// statusOf returns what the status page shows of the engines.
func statusOf(all engines, lease *leaseView, missing *missingPermissions) statuspage.Source {
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
	return statuspage.Source{
		Leads: restarts.Leads,
		Knowledge: func(namespace string) status.Knowledge {
			known := status.NewKnowledge(restarts.Leads(), lease.seen(), restarts.Watches(namespace), time.Now())
			known.Gaps = append(known.Gaps, restarts.Gaps(namespace)...)
			known.Gaps = append(known.Gaps, missing.gaps(namespace, known.Gaps)...)
			return known
		},
		Overview: func(namespace string) *status.Overview {
			overview := restarts.Overview(namespace, time.Now())
			if overview.Leads && rollouts != nil && namespace == "" {
				overview.Rollouts = rollouts()
			}
			return overview
		},
		Workload:  func(name string) *status.Workload { return restarts.ExplainWorkload(name, time.Now()) },
		Config:    func(name string) *status.Config { return restarts.ExplainConfig(name, time.Now()) },
		MistakeOn: restarts.MistakeOn,
	}
}

// readiness returns whether all engines are ready, with details, whether anybody leads, and which permissions are missing.
func readiness(all engines, lease *leaseView, watchdog *watchdog, missing *missingPermissions) func() (bool, string) {
	return func() (bool, string) {
		isReady, detail := all.Ready()
		if l := lease.seen(); l != nil {
			detail += fmt.Sprintln(l.Line(watchdog.expects(), time.Now()))
		}
		for _, gap := range missing.gaps("", []status.Gap{{Why: detail}}) {
			detail += fmt.Sprintln(gap.Line())
		}
		return isReady, detail
	}
}

// leaseView is the lease as this process saw it last. The zero value has seen none. It may be used by several
// goroutines at once.
type leaseView struct{ last atomic.Pointer[status.Lease] }

// seen returns the lease, nil if there is no election. It must not be modified.
func (v *leaseView) seen() *status.Lease { return v.last.Load() }

// see takes in the lease after another attempt. Only one goroutine at a time may call it.
func (v *leaseView) see(lease *status.Lease) {
	if lease.Problem != "" {
		lease.ProblemSince = time.Now().UTC()
		if last := v.last.Load(); last != nil && last.Problem != "" {
			lease.ProblemSince = last.ProblemSince
		}
	}
	v.last.Store(lease)
}
