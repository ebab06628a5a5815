package controller

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/internal/brief"
	"kubernetes-deployment-restart-controller/internal/quarantine"
	"kubernetes-deployment-restart-controller/internal/status"
)

// What is under way, for people and tools. Nothing is decided here, and no request is made: the catalog, the
// queue of changes, the gate and those that follow restarts are asked. Each is asked on its own, so a workload
// that moves on meanwhile may show up twice, or not at all.

// Leads reports whether this process acts.
func (b *board) Leads() bool { return b.role.leads() }

// Overview returns what is under way in a namespace, or in all if it is empty. Its cost grows with what is under way,
// its size does not.
func (b *board) Overview(namespace string, now time.Time) *status.Overview {
	o := &status.Overview{Time: now.UTC(), Leads: b.Leads(), DryRun: b.role.dryRun, Namespace: namespace}
	o.Configs, o.Workloads = b.catalog.Size()
	o.Kinds = b.kindsAsked()
	o.Mistakes = b.mistakes.in(namespace)
	lists := newEntryLists(namespace, &b.absences.of, func(ref names.WorkloadRef) bool { _, isAlone := b.standingAlone(ref); return isAlone })
	if o.Leads {
		b.changes.each(func(ref names.WorkloadRef, changes map[fmt.Stringer]*pendingChange) {
			if _, waits := b.restarter.State(ref); !waits { // otherwise it is in the list of what it waits for
				lists.addPending(ref, changes)
			}
		})
		b.restarter.backlogs.each(lists.addBacklog)
		b.deliveries.each(lists.addRolling)
		b.evictions.each(func(ref names.WorkloadRef, row eviction) { b.addEviction(lists, ref, &row) })
		lists.addLacking()
		for _, ref := range b.resting.unsettled.those(namespace) {
			if _, lacks := lists.lacking.find(ref.Namespace, ref); lacks { // and what it lacks takes long to find
				continue
			}
			if s := b.standingOf(ref); s.state == status.Unready {
				lists.of[status.Unready].Add(s)
			}
		}
		b.addAlone(lists)
	}
	list := func(state status.State) status.List[status.Entry] { return status.ListOf(lists.of[state], b.entry) }
	o.Pending, o.Waiting, o.Held = list(status.Pending), list(status.Waiting), list(status.Held)
	o.Slowed, o.Rolling, o.Failed, o.Retrying = list(status.Slowed), list(status.Rolling), list(status.Failed), list(status.Retrying)
	o.Unready, o.LeftAlone = list(status.Unready), list(status.LeftAlone)
	o.Lacking = status.ListOf(lists.of[status.Lacking], func(s standing) status.Entry {
		if a, isOne := b.absences.find(s.ref); isOne {
			s = standingOfAbsence(s.ref, a) // with what is not kept of it
		}
		e := b.entry(s)
		b.quarantine.Try(quarantine.Metrics, nameOfWorkload(s.ref), func() { e.Due = b.dueBesides(s.ref) })
		return e
	})
	o.FanOuts, o.Halts, o.AllHeld = b.gate.overview(o.Leads, namespace)
	o.Restarts = b.deliveries.history.all(namespace)
	o.Holds = holdsIn(namespace, b.catalog)
	return o
}

// dueBesides says which restart is due of a workload that lacks a config, and what it waits for; empty if none is known to be.
func (b *board) dueBesides(ref names.WorkloadRef) string {
	w, waits := b.restarter.backlogs.of(ref)
	if !waits || !w.due {
		return ""
	}
	view, found := b.catalog.View(ref)
	if !found {
		return ""
	}
	text := "a restart is due since " + w.since.UTC().Format(time.RFC3339)
	isMark := w.failure.isMark()
	switch {
	case w.failure.problem != "" && !isMark:
		text += " and its last attempt failed: " + w.failure.problem
	case w.putOff == gate.Missing:
		text += " and waits for it"
	case w.putOff != "":
		text += " and waits (" + string(w.putOff) + ")"
	}
	if decision := decide.Decide(view); decision.Outcome == decide.Restart {
		text += ", because " + describe(decision)
	}
	if isMark {
		text += "; " + w.failure.problem
	}
	return brief.Text(text)
}

// Watches returns what the controller sees of a namespace, or of all if it is empty.
func (b *board) Watches(namespace string) *status.Shortlist[status.Watch] {
	list := status.NewWatches()
	for _, w := range b.watching.all {
		if namespace == "" || w.shows(namespace) {
			list.Add(w.status())
		}
	}
	return list
}

// waitedFor is what a restart waits for that the gate does not let begin.
type waitedFor struct {
	config names.ConfigRef // of the fan-out or halt
	text   string          // in the words of those who hold it, or whose window it is
}

