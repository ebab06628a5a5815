package fanout

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
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/events"
	"kubernetes-deployment-restart-controller/controller/follow"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/controller/gatekeeper"
	"kubernetes-deployment-restart-controller/controller/kinds"
	"kubernetes-deployment-restart-controller/controller/run"
	"kubernetes-deployment-restart-controller/controller/wording"
	"kubernetes-deployment-restart-controller/internal/quarantine"
)

const (
	// ReportPeriod is how often the fan-outs are looked at. An Event reports that one is under way at the first
	// look, and its progress every ProgressPeriod at most.
	ReportPeriod = 5 * time.Second
	// ProgressPeriod is how often the progress of a fan-out is reported at most.
	ProgressPeriod = time.Minute
	// countLimit is how long a look takes for fan-outs that have ended, and for the first report of those under way: each costs
	// a decision about each of its readers.
	countLimit = 200 * time.Millisecond
)

// Reports creates Events on configs, for their owners, who may not be those of the workloads: how far
// their content has come, and what it has broken. An Event takes a request to find the config, so nothing else waits for them.
type Reports struct {
	*gatekeeper.Notices
	gate       *gatekeeper.Gatekeeper
	evictions  *follow.Evictions
	Configs    ConfigEvents
	quarantine *quarantine.Set
	Log        *slog.Logger

	// IsUndecided reports whether it is not known yet whether a restart of a workload is due, or whether one that failed is
	// delivered after all.
	IsUndecided func(names.WorkloadRef) bool

	// Only the reporting goroutine uses these. The limit is [countLimit], and UsedUp has which of the looks a namespace has used
	// up last.
	reported map[gate.FanOut]reportedProgress
	Limit    time.Duration
	looks    int
	UsedUp   map[string]int
}

// reportedProgress is what was reported of a fan-out last.
type reportedProgress struct {
	progress gate.Progress
	at       time.Time
}

// NewReports reports on fan-outs from now on. The function isUndecided reports whether it is not known yet whether a restart of a workload is due, or delivered.
func NewReports(news *gatekeeper.Notices, g *gatekeeper.Gatekeeper, e *follow.Evictions, isUndecided func(names.WorkloadRef) bool, configs ConfigEvents, q *quarantine.Set, log *slog.Logger) *Reports {
	return &Reports{
		Notices: news, gate: g, evictions: e, IsUndecided: isUndecided, Configs: configs, quarantine: q, Log: log,
		reported: make(map[gate.FanOut]reportedProgress), Limit: countLimit,
	}
}

// Run reports until the context ends.
func (r *Reports) Run(ctx context.Context) {
	run.Every(ctx, ReportPeriod, func(now time.Time) {
		r.LookAtFanOuts(now)
		for _, e := range r.Take() {
			r.quarantine.Try(quarantine.Delivery, kinds.NameOfConfig(e.Config), func() {
				r.Configs.Event(ctx, e.Config, e.EventType, e.Reason, e.Message)
			})
		}
	})
}

