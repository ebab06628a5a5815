package main

import (
	"strings"
	"sync/atomic"
	"time"

	"kubernetes-deployment-restart-controller/controller"
	"kubernetes-deployment-restart-controller/deployment"
	"kubernetes-deployment-restart-controller/status"
	"kubernetes-deployment-restart-controller/statuspage"
)

// statusOf returns what the status page shows of the engines.
func statusOf(all engines, leader *leaderName) statuspage.Source {
	var source statuspage.Source
	var rollouts func() *status.Rollouts
	for _, e := range all {
		switch e := e.(type) {
		case *controller.Controller:
			source.Leads = e.Leads
			source.Overview = func(namespace string) *status.Overview { return e.Overview(namespace, time.Now()) }
			source.Workload = func(name string) *status.Workload { return e.ExplainWorkload(name, time.Now()) }
			source.Config = func(name string) *status.Config { return e.ExplainConfig(name, time.Now()) }
		case *deployment.Engine:
			rollouts = e.Rollouts
		}
	}
	restarts := source.Overview
	source.Overview = func(namespace string) *status.Overview {
		overview := restarts(namespace)
		if overview.Leader = leader.pod(); overview.Leads && rollouts != nil && namespace == "" {
			overview.Rollouts = rollouts()
		}
		return overview
	}
	return source
}

// leaderName is the identity of the process that leads, as far as this process knows. The zero value knows of
// none. It may be used by several goroutines at once.
type leaderName struct{ identity atomic.Pointer[string] }

func (l *leaderName) set(identity string) { l.identity.Store(&identity) }

// pod returns the name of the leader's pod, empty if no process is known to lead. An identity is the name of a
// host, which is that of the pod, followed by an underscore, which is in no such name.
func (l *leaderName) pod() string {
	identity := l.identity.Load()
	if identity == nil {
		return ""
	}
	pod, _, _ := strings.Cut(*identity, "_")
	return pod
}
