package show

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/follow"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/controller/judge"
	"kubernetes-deployment-restart-controller/controller/kinds"
	"kubernetes-deployment-restart-controller/controller/tracker"
	"kubernetes-deployment-restart-controller/controller/wording"
	"kubernetes-deployment-restart-controller/internal/brief"
	"kubernetes-deployment-restart-controller/internal/notes"
	"kubernetes-deployment-restart-controller/internal/quarantine"
	"kubernetes-deployment-restart-controller/internal/status"
)

// What is under way, for people and tools. Nothing is decided here, and no request is made: the catalog, the
// table of restarts and the gate are asked. A workload whose change becomes due in that moment may not show up.

// Leads reports whether this process acts.
func (b *Board) Leads() bool { return b.Role.Leads() }

// Overview returns what is under way in a namespace, or in all if it is empty. Its cost grows with what is under way,
// its size does not.
func (b *Board) Overview(namespace string, now time.Time) *status.Overview {
	o := &status.Overview{Time: now.UTC(), Leads: b.Leads(), DryRun: b.Role.DryRun, Namespace: namespace}
	o.Configs, o.Workloads = b.Catalog.Size()
	o.Kinds = b.KindsAsked()
	o.Mistakes = b.Mistakes.In(namespace)
	lists := newEntryLists(namespace, &b.Absences.Of, func(ref names.WorkloadRef) bool { _, isAlone := b.standingAlone(ref); return isAlone })
	if o.Leads {
		for ref, row := range b.Table.All() {
			switch {
			case row.Backlog != nil:
				lists.add(tracker.StandingOfBacklog(ref, row.Backlog))
			case row.Changes != nil:
				lists.add(tracker.StandingOfChanges(ref, row.Changes))
			}
			if row.Rolling != nil {
				lists.add(StandingOfRestart(ref, row.Rolling))
			}
			lists.addEviction(ref, &row)
		}
		lists.addLacking()
		for _, ref := range b.Resting.Unsettled.Those(namespace) {
			if _, lacks := lists.lacking.Find(ref.Namespace, ref); lacks { // and what it lacks takes long to find
				continue
			}
			if s := b.StandingOf(ref); s.State == status.Unready {
				lists.of[status.Unready].Add(s)
			}
		}
		b.addAlone(lists)
	}
	list := func(state status.State) status.List[status.Entry] { return status.ListOf(lists.of[state], b.entry) }
	o.Pending, o.Waiting, o.Held = list(status.Pending), list(status.Waiting), list(status.Held)
	o.Slowed, o.Rolling, o.Failed, o.Retrying = list(status.Slowed), list(status.Rolling), list(status.Failed), list(status.Retrying)
	o.Unready, o.LeftAlone = list(status.Unready), list(status.LeftAlone)
	o.Lacking = status.ListOf(lists.of[status.Lacking], func(s tracker.Standing) status.Entry {
		if a, isOne := b.Absences.Find(s.Ref); isOne {
			s = judge.StandingOfAbsence(s.Ref, a) // with what is not kept of it
		}
		e := b.entry(s)
		b.Quarantine.Try(quarantine.Metrics, kinds.NameOfWorkload(s.Ref), func() { e.Due = b.dueBesides(s.Ref) })
		return e
	})
	o.FanOuts, o.Halts, o.AllHeld = b.Gate.Overview(o.Leads, namespace)
	o.Restarts = b.Deliveries.History.All(namespace)
	o.Holds = holdsIn(namespace, b.Catalog)
	return o
}

// dueBesides says which restart is due of a workload that lacks a config, and what it waits for; empty if none is known to be.
func (b *Board) dueBesides(ref names.WorkloadRef) string {
	w := b.Table.Of(ref).Backlog
	if w == nil || !w.Due {
		return ""
	}
	view, found := b.Catalog.View(ref)
	if !found {
		return ""
	}
	text := "a restart is due since " + w.Since.UTC().Format(time.RFC3339)
	isMark := w.Failure.IsMark()
	switch {
	case w.Failure.Problem != "" && !isMark:
		text += " and its last attempt failed: " + w.Failure.Problem
	case w.PutOff == gate.Missing:
		text += " and waits for it"
	case w.PutOff != "":
		text += " and waits (" + string(w.PutOff) + ")"
	}
	if decision := decide.Decide(view); decision.Outcome == decide.Restart {
		text += ", because " + wording.Causes(decision)
	}
	if isMark {
		text += "; " + w.Failure.Problem
	}
	return brief.Text(text)
}

// Watches returns what the controller sees of a namespace, or of all if it is empty.
func (b *Board) Watches(namespace string) *status.Shortlist[status.Watch] {
	list := status.NewWatches()
	for _, w := range b.Watching.All {
		if namespace == "" || w.Shows(namespace) {
			list.Add(w.Shown())
		}
	}
	return list
}

