package controller

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/policy"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/internal/quarantine"
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
	// countLimit is how long a look takes for fan-outs that have ended, and for the first report of those under way: each costs
	// a decision about each of its readers.
	countLimit = 200 * time.Millisecond
	// maxReports is how many Events wait for their turn at most, and maxReportsOf those of one namespace.
	maxReports, maxReportsOf = 2000, 50
	// maxUnfinished is of how many fan-outs of a namespace the end is told: anybody can begin very many.
	maxUnfinished = 1000
)

// fanOutReports creates Events on configs, for their owners, who may not be those of the workloads: how far
// their content has come, and what it has broken. An Event takes a request to find the config, so nothing else waits for them.
type fanOutReports struct {
	*notices
	gate       *gatekeeper
	evictions  *evictions
	configs    configEvents
	quarantine *quarantine.Set
	log        *slog.Logger

	// isUndecided reports whether it is not known yet whether a restart of a workload is due, or whether one that failed is
	// delivered after all.
	isUndecided func(names.WorkloadRef) bool

	// Only the reporting goroutine uses these. The limit is [countLimit], and usedUp has which of the looks a namespace has used
	// up last.
	reported map[gate.FanOut]reportedProgress
	limit    time.Duration
	looks    int
	usedUp   map[string]int
}

// reportedProgress is what was reported of a fan-out last.
type reportedProgress struct {
	progress gate.Progress
	at       time.Time
}

func newFanOutReports(news *notices, g *gatekeeper, e *evictions, isUndecided func(names.WorkloadRef) bool, configs configEvents, q *quarantine.Set, log *slog.Logger) *fanOutReports {
	return &fanOutReports{
		notices: news, gate: g, evictions: e, isUndecided: isUndecided, configs: configs, quarantine: q, log: log,
		reported: make(map[gate.FanOut]reportedProgress), limit: countLimit,
	}
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
	decided := r.decided() // before what is under way is read: what is decided about in between is in one of them
	underWay, finished := r.gate.progress()
	for i := range finished {
		r.reportFinished(&finished[i], now)
		if finished[i].Unserved == 0 { // otherwise its end is still to be told
			delete(decided, finished[i].FanOut.Config)
		}
	}
	for i := range underWay {
		delete(decided, underWay[i].FanOut.Config)
	}
	r.reportEnded(decided)
	kept, begin := make(map[gate.FanOut]reportedProgress), time.Now()
	for i := range underWay {
		p := &underWay[i]
		last := r.reported[p.FanOut]
		isDue := last.progress != *p && now.Sub(last.at) >= progressPeriod && isWorthReporting(p)
		if isDue && time.Since(begin) < r.limit && r.gate.knowsReaders(p.FanOut.Config) { // otherwise at a later look
			r.quarantine.Try(quarantine.Delivery, nameOfConfig(p.FanOut.Config), func() {
				counted := r.gate.countedProgress(*p)
				r.reportProgress(&counted)
				last = reportedProgress{counted, now}
			})
		}
		kept[p.FanOut] = last
	}
	r.reported = kept
}

// isWorthReporting reports whether the owner of a config may want to know about a fan-out. Even if it concerns
// a single workload that waits, they need the id of the content to call it urgent.
func isWorthReporting(p *gate.Progress) bool { return p.Total() > 1 || p.Waiting > 0 }

func (r *fanOutReports) reportProgress(p *gate.Progress) {
	text := fmt.Sprintf("fan-out%s: %s", r.contentOf(p.FanOut), r.gate.progressOf(*p))
	r.log.Info("fan-out is under way", "config", p.FanOut.Config, "delivered", p.Done(), "of", p.Total(), "rolling", p.UnderWay, "refused", p.Refused)
	if r.note(p.FanOut.Config, corev1.EventTypeNormal, reasonFanOut, text) {
		r.noteUnfinished(p.FanOut.Config, p.Since)
	}
}

// reportFinished reports a fan-out that reached everybody. One that did not is superseded or halted.
func (r *fanOutReports) reportFinished(p *gate.Progress, now time.Time) {
	began := r.gate.beginningOf(*p)
	took := now.Sub(began.Since).Round(time.Second).String()
	if began.AtLeast {
		took = "at least " + took
	}
	if p.Unserved > 0 {
		r.log.Info("fan-out is over", "config", p.FanOut.Config, "delivered", p.Delivered, "unserved", p.Unserved, "after", took)
		return
	}
	r.log.Info("fan-out is finished", "config", p.FanOut.Config, "delivered", p.Delivered, "after", took)
	text := fmt.Sprintf("finished: %d delivered in %s", p.Delivered, took)
	if others := p.Proven - p.Delivered; others > 0 { // a former leader may have restarted them, so it may have begun earlier
		text = fmt.Sprintf("finished: %d delivered; %d more ran with it before", p.Delivered, others)
	}
	if p.Mended > 0 {
		text += fmt.Sprintf("; %d more that lacked pods before", p.Mended)
	}
	if !r.note(p.FanOut.Config, corev1.EventTypeNormal, reasonFanOut, text) {
		r.noteUnfinished(p.FanOut.Config, p.Since) // its end is told at a later look
		return
	}
	r.noteOver(p.FanOut.Config)
}