func waitedForBy(answer *gate.Answer) waitedFor {
	switch {
	case answer.Reason == gate.SlowStart:
		return waitedFor{config: answer.FanOut.Config}
	case answer.Halt != nil && answer.Halt.Config.Kind == 0: // the further halts of a namespace
		return waitedFor{text: describeWait(*answer)}
	case answer.Halt != nil:
		return waitedFor{config: answer.Halt.Config}
	}
	return waitedFor{text: answer.Text}
}

// standing is what one workload waits for.
type standing struct {
	ref          names.WorkloadRef
	state        status.State
	since, until time.Time
	restarted    time.Time // if it has failed
	atLeast      bool      // it may have begun before since
	reason       gate.Reason
	by           waitedFor
	isExposed    bool
	subjects     [maxSubjects]fmt.Stringer // the first configs that changed, if it is pending; the others are nil
	restart      *decide.Decision          // what it restarts for, if it rolls and is followed
	failure      failedAttempts
}

// compareStandings puts those first that have waited longest, as far as that is known.
func compareStandings(a, b standing) int {
	isUnknown := func(s standing) int {
		if s.since.IsZero() {
			return 1
		}
		return 0
	}
	return cmp.Or(isUnknown(a)-isUnknown(b), a.since.Compare(b.since), cmp.Compare(a.ref.Namespace, b.ref.Namespace), cmp.Compare(a.ref.Name, b.ref.Name), cmp.Compare(a.ref.Kind, b.ref.Kind))
}

// entryLists are short lists of the workloads of a namespace, those that have waited longest first.
type entryLists struct {
	namespace string // empty for all
	of        map[status.State]*status.Shortlist[standing]
	// lacking are the workloads that lack a config. Unless they have failed, that matters more than what they wait for.
	lacking *noted[names.WorkloadRef, absence]
	failed  map[names.WorkloadRef]struct{} // those of them
	// isAlone reports whether a workload is left alone, which waits for nothing else.
	isAlone func(names.WorkloadRef) bool
}

func newEntryLists(namespace string, lacking *noted[names.WorkloadRef, absence], isAlone func(names.WorkloadRef) bool) entryLists {
	lists := entryLists{namespace, make(map[status.State]*status.Shortlist[standing]), lacking, make(map[names.WorkloadRef]struct{}), isAlone}
	for _, state := range []status.State{status.Pending, status.Waiting, status.Held, status.Slowed, status.Rolling, status.Failed, status.Retrying, status.Lacking, status.Unready, status.LeftAlone} {
		lists.of[state] = status.NewShortlist(compareStandings)
	}
	return lists
}

func (l entryLists) add(s standing) {
	if !isInside(l.namespace, s.ref.Namespace) {
		return
	}
	state := s.state
	if state != status.Rolling && state != status.Failed && l.isAlone(s.ref) {
		return
	}
	if state == status.Deciding {
		state = status.Waiting
	}
	if _, lacks := l.lacking.find(s.ref.Namespace, s.ref); lacks {
		if state != status.Failed {
			return
		}
		l.failed[s.ref] = struct{}{}
	}
	l.of[state].Add(s)
}

// addLacking adds the workloads that lack a config and have not failed, after all others.
func (l entryLists) addLacking() {
	l.lacking.each(l.namespace, func(ref names.WorkloadRef, a absence) {
		if _, hasFailed := l.failed[ref]; !hasFailed {
			l.of[status.Lacking].Add(standingOfAbsence(ref, a))
		}
	})
}

// isInside reports whether a namespace is the one that an overview is about, or one of all if that is empty.
func isInside(asked, namespace string) bool { return asked == "" || namespace == asked }

// concerns reports whether a config is in a namespace, or has copies in many.
func concerns(asked string, config names.ConfigRef) bool {
	return isInside(asked, config.Namespace) || gate.IsGroup(config)
}

func (l entryLists) addPending(ref names.WorkloadRef, changes map[fmt.Stringer]*pendingChange) {
	l.add(standingOfChanges(ref, changes))
}
func (l entryLists) addBacklog(ref names.WorkloadRef, w backlog) { l.add(standingOfBacklog(ref, &w)) }
func (l entryLists) addRolling(ref names.WorkloadRef, r *rollingRestart) {
	l.add(standingOfRestart(ref, r))
}

// maxSubjects is how many changed configs are named.
const maxSubjects = 3

func standingOfChanges(ref names.WorkloadRef, changes map[fmt.Stringer]*pendingChange) standing {
	s := standing{ref: ref, state: status.Pending}
	for _, change := range changes {
		if s.since.IsZero() || change.Since.Before(s.since) {
			s.since = change.Since
		}
		if s.until.IsZero() || change.Due.Before(s.until) {
			s.until = change.Due
		}
		if _, isConfig := change.Subject.(names.ConfigRef); isConfig {
			s.addSubject(change.Subject)
		}
	}
	return s
}

