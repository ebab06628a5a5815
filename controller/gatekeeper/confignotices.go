package gatekeeper

import (
	"log/slog"
	"sync"
	"time"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/internal/counts"
	"kubernetes-deployment-restart-controller/internal/fairqueue"
)

// Notices are the Events on configs that wait for their turn, and the fan-outs whose end is still to be told. Whoever has something
// to tell the owners of configs puts it here; [fanout.Reports] tells it. Its methods may be called by several goroutines at once.
type Notices struct {
	Log *slog.Logger

	Mu      sync.Mutex
	Waiting fairqueue.RoundRobin[ConfigEvent]
	// dropped has the namespaces of Events that were dropped since the last look.
	dropped map[string]struct{}
	// Unfinished has when the fan-outs began whose progress may be the last that was reported: [MaxUnfinished] of a namespace
	// at most, which UnfinishedOf counts.
	Unfinished   map[names.ConfigRef]time.Time
	UnfinishedOf counts.By[string]
}

// NewNotices has nothing to tell yet.
func NewNotices(log *slog.Logger) *Notices {
	return &Notices{
		Log: log, dropped: make(map[string]struct{}),
		Unfinished: make(map[names.ConfigRef]time.Time), UnfinishedOf: make(counts.By[string]),
	}
}

// ConfigEvent is an Event on a config that has not been created yet.
type ConfigEvent struct {
	Config                     names.ConfigRef
	EventType, Reason, Message string
}

// Note creates an Event on a config soon, if it is one: what stands for the further halts of a namespace is none. The
// owner of a config that is shared with other namespaces hears nothing of the workloads there. It returns false if too
// many wait, which is logged once at each look: whoever causes Events can do that often.
func (n *Notices) Note(config names.ConfigRef, eventType, reason, message string) (isNoted bool) {
	if config.Kind == 0 || config.IsShared() {
		return true
	}
	n.Mu.Lock()
	defer n.Mu.Unlock()
	if n.hasRoom(config.Namespace) {
		n.Waiting.Add(config.Namespace, ConfigEvent{config, eventType, reason, message})
		return true
	}
	if _, isLogged := n.dropped[config.Namespace]; !isLogged {
		n.dropped[config.Namespace] = struct{}{}
		n.Log.Warn("too many Events on configs wait, dropping some", "config", config, "reason", reason, "message", message)
	}
	return false
}

// hasRoom reports whether another Event on a config of a namespace may wait: a few of each namespace always may, besides the
// ends of fan-outs. It must be called with the lock held.
func (n *Notices) hasRoom(namespace string) bool {
	of := n.Waiting.LenOf(namespace)
	return n.Waiting.Len() < MaxReports && of < MaxReportsOf || of < 2*ReportsOfNamespace
}

// Take removes the Events whose turn it is, a few of each namespace, and returns them.
func (n *Notices) Take() (due []ConfigEvent) {
	n.Mu.Lock()
	defer n.Mu.Unlock()
	clear(n.dropped)
	taken := make(map[string]int)
	for n.Waiting.Len() > 0 && len(due) < reportsAtOnce && taken[n.Waiting.Turn()] < ReportsOfNamespace {
		taken[n.Waiting.Turn()]++
		due = append(due, n.Waiting.Next())
	}
	return due
}

// HaveWaiting returns how many Events of a namespace wait.
func (n *Notices) HaveWaiting(namespace string) int {
	n.Mu.Lock()
	defer n.Mu.Unlock()
	return n.Waiting.LenOf(namespace)
}

// NoteUnfinished notes that the progress of a fan-out that began at the given time may be the last that is reported.
func (n *Notices) NoteUnfinished(config names.ConfigRef, began time.Time) {
	n.Mu.Lock()
	defer n.Mu.Unlock()
	known, found := n.Unfinished[config]
	switch {
	case !found && n.UnfinishedOf[config.Namespace] >= MaxUnfinished:
		return
	case !found:
		n.UnfinishedOf.Add(config.Namespace, +1)
	case !began.Before(known):
		return
	}
	n.Unfinished[config] = began
}

// NoteOver notes that nothing of a fan-out is left to report.
func (n *Notices) NoteOver(config names.ConfigRef) {
	n.Mu.Lock()
	defer n.Mu.Unlock()
	if _, found := n.Unfinished[config]; found {
		delete(n.Unfinished, config)
		n.UnfinishedOf.Add(config.Namespace, -1)
	}
}

const (
	// reportsAtOnce and ReportsOfNamespace are how many Events there are at a look at most, so that the
	// configs of one tenant take neither the requests of others nor their turns. The others follow later.
	reportsAtOnce = 20
	// ReportsOfNamespace is how many Events there are at a look for one namespace.
	ReportsOfNamespace = 4
	// MaxReports is how many Events wait for their turn at most.
	MaxReports = 2000
	// MaxReportsOf is how many of one namespace do.
	MaxReportsOf = 50
	// MaxUnfinished is of how many fan-outs of a namespace the end is told: anybody can begin very many.
	MaxUnfinished = 1000
)

// NoteFormer notes that a former leader has restarted a workload at the given time, and may have reported the progress of the
// fan-out.
func (g *Gatekeeper) NoteFormer(w *workload.Workload, began time.Time) {
	for _, restarted := range w.Record.RestartedFor {
		policy := g.Catalog.PolicyOf(restarted.Config)
		cause := g.inGroup(gate.Cause{Config: restarted.Config, IsGradual: g.IsGradual(policy)})
		if cause.IsGradual && !gate.IsGroup(cause.Group) {
			g.Notices.NoteUnfinished(cause.Config, began)
		}
	}
}