// decided returns the fan-outs whose progress may be the last that was reported, if it is known of all readers whether they
// restart. Nothing is told of a config that is gone.
func (r *fanOutReports) decided() map[names.ConfigRef]time.Time {
	r.mu.Lock()
	decided := maps.Clone(r.unfinished)
	r.mu.Unlock()
	for config := range decided {
		if r.gate.catalog.Config(config) == nil && r.gate.knowsWhatExists(config.Kind, config.Namespace) {
			delete(decided, config)
			r.noteOver(config)
			continue
		}
		if !r.quarantine.Try(quarantine.Delivery, nameOfConfig(config), func() {
			if r.mayBeDue(config) {
				delete(decided, config)
			}
		}) {
			delete(decided, config)
			r.noteOver(config)
		}
	}
	return decided
}

// reportEnded reports that nothing is under way any more of fan-outs: a few of each namespace at once, and no more than there
// is time for, because each reader may read very many configs, or keys.
func (r *fanOutReports) reportEnded(ended map[names.ConfigRef]time.Time) {
	r.looks++
	begin := time.Now()
	for _, config := range r.inTurns(ended) {
		if r.haveWaiting(config.Namespace) >= reportsOfNamespace {
			continue // the ends of very many leave room for halts
		}
		isOver := true // also if it is left alone because of a panic
		r.quarantine.Try(quarantine.Delivery, nameOfConfig(config), func() {
			o := r.outcomeOf(config, ended[config])
			isOver = r.note(config, corev1.EventTypeNormal, reasonFanOut, o.text())
		})
		if isOver {
			r.noteOver(config)
		}
		if time.Since(begin) >= r.limit {
			r.usedUp[config.Namespace] = r.looks
			return // the others follow at a later look
		}
	}
}

// inTurns returns the configs of fan-outs, those last whose namespace has used up a look last: there may be many that take long.
func (r *fanOutReports) inTurns(ended map[names.ConfigRef]time.Time) []names.ConfigRef {
	usedUp := make(map[string]int)
	r.mu.Lock()
	for config := range r.unfinished { // also while it is undecided, which its readers' owners can make it
		usedUp[config.Namespace] = r.usedUp[config.Namespace]
	}
	r.mu.Unlock()
	r.usedUp = usedUp
	return slices.SortedFunc(maps.Keys(ended), func(a, b names.ConfigRef) int { return usedUp[a.Namespace] - usedUp[b.Namespace] })
}

// text describes how a fan-out ended.
func (o *outcome) text() string {
	if o.isCut {
		return fmt.Sprintf("ended: no restart for it is under way any more; at least %d delivered, not all were counted because that takes long", o.delivered)
	}
	how, delivered, lacking := "ended: no restart for it is due or under way any more", "", ""
	if o.due > 0 { // which may be those that failed
		how = fmt.Sprintf("ended: no restart for it is under way any more; %d not restarted", o.due)
	}
	if o.delivered > 0 {
		delivered = fmt.Sprintf("at least %d delivered", o.delivered)
	}
	if o.lacking > 0 {
		lacking = fmt.Sprintf("%d restarted and lack pods", o.lacking)
	}
	if o.delivered > 0 && o.due == 0 && o.unwell == 0 {
		return "finished: " + delivered
	}
	return joinProblems(how, delivered, lacking)
}

func (r *fanOutReports) mayBeDue(config names.ConfigRef) bool {
	return slices.ContainsFunc(r.gate.catalog.WorkloadsReferencing(config), func(w *workload.Workload) bool { return r.isUndecided(w.Ref) })
}

// outcome is how many workloads restarted for the present content of a config and run, how many have earlier content and would
// restart, how many restarted for it at any time and do not run as far as is known, and how many of those lack pods.
type outcome struct {
	delivered, due, unwell, lacking int
	isCut                           bool // counting took too long
}

// outcomeOf tells the outcome of a fan-out that began at the given time. What restarted before the last edit that it can see has
// other content, or that edit was taken back and it did not restart for it.
func (r *fanOutReports) outcomeOf(config names.ConfigRef, began time.Time) (o outcome) {
	begin := time.Now()
	for _, w := range r.gate.catalog.WorkloadsReferencing(config) {
		if time.Since(begin) > r.limit { // a decision about a single reader can take as long
			o.isCut = true
			return o
		}
		isFor := func(r record.Restarted) bool { return r.Config == config }
		view, isEnabled := r.gate.catalog.View(w.Ref)
		switch delivered := deliveredAt(w); {
		case isEnabled && decide.Decide(view).Outcome == decide.Restart:
			o.due++
		case !slices.ContainsFunc(w.Applied.RestartedFor, isFor):
		case w.Evict > 0 && !r.arePodsWhole(w): // the pods that are left have not restarted
			o.due++
		case !w.Rollout.IsWhole():
			o.unwell++
			if w.LacksPods() {
				o.lacking++
			}
		case !delivered.Before(began) && !delivered.Before(r.gate.catalog.EditedFor(w, config)):
			o.delivered++
		}
	}
	return o
}

// arePodsWhole reports whether no pod is left of a restart by eviction.
func (r *fanOutReports) arePodsWhole(w *workload.Workload) bool {
	shown, _ := r.evictions.statusOf(w)
	return shown.Rollout.IsWhole()
}

// deliveredAt returns when the restart was made that a workload runs with, zero if there is none. Once all pods are evicted, only
// the record shows it.
func deliveredAt(w *workload.Workload) time.Time {
	if w.Method() == policy.ByEviction && w.Evict == 0 && w.Applied.Trusted {
		return w.Applied.Written
	}
	return restartedAt(w)
}

// contentOf names the present content of a config, by which a person can call it urgent.
func (r *fanOutReports) contentOf(id gate.FanOut) string {
	if content := r.gate.catalog.ContentID(id.Config, nil); content != "" {
		return " of " + content
	}
	return ""
}
