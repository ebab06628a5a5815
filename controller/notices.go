package controller

import (
	"log/slog"
	"sync"
	"time"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/internal/fairqueue"
)

// notices are the Events on configs that wait for their turn, and the fan-outs whose end is still to be told. Whoever has something
// to tell the owners of configs puts it here; [fanOutReports] tells it. Its methods may be called by several goroutines at once.
type notices struct {
	log *slog.Logger

	mu      sync.Mutex
	waiting fairqueue.RoundRobin[configEvent]
	// dropped has the namespaces of Events that were dropped since the last look.
	dropped map[string]struct{}
	// unfinished has when the fan-outs began whose progress may be the last that was reported: [maxUnfinished] of a namespace
	// at most, which unfinishedOf counts.
	unfinished   map[names.ConfigRef]time.Time
	unfinishedOf catalog.Counts[string]
}

func newNotices(log *slog.Logger) *notices {
	return &notices{
		log: log, dropped: make(map[string]struct{}),
		unfinished: make(map[names.ConfigRef]time.Time), unfinishedOf: make(catalog.Counts[string]),
	}
}

// configEvent is an Event on a config that has not been created yet.
type configEvent struct {
	config                     names.ConfigRef
	eventType, reason, message string
}

// note creates an Event on a config soon, if it is one: what stands for the further halts of a namespace is none. The
// owner of a config that is shared with other namespaces hears nothing of the workloads there. It returns false if too
// many wait, which is logged once at each look: whoever causes Events can do that often.
func (n *notices) note(config names.ConfigRef, eventType, reason, message string) (isNoted bool) {
	if config.Kind == 0 || config.IsShared() {
		return true
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.hasRoom(config.Namespace) {
		n.waiting.Add(config.Namespace, configEvent{config, eventType, reason, message})
		return true
	}
	if _, isLogged := n.dropped[config.Namespace]; !isLogged {
		n.dropped[config.Namespace] = struct{}{}
		n.log.Warn("too many Events on configs wait, dropping some", "config", config, "reason", reason, "message", message)
	}
	return false
}

// hasRoom reports whether another Event on a config of a namespace may wait: a few of each namespace always may, besides the
// ends of fan-outs. It must be called with the lock held.
func (n *notices) hasRoom(namespace string) bool {
	of := n.waiting.LenOf(namespace)
	return n.waiting.Len() < maxReports && of < maxReportsOf || of < 2*reportsOfNamespace
}

// take removes the Events whose turn it is, a few of each namespace, and returns them.
func (n *notices) take() (due []configEvent) {
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(n.dropped)
	taken := make(map[string]int)
	for n.waiting.Len() > 0 && len(due) < reportsAtOnce && taken[n.waiting.Turn()] < reportsOfNamespace {
		taken[n.waiting.Turn()]++
		due = append(due, n.waiting.Next())
	}
	return due
}

// haveWaiting returns how many Events of a namespace wait.
func (n *notices) haveWaiting(namespace string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.waiting.LenOf(namespace)
}

// noteUnfinished notes that the progress of a fan-out that began at the given time may be the last that is reported.
func (n *notices) noteUnfinished(config names.ConfigRef, began time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	known, found := n.unfinished[config]
	switch {
	case !found && n.unfinishedOf[config.Namespace] >= maxUnfinished:
		return
	case !found:
		n.unfinishedOf.Add(config.Namespace, +1)
	case !began.Before(known):
		return
	}
	n.unfinished[config] = began
}

// noteOver notes that nothing of a fan-out is left to report.
func (n *notices) noteOver(config names.ConfigRef) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, found := n.unfinished[config]; found {
		delete(n.unfinished, config)
		n.unfinishedOf.Add(config.Namespace, -1)
	}
}

// noteFormer notes that a former leader has restarted a workload at the given time, and may have reported the progress of the
// fan-out.
func (g *gatekeeper) noteFormer(w *workload.Workload, began time.Time) {
	for _, restarted := range w.Applied.RestartedFor {
		policy := g.catalog.PolicyOf(restarted.Config)
		cause := g.inGroup(gate.Cause{Config: restarted.Config, IsGradual: g.isGradual(policy)})
		if cause.IsGradual && !gate.IsGroup(cause.Group) {
			g.notices.noteUnfinished(cause.Config, began)
		}
	}
}