// LookAtFanOuts notes the progress of the fan-outs.
func (r *Reports) LookAtFanOuts(now time.Time) {
	decided := r.decided() // before what is under way is read: what is decided about in between is in one of them
	underWay, finished := r.gate.Progress()
	for i := range finished {
		r.ReportFinished(&finished[i], now)
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
		isDue := last.progress != *p && now.Sub(last.at) >= ProgressPeriod && isWorthReporting(p)
		if isDue && time.Since(begin) < r.Limit && r.gate.KnowsReaders(p.FanOut.Config) { // otherwise at a later look
			r.quarantine.Try(quarantine.Delivery, kinds.NameOfConfig(p.FanOut.Config), func() {
				counted := r.gate.CountedProgress(*p)
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

func (r *Reports) reportProgress(p *gate.Progress) {
	f := r.gate.FanOutOf(*p)
	text := fmt.Sprintf("fan-out%s: %s", r.contentOf(p.FanOut), f.Progress())
	r.Log.Info("fan-out is under way", "config", p.FanOut.Config, "delivered", p.Done(), "of", p.Total(), "rolling", p.UnderWay, "refused", p.Refused)
	if r.Note(p.FanOut.Config, corev1.EventTypeNormal, events.FanOut, text) {
		r.NoteUnfinished(p.FanOut.Config, p.Since)
	}
}

// ReportFinished reports a fan-out that reached everybody. One that did not is superseded or halted.
func (r *Reports) ReportFinished(p *gate.Progress, now time.Time) {
	began := r.gate.FanOutOf(*p).Beginning
	took := now.Sub(began.Since).Round(time.Second).String()
	if began.AtLeast {
		took = "at least " + took
	}
	if p.Unserved > 0 {
		r.Log.Info("fan-out is over", "config", p.FanOut.Config, "delivered", p.Delivered, "unserved", p.Unserved, "after", took)
		return
	}
	r.Log.Info("fan-out is finished", "config", p.FanOut.Config, "delivered", p.Delivered, "after", took)
	text := fmt.Sprintf("finished: %d delivered in %s", p.Delivered, took)
	if others := p.Proven - p.Delivered; others > 0 { // a former leader may have restarted them, so it may have begun earlier
		text = fmt.Sprintf("finished: %d delivered; %d more ran with it before", p.Delivered, others)
	}
	if p.Mended > 0 {
		text += fmt.Sprintf("; %d more of which no pod ran before", p.Mended)
	}
	if !r.Note(p.FanOut.Config, corev1.EventTypeNormal, events.FanOut, text) {
		r.NoteUnfinished(p.FanOut.Config, p.Since) // its end is told at a later look
		return
	}
	r.NoteOver(p.FanOut.Config)
}

// decided returns the fan-outs whose progress may be the last that was reported, if it is known of all readers whether they
// restart. Nothing is told of a config that is gone.
func (r *Reports) decided() map[names.ConfigRef]time.Time {
	r.Mu.Lock()
	decided := maps.Clone(r.Unfinished)
	r.Mu.Unlock()
	for config := range decided {
		if r.gate.Catalog.Config(config) == nil && r.gate.KnowsWhatExists(config.Kind, config.Namespace) {
			delete(decided, config)
			r.NoteOver(config)
			continue
		}
		if !r.quarantine.Try(quarantine.Delivery, kinds.NameOfConfig(config), func() {
			if r.mayBeDue(config) {
				delete(decided, config)
			}
		}) {
			delete(decided, config)
			r.NoteOver(config)
		}
	}
	return decided
}

// reportEnded reports that nothing is under way any more of fan-outs: a few of each namespace at once, and no more than there
// is time for, because each reader may read very many configs, or keys.
func (r *Reports) reportEnded(ended map[names.ConfigRef]time.Time) {
	r.looks++
	begin := time.Now()
	for _, config := range r.inTurns(ended) {
		if r.HaveWaiting(config.Namespace) >= gatekeeper.ReportsOfNamespace {
			continue // the ends of very many leave room for halts
		}
		isOver := true // also if it is left alone because of a panic
		r.quarantine.Try(quarantine.Delivery, kinds.NameOfConfig(config), func() {
			o := r.OutcomeOf(config, ended[config])
			isOver = r.Note(config, corev1.EventTypeNormal, events.FanOut, o.text())
		})
		if isOver {
			r.NoteOver(config)
		}
		if time.Since(begin) >= r.Limit {
			r.UsedUp[config.Namespace] = r.looks
			return // the others follow at a later look
		}
	}
}

// inTurns returns the configs of fan-outs, those last whose namespace has used up a look last: there may be many that take long.
func (r *Reports) inTurns(ended map[names.ConfigRef]time.Time) []names.ConfigRef {
	usedUp := make(map[string]int)
	r.Mu.Lock()
	for config := range r.Unfinished { // also while it is undecided, which its readers' owners can make it
		usedUp[config.Namespace] = r.UsedUp[config.Namespace]
	}
	r.Mu.Unlock()
	r.UsedUp = usedUp
	return slices.SortedFunc(maps.Keys(ended), func(a, b names.ConfigRef) int { return usedUp[a.Namespace] - usedUp[b.Namespace] })
}

// text describes how a fan-out ended.
func (o *Outcome) text() string {
	if o.isCut {
		return fmt.Sprintf("ended: no restart for it is under way any more; at least %d delivered, not all were counted because that takes long", o.Delivered)
	}
	how, delivered, lacking := "ended: no restart for it is due or under way any more", "", ""
	if o.Due > 0 { // which may be those that failed
		how = fmt.Sprintf("ended: no restart for it is under way any more; %d not restarted", o.Due)
	}
	if o.Delivered > 0 {
		delivered = fmt.Sprintf("at least %d delivered", o.Delivered)
	}
	if o.lacking > 0 {
		lacking = fmt.Sprintf("%d restarted and lack pods", o.lacking)
	}
	if o.Delivered > 0 && o.Due == 0 && o.unwell == 0 {
		return "finished: " + delivered
	}
	return wording.JoinProblems(how, delivered, lacking)
}

func (r *Reports) mayBeDue(config names.ConfigRef) bool {
	return slices.ContainsFunc(r.gate.Catalog.WorkloadsReferencing(config), func(w *workload.Workload) bool { return r.IsUndecided(w.Ref) })
}

// Outcome is how many workloads restarted for the present content of a config and run, how many have earlier content and would
// restart, how many restarted for it at any time and do not run as far as is known, and how many of those lack pods.
type Outcome struct {
	Delivered, Due, unwell, lacking int
	isCut                           bool // counting took too long
}

// OutcomeOf tells the outcome of a fan-out that began at the given time. What restarted before the last edit that it can see has
// other content, or that edit was taken back and it did not restart for it.
func (r *Reports) OutcomeOf(config names.ConfigRef, began time.Time) (o Outcome) {
	begin := time.Now()
	for _, w := range r.gate.Catalog.WorkloadsReferencing(config) {
		if time.Since(begin) > r.Limit { // a decision about a single reader can take as long
			o.isCut = true
			return o
		}
		isFor := func(r record.Restarted) bool { return r.Config == config }
		view, isEnabled := r.gate.Catalog.View(w.Ref)
		switch delivered := follow.DeliveredAt(w); {
		case isEnabled && decide.Decide(view).Outcome == decide.Restart:
			o.Due++
		case !slices.ContainsFunc(w.Record.RestartedFor, isFor):
		case w.Record.Evict > 0 && !r.arePodsWhole(w): // the pods that are left have not restarted
			o.Due++
		case !w.Rollout.IsWhole():
			o.unwell++
			if w.LacksPods() {
				o.lacking++
			}
		case !delivered.Before(began) && !delivered.Before(r.gate.Catalog.EditedFor(w, config)):
			o.Delivered++
		}
	}
	return o
}

// arePodsWhole reports whether no pod is left of a restart by eviction.
func (r *Reports) arePodsWhole(w *workload.Workload) bool {
	shown, _ := r.evictions.StatusOf(w)
	return shown.Rollout.IsWhole()
}

// contentOf names the present content of a config, by which a person can call it urgent.
func (r *Reports) contentOf(id gate.FanOut) string {
	if content := r.gate.Catalog.ContentID(id.Config, nil); content != "" {
		return " of " + content
	}
	return ""
}