// addSubject adds a config that changed if it is one of the first in their order, so that the same ones are named each
// time.
func (s *standing) addSubject(config fmt.Stringer) {
	for i, known := range s.subjects {
		if known == nil || compareConfigs(config.(names.ConfigRef), known.(names.ConfigRef)) < 0 {
			copy(s.subjects[i+1:], s.subjects[i:])
			s.subjects[i] = config
			return
		}
	}
}

func standingOfBacklog(ref names.WorkloadRef, w *backlog) standing {
	s := standing{ref: ref, state: status.Deciding, since: w.putOffSince, until: w.owed, atLeast: w.atLeast, reason: w.putOff, by: w.putOffBy, isExposed: w.isExposed, failure: w.failure}
	isMark := w.failure.isMark()
	switch hasFailed := w.failure.problem != "" && !isMark; {
	case w.putOff == gate.Backoff:
		s.state = status.Slowed
	case w.putOff.IsHold():
		s.state, s.since = status.Held, w.heldSince
	case hasFailed: // whoever has the turn meanwhile
		s.state, s.since, s.until = status.Retrying, w.failure.since, w.failure.next
		s.atLeast = s.atLeast || w.failure.atLeast
	case w.putOff != "":
		s.state = status.Waiting
	default:
		s.since, s.until = w.since, time.Time{}
	}
	if s.state != status.Retrying && !isMark { // it is not tried, so why attempts failed may be gone
		s.failure = failedAttempts{}
	}
	if w.putOff == "" {
		s.by = waitedFor{text: w.failure.unknown}
	}
	return s
}

func standingOfRestart(ref names.WorkloadRef, r *rollingRestart) standing {
	s := standing{ref: ref, state: status.Rolling, since: r.began, restart: &r.decision}
	if r.hasFailed {
		s.state, s.since, s.restarted = status.Failed, r.failed, r.began
	}
	if r.isUndated {
		s.since = time.Time{}
	}
	return s
}

// lastError returns the error of the last attempt that failed, with since when they fail if the workload waits for something else.
func (s *standing) lastError() string {
	if s.failure.problem == "" || s.state == status.Retrying {
		return s.failure.problem
	}
	since := " (failing since "
	if s.failure.atLeast {
		since = " (failing at least since "
	}
	return s.failure.problem + since + s.failure.since.UTC().Format(time.RFC3339) + ")"
}

// entry completes what is known about a workload.
func (b *board) entry(s standing) status.Entry {
	e := status.Entry{
		Workload: s.ref.String(), State: s.state, Reason: string(s.reason), Text: s.by.text,
		Beginning: status.Beginning{Since: s.since.UTC(), AtLeast: s.atLeast}, Until: s.until.UTC(), Exposed: s.isExposed, Error: s.lastError(), Remedy: s.failure.remedy, Attempts: s.failure.count, OnlyRecord: s.failure.record != nil,
	}
	if s.state == status.Lacking || s.reason == gate.Missing {
		e.Remedy = status.CreateConfig
	}
	if s.by.config != (names.ConfigRef{}) {
		e.On = s.by.config.String()
	}
	e.For = strings.Join(s.changed(), ", ")
	if s.restart != nil {
		e.For = causeNote(*s.restart)
	}
	w := b.catalog.Workload(s.ref)
	if w != nil && s.state == status.Unready {
		e.Pods, e.Remedy = podsOf(w), status.LookAtPods
	}
	if w == nil || s.restart == nil && s.state != status.Rolling {
		return e
	}
	if s.restart == nil {
		e.For = causeNote(recordedFor(w))
	}
	w = b.shown(w)
	e.State, e.Pods = s.stateOf(w), podsOf(w)
	b.noteEviction(&e, s.ref)
	if e.State == status.Failed {
		e.Restarted = s.restarted.UTC()
	}
	if e.State == status.Failed && e.Reason == "" {
		e.Text = b.deliveries.history.whyOf(s.ref)
		if w.Rollout.IsWhole() {
			e.Text = fmt.Sprintf("all its pods run now, and it has recovered if they do so for %s; it failed before: %s", b.deliveries.policy.Recovery(), e.Text)
		}
	}
	return e
}

// stateOf also tells workloads that roll from those that run with all their pods again.
func (s *standing) stateOf(w *workload.Workload) status.State {
	if s.state == status.Rolling && w.Rollout.IsWhole() {
		return status.Soaking
	}
	return s.state
}

