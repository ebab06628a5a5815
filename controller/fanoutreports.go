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
)

const (
	// reportPeriod is how often the fan-outs are looked at. An Event reports that one is under way at the first
	// look, and its progress every progressPeriod at most.
	reportPeriod   = 5 * time.Second
	progressPeriod = time.Minute
	// reportsAtOnce and reportsOfNamespace are how many Events there are at a look at most, so that the
	// configs of one tenant take neither the requests of others nor their turns. The others follow later.
	reportsAtOnce      = 10
	reportsOfNamespace = 2
)

// fanOutReports reports to the owners of configs how far their content has come, and which of their
// annotations cannot be used. An Event takes a request, so nothing else waits for them.
type fanOutReports struct {
	gate    *gatekeeper
	configs configEvents
	log     *slog.Logger

	mu       sync.Mutex
	problems map[catalog.ConfigRef]struct{} // the configs whose annotations have changed

	// Only the reporting goroutine uses these: what was reported last, the fan-outs whose end has not been
	// reported, and how many Events there were in this look, also by namespace.
	reported map[gate.FanOut]reportedProgress
	finished []finishedFanOut
	events   int
	eventsIn map[string]int
}

// finishedFanOut is a fan-out that is over.
type finishedFanOut struct {
	gate.Progress
	took time.Duration
}

// reportedProgress is what was reported of a fan-out last.
type reportedProgress struct {
	progress gate.Progress
	at       time.Time
}

// noteProblem notes that the annotations of a config have changed.
func (r *fanOutReports) noteProblem(ref catalog.ConfigRef) {
	if r.gate.problemOfConfig(ref) == "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.problems[ref] = struct{}{}
}

// takeProblem removes a config from those with other annotations, if an Event about it may be created now.
func (r *fanOutReports) takeProblem() (ref catalog.ConfigRef, found bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for ref := range r.problems {
		if r.mayReport(ref) {
			delete(r.problems, ref)
			return ref, true
		}
	}
	return catalog.ConfigRef{}, false
}

// mayReport reports whether another Event on a config may be created in this look.
func (r *fanOutReports) mayReport(ref catalog.ConfigRef) bool {
	return r.events < reportsAtOnce && r.eventsIn[ref.Namespace] < reportsOfNamespace
}

func (r *fanOutReports) event(ctx context.Context, ref catalog.ConfigRef, eventType, reason, message string) {
	r.events++
	r.eventsIn[ref.Namespace]++
	r.configs.event(ctx, ref, eventType, reason, message)
}

// run reports until the context ends.
func (r *fanOutReports) run(ctx context.Context) {
	r.reported = make(map[gate.FanOut]reportedProgress)
	ticker := time.NewTicker(reportPeriod)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			r.gate.tick(now)
			r.report(ctx, now)
		}
	}
}

func (r *fanOutReports) report(ctx context.Context, now time.Time) {
	r.events, r.eventsIn = 0, make(map[string]int)
	for ref, found := r.takeProblem(); found; ref, found = r.takeProblem() {
		if problem := r.gate.problemOfConfig(ref); problem != "" {
			r.log.Warn("cannot use an annotation of a config", "config", ref, "problem", problem)
			r.event(ctx, ref, corev1.EventTypeWarning, reasonInvalid, problem)
		}
	}
	underWay, finished := r.gate.progress()
	for _, p := range finished {
		r.finished = append(r.finished, finishedFanOut{p, now.Sub(p.Since).Round(time.Second)})
	}
	r.reportFinished(ctx)
	kept := make(map[gate.FanOut]reportedProgress)
	for i := range underWay {
		p := &underWay[i]
		last := r.reported[p.FanOut]
		if last.progress != *p && now.Sub(last.at) >= progressPeriod && isWorthReporting(p) && r.mayReport(p.FanOut.Config) {
			r.reportProgress(ctx, p)
			last = reportedProgress{*p, now}
		}
		kept[p.FanOut] = last
	}
	r.reported = kept
}

// isWorthReporting reports whether the owner of a config may want to know about a fan-out. Even if it concerns
// a single workload that waits, they need the id of the content to call it urgent.
func isWorthReporting(p *gate.Progress) bool { return p.Total() > 1 || p.Waiting > 0 }

func (r *fanOutReports) reportProgress(ctx context.Context, p *gate.Progress) {
	text := fmt.Sprintf("fan-out%s: %d of %d delivered, %d rolling", r.contentOf(p.FanOut), p.Proven, p.Total(), p.UnderWay)
	r.log.Info("fan-out is under way", "config", p.FanOut.Config, "delivered", p.Proven, "of", p.Total(), "rolling", p.UnderWay)
	r.event(ctx, p.FanOut.Config, corev1.EventTypeNormal, reasonFanOut, text)
}

// maxFinished is how many fan-outs are remembered at most whose end has not been reported.
const maxFinished = 1000

func (r *fanOutReports) reportFinished(ctx context.Context) {
	var later []finishedFanOut
	for _, f := range r.finished {
		switch config := f.FanOut.Config; {
		case r.mayReport(config):
			r.log.Info("fan-out is finished", "config", config, "delivered", f.Delivered, "after", f.took.String())
			r.event(ctx, config, corev1.EventTypeNormal, reasonFanOut, fmt.Sprintf("finished: %d delivered in %s", f.Delivered, f.took))
		case len(later) < maxFinished:
			later = append(later, f)
		}
	}
	r.finished = later
}

// contentOf names the present content of a config, by which a person can call it urgent.
func (r *fanOutReports) contentOf(id gate.FanOut) string {
	if content := r.gate.catalog.ContentID(id.Config, nil); content != "" {
		return " of " + content
	}
	return ""
}
