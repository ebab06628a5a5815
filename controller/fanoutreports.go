package controller

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/quarantine"
)

const (
	// reportPeriod is how often the fan-outs are looked at. An Event reports that one is under way at the first
	// look, and its progress every progressPeriod at most.
	reportPeriod   = 5 * time.Second
	progressPeriod = time.Minute
	// reportsAtOnce and reportsOfNamespace are how many Events there are at a look at most, so that the
	// configs of one tenant take neither the requests of others nor their turns. The others follow later.
	reportsAtOnce      = 20
	reportsOfNamespace = 4
	// maxReports is how many Events wait for their turn at most, and maxReportsOf those of one namespace.
	maxReports, maxReportsOf = 2000, 50
)

// fanOutReports creates Events on configs, for their owners, who may not be those of the workloads: how far
// their content has come, what it has broken, and which annotations cannot be used. An Event takes a request to
// find the config, so nothing else waits for them.
type fanOutReports struct {
	gate       *gatekeeper
	configs    configEvents
	quarantine *quarantine.Set
	log        *slog.Logger

	mu      sync.Mutex
	waiting []configEvent
	of      map[string]int // how many wait, by namespace
	// dropped has the namespaces of Events that were dropped since the last look.
	dropped map[string]struct{}
	// problems are checksums of the problems that this leader has reported.
	problems noted[catalog.ConfigRef, uint64]

	reported map[gate.FanOut]reportedProgress // only the reporting goroutine uses it
}

// configEvent is an Event on a config that has not been created yet.
type configEvent struct {
	config                     catalog.ConfigRef
	eventType, reason, message string
}

// reportedProgress is what was reported of a fan-out last.
type reportedProgress struct {
	progress gate.Progress
	at       time.Time
}

func newFanOutReports(g *gatekeeper, configs configEvents, q *quarantine.Set, log *slog.Logger) *fanOutReports {
	r := &fanOutReports{
		gate: g, configs: configs, quarantine: q, log: log,
		of: make(map[string]int), dropped: make(map[string]struct{}), reported: make(map[gate.FanOut]reportedProgress),
	}
	g.report = r.note
	return r
}

// note creates an Event on a config soon, if it is one: what stands for the further halts of a namespace is none. The
// owner of a config that is shared with other namespaces hears nothing of the workloads there. It returns false if too
// many wait, which is logged once at each look: whoever causes Events can do that often.
func (r *fanOutReports) note(config catalog.ConfigRef, eventType, reason, message string) (isNoted bool) {
	if config.Kind == 0 || config.IsShared() {
		return true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.hasRoom(config.Namespace) {
		r.of[config.Namespace]++
		r.waiting = append(r.waiting, configEvent{config, eventType, reason, message})
		return true
	}
	if _, isLogged := r.dropped[config.Namespace]; !isLogged {
		r.dropped[config.Namespace] = struct{}{}
		r.log.Warn("too many Events on configs wait, dropping some", "config", config, "reason", reason, "message", message)
	}
	return false
}

// hasRoom reports whether another Event on a config of a namespace may wait. It must be called with the lock held.
func (r *fanOutReports) hasRoom(namespace string) bool {
	return len(r.waiting) < maxReports && r.of[namespace] < maxReportsOf
}

// take removes the Events whose turn it is, a few of each namespace, and returns them.
func (r *fanOutReports) take() (due []configEvent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.dropped)
	taken := make(map[string]int)
	var later []configEvent
	for _, e := range r.waiting {
		namespace := e.config.Namespace
		if len(due) >= reportsAtOnce || taken[namespace] >= reportsOfNamespace {
			later = append(later, e)
			continue
		}
		taken[namespace]++
		if r.of[namespace]--; r.of[namespace] == 0 {
			delete(r.of, namespace)
		}
		due = append(due, e)
	}
	r.waiting = later
	return due
}

// run reports until the context ends.
func (r *fanOutReports) run(ctx context.Context) {
	every(ctx, reportPeriod, func(now time.Time) {
		r.lookAtFanOuts(now)
		for _, e := range r.take() {
			r.quarantine.Try(quarantine.Delivery, nameOfConfig(e.config), func() {
				r.configs.event(ctx, e.config, e.eventType, e.reason, e.message)
			})
		}
	})
}

// lookAtFanOuts notes the progress of the fan-outs.
func (r *fanOutReports) lookAtFanOuts(now time.Time) {
	underWay, finished := r.gate.progress()
	for i := range finished {
		r.reportFinished(&finished[i], now)
	}
	r.reportEnded(underWay, finished)
	kept := make(map[gate.FanOut]reportedProgress)
	for i := range underWay {
		p := &underWay[i]
		last := r.reported[p.FanOut]
		if last.progress != *p && now.Sub(last.at) >= progressPeriod && isWorthReporting(p) {
			r.reportProgress(p)
			last = reportedProgress{*p, now}
		}
		kept[p.FanOut] = last
	}
	r.reported = kept
}

// isWorthReporting reports whether the owner of a config may want to know about a fan-out. Even if it concerns
// a single workload that waits, they need the id of the content to call it urgent.
func isWorthReporting(p *gate.Progress) bool { return p.Total() > 1 || p.Waiting > 0 }

func (r *fanOutReports) reportProgress(p *gate.Progress) {
	text := fmt.Sprintf("fan-out%s: %d of %d delivered, %d rolling", r.contentOf(p.FanOut), p.Proven, p.Total(), p.UnderWay)
	r.log.Info("fan-out is under way", "config", p.FanOut.Config, "delivered", p.Proven, "of", p.Total(), "rolling", p.UnderWay)
	r.note(p.FanOut.Config, corev1.EventTypeNormal, reasonFanOut, text)
}

// reportFinished reports a fan-out that reached everybody. One that did not is superseded or halted.
func (r *fanOutReports) reportFinished(p *gate.Progress, now time.Time) {
	took := now.Sub(p.Since).Round(time.Second)
	if p.Unserved > 0 {
		r.log.Info("fan-out is over", "config", p.FanOut.Config, "delivered", p.Delivered, "unserved", p.Unserved, "after", took.String())
		return
	}
	r.log.Info("fan-out is finished", "config", p.FanOut.Config, "delivered", p.Delivered, "after", took.String())
	text := fmt.Sprintf("finished: %d delivered in %s", p.Delivered, took)
	if others := p.Proven - p.Delivered; others > 0 { // such as those that a former leader has restarted
		text += fmt.Sprintf("; %d more ran with it before", others)
	}
	r.note(p.FanOut.Config, corev1.EventTypeNormal, reasonFanOut, text)
}

// reportEnded reports that nothing is left of fan-outs whose progress was reported last, unless they finished, or the config
// has another one.
func (r *fanOutReports) reportEnded(underWay, finished []gate.Progress) {
	told := make(map[catalog.ConfigRef]struct{})
	for id, last := range r.reported {
		if !last.at.IsZero() {
			told[id.Config] = struct{}{}
		}
	}
	for i := range underWay {
		delete(told, underWay[i].FanOut.Config)
	}
	for i := range finished {
		if finished[i].Unserved == 0 {
			delete(told, finished[i].FanOut.Config)
		}
	}
	for config := range told {
		r.note(config, corev1.EventTypeNormal, reasonFanOut, "ended: no restart for it is due or under way any more")
	}
}

// contentOf names the present content of a config, by which a person can call it urgent.
func (r *fanOutReports) contentOf(id gate.FanOut) string {
	if content := r.gate.catalog.ContentID(id.Config, nil); content != "" {
		return " of " + content
	}
	return ""
}