// changed names the configs that changed.
func (s *standing) changed() (names []string) {
	for _, subject := range s.subjects {
		if subject != nil {
			names = append(names, subject.String())
		}
	}
	slices.Sort(names)
	return names
}

func podsOf(w *workload.Workload) *status.Pods {
	r := &w.Rollout
	if r.ByPods {
		return nil
	}
	return &status.Pods{Wanted: int(r.Wanted), Updated: int(r.Updated), Outdated: int(r.Outdated), Available: int(r.Available)}
}

// each calls a function with the changes of each workload that are not due. The function must not keep the map.
func (q *changeQueue) each(do func(names.WorkloadRef, map[fmt.Stringer]*pendingChange)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for ref, changes := range q.pending {
		do(ref, changes)
	}
}

// each calls a function with each backlog.
func (b *backlogs) each(do func(names.WorkloadRef, backlog)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for ref, w := range b.waiting {
		do(ref, w)
	}
}

// each calls a function with each restart that is followed.
func (d *deliveries) each(do func(names.WorkloadRef, *rollingRestart)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for ref, restart := range d.rolling {
		do(ref, restart)
	}
}

// overview returns how far the fan-outs of a namespace have come, its halts, and why everything is held.
func (g *gatekeeper) overview(leads bool, namespace string) (fanOuts status.List[status.FanOut], halts status.List[status.Halt], everything string) {
	progress, active := newProgressList(), newHaltList()
	g.mu.Lock()
	defer g.mu.Unlock()
	if leads {
		for p := range g.ledger.Progress() {
			if concerns(namespace, p.FanOut.Config) {
				progress.Add(p)
			}
		}
		for _, config := range g.ledger.Halted() {
			if concerns(namespace, config) {
				g.addHalts(active, config)
			}
		}
	}
	return status.ListOf(progress, g.fanOutOf), status.ListOf(active, g.haltOf), g.everything
}

func newProgressList() *status.Shortlist[gate.Progress] {
	return status.NewShortlist(func(a, b gate.Progress) int {
		return cmp.Or(a.Since.Compare(b.Since), compareConfigs(a.FanOut.Config, b.FanOut.Config), cmp.Compare(a.FanOut.Moment, b.FanOut.Moment))
	})
}

func newHaltList() *status.Shortlist[*gate.Halt] {
	return status.NewShortlist(func(a, b *gate.Halt) int {
		return cmp.Or(a.Since.Compare(b.Since), compareConfigs(a.Config, b.Config), cmp.Compare(a.ID, b.ID))
	})
}

func compareConfigs(a, b names.ConfigRef) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Kind, b.Kind))
}

// addHalts must be called with the lock held.
func (g *gatekeeper) addHalts(list *status.Shortlist[*gate.Halt], config names.ConfigRef) {
	for _, h := range g.ledger.HaltsOf(config) {
		if h.IsActive() {
			list.Add(h)
		}
	}
}

// beginningOf says when a fan-out began, or at least.
func (g *gatekeeper) beginningOf(p gate.Progress) status.Beginning {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.fanOutOf(p).Beginning
}

// fanOutOf must be called with the lock held.
func (g *gatekeeper) fanOutOf(p gate.Progress) status.FanOut {
	since, edited := p.Since, g.catalog.EditedAt(p.FanOut.Config, p.FanOut.Moment)
	atLeast := edited.IsZero() && p.Since.Sub(g.began) < atStart
	if atLeast {
		edited = g.catalog.EditedBeforeWatching(p.FanOut.Config)
	}
	if edited.Before(g.began) && !edited.IsZero() {
		since = edited // under a former leader
	}
	return status.FanOut{
		Config: p.FanOut.Config.String(), Beginning: status.Beginning{Since: since.UTC(), AtLeast: atLeast},
		Total: p.Total(), Delivered: p.Done(), Rolling: p.UnderWay, Waiting: p.Waiting, Refused: p.Refused, Unserved: p.Unserved,
	}
}

// progressOf says how far a fan-out has come.
func (g *gatekeeper) progressOf(p gate.Progress) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	f := g.fanOutOf(p)
	return f.Progress()
}

// haltOf must be called with the lock held.
func (g *gatekeeper) haltOf(h *gate.Halt) status.Halt {
	shown := status.Halt{
		ID: h.ID, Config: h.Config.String(), Keys: slices.Clone(h.Keys), Held: g.ledger.Due(h.Config), Since: h.Since.UTC(),
		Command: h.Command(), Resume: gate.ResumeCommand(h.Config, h.ID), Failed: make([]string, 0, len(h.Failed)),
	}
	for _, ref := range h.Failed {
		shown.Failed = append(shown.Failed, ref.String())
	}
	return shown
}
