package main

import (
	"strings"
	"sync/atomic"
	"time"

	"kubernetes-deployment-restart-controller/controller"
	"kubernetes-deployment-restart-controller/status"
	"kubernetes-deployment-restart-controller/statuspage"
)

// statusOf returns what the status page shows of the engines.
func statusOf(all engines, leader *leaderName) statuspage.Source {
	var source statuspage.Source
	for _, e := range all {
		if restarts, is := e.(*controller.Controller); is {
			source.Leads = restarts.Leads
			source.Overview = func() *status.Overview {
				overview := restarts.Overview(time.Now())
				overview.Leader = leader.pod()
				return overview
			}
			source.Workload = func(name string) *status.Workload { return restarts.ExplainWorkload(name, time.Now()) }
			source.Config = func(name string) *status.Config { return restarts.ExplainConfig(name, time.Now()) }
		}
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
