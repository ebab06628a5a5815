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
)

// fanOutReports reports to the owners of configs how far their content has come, and which of their
// annotations cannot be used. An Event takes a request, so nothing else waits for them.
type fanOutReports struct {
	gate   *gatekeeper
	events configEvents
	log    *slog.Logger

	mu       sync.Mutex
	problems map[catalog.ConfigRef]struct{} // the configs whose annotations have changed

	reported map[gate.FanOut]reportedProgress // only the reporting goroutine uses it
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

func (r *fanOutReports) takeProblems() map[catalog.ConfigRef]struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	problems := r.problems
	r.problems = make(map[catalog.ConfigRef]struct{})
	return problems
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
	for ref := range r.takeProblems() {
		if problem := r.gate.problemOfConfig(ref); problem != "" {
			r.log.Warn("cannot use an annotation of a config", "config", ref, "problem", problem)
			r.events.event(ctx, ref, corev1.EventTypeWarning, reasonInvalid, problem)
		}
	}
	underWay, finished := r.gate.progress()
	for i := range finished {
		r.reportFinished(ctx, &finished[i], now)
	}
	kept := make(map[gate.FanOut]reportedProgress)
	for i := range underWay {
		p := &underWay[i]
		last := r.reported[p.FanOut]
		if last.progress != *p && now.Sub(last.at) >= progressPeriod && p.Total() > 1 {
			r.reportProgress(ctx, p)
			last = reportedProgress{*p, now}
		}
		kept[p.FanOut] = last
	}
	r.reported = kept
}

func (r *fanOutReports) reportProgress(ctx context.Context, p *gate.Progress) {
	text := fmt.Sprintf("fan-out%s: %d of %d delivered, %d rolling", r.contentOf(p.FanOut), p.Proven, p.Total(), p.UnderWay)
	r.log.Info("fan-out is under way", "config", p.FanOut.Config, "delivered", p.Proven, "of", p.Total(), "rolling", p.UnderWay)
	r.events.event(ctx, p.FanOut.Config, corev1.EventTypeNormal, reasonFanOut, text)
}

func (r *fanOutReports) reportFinished(ctx context.Context, p *gate.Progress, now time.Time) {
	took := now.Sub(p.Since).Round(time.Second)
	r.log.Info("fan-out is finished", "config", p.FanOut.Config, "delivered", p.Delivered, "after", took.String())
	r.events.event(ctx, p.FanOut.Config, corev1.EventTypeNormal, reasonFanOut, fmt.Sprintf("finished: %d delivered in %s", p.Delivered, took))
}

// contentOf names the present content of a config, by which a person can call it urgent.
func (r *fanOutReports) contentOf(id gate.FanOut) string {
	if content := r.gate.catalog.ContentID(id.Config, nil); content != "" {
		return " of " + content
	}
	return ""
}