// entryLists are short lists of the workloads of a namespace, those that have waited longest first.
type entryLists struct {
	namespace string // empty for all
	of        map[status.State]*status.Shortlist[tracker.Standing]
	// lacking are the workloads that lack a config. Unless they have failed, that matters more than what they wait for.
	lacking *notes.Notes[names.WorkloadRef, judge.Absence]
	failed  map[names.WorkloadRef]struct{} // those of them
	// isAlone reports whether a workload is left alone, which waits for nothing else.
	isAlone func(names.WorkloadRef) bool
}

func newEntryLists(namespace string, lacking *notes.Notes[names.WorkloadRef, judge.Absence], isAlone func(names.WorkloadRef) bool) entryLists {
	lists := entryLists{namespace, make(map[status.State]*status.Shortlist[tracker.Standing]), lacking, make(map[names.WorkloadRef]struct{}), isAlone}
	for _, state := range []status.State{status.Pending, status.Waiting, status.Held, status.Slowed, status.Rolling, status.Failed, status.Retrying, status.Lacking, status.Unready, status.LeftAlone} {
		lists.of[state] = status.NewShortlist(tracker.CompareStandings)
	}
	return lists
}

func (l entryLists) add(s tracker.Standing) {
	if !notes.IsInside(l.namespace, s.Ref.Namespace) {
		return
	}
	state := s.State
	if state != status.Rolling && state != status.Failed && l.isAlone(s.Ref) {
		return
	}
	if state == status.Deciding {
		state = status.Waiting
	}
	if _, lacks := l.lacking.Find(s.Ref.Namespace, s.Ref); lacks {
		if state != status.Failed {
			return
		}
		l.failed[s.Ref] = struct{}{}
	}
	l.of[state].Add(s)
}

// addLacking adds the workloads that lack a config and have not failed, after all others.
func (l entryLists) addLacking() {
	l.lacking.Each(l.namespace, func(ref names.WorkloadRef, a judge.Absence) {
		if _, hasFailed := l.failed[ref]; !hasFailed {
			l.of[status.Lacking].Add(judge.StandingOfAbsence(ref, a))
		}
	})
}

// StandingOfRestart returns how a workload is whose restart is followed.
func StandingOfRestart(ref names.WorkloadRef, r *tracker.RollingRestart) tracker.Standing {
	s := tracker.Standing{Ref: ref, State: status.Rolling, Since: r.Began, Restart: &r.Decision}
	if held := r.HeldAtStep(); !held.IsZero() {
		s.State, s.Since, s.Reason, s.By.Text = status.Held, held, reasonStep, "its rollout waits at a step; to go on: "+promoteCommand(ref)
	}
	if r.HasFailed {
		s.State, s.Since, s.Restarted, s.Reason, s.By.Text = status.Failed, r.Failed, r.Began, "", ""
	}
	if r.IsUndated {
		s.Since = time.Time{}
	}
	return s
}

// entry completes what is known about a workload.
func (b *Board) entry(s tracker.Standing) status.Entry {
	e := status.Entry{
		Workload: s.Ref.String(), State: s.State, Reason: string(s.Reason), Text: s.By.Text,
		Beginning: status.Beginning{Since: s.Since.UTC(), AtLeast: s.AtLeast}, Until: s.Until.UTC(), Exposed: s.IsExposed, Error: s.LastError(), Remedy: s.Failure.Remedy, Attempts: s.Failure.Count, OnlyRecord: s.Failure.Record != nil,
	}
	if s.State == status.Lacking || s.Reason == gate.Missing {
		e.Remedy = status.CreateConfig
	}
	if s.By.Config != (names.ConfigRef{}) {
		e.On = s.By.Config.String()
	}
	e.For = strings.Join(s.Changed(), ", ")
	if s.Restart != nil {
		e.For = wording.CauseNote(*s.Restart)
	}
	w := b.Catalog.Workload(s.Ref)
	if w != nil && s.State == status.Unready {
		e.Pods, e.Remedy = podsOf(w), status.LookAtPods
	}
	e.Text = cmp.Or(e.Text, b.behindStep(&s))
	if w == nil || s.Restart == nil && s.State != status.Rolling {
		return e
	}
	if s.Restart == nil {
		e.For = wording.CauseNote(follow.RecordedFor(w))
	}
	w = b.shown(w)
	e.State, e.Pods = s.StateOf(w), podsOf(w)
	b.noteEviction(&e, s.Ref)
	if e.State == status.Failed {
		e.Restarted = s.Restarted.UTC()
	}
	if e.State == status.Failed && e.Reason == "" {
		e.Text = b.Deliveries.History.WhyOf(s.Ref)
		if w.Rollout.IsWhole() {
			e.Text = fmt.Sprintf("all its pods run now, and it has recovered if they do so for %s; it failed before: %s", b.Deliveries.Policy.Recovery(), e.Text)
		}
	}
	return e
}

func podsOf(w *workload.Workload) *status.Pods {
	r := &w.Rollout
	if r.ByPods {
		return nil
	}
	return &status.Pods{Wanted: int(r.Wanted), Updated: int(r.Updated), Outdated: int(r.Outdated), Available: int(r.Available)}
}
