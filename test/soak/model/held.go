package model

import (
	"fmt"
	"slices"
	"time"
)

// Held is the rule that no restart begins while people do not want it to.
const Held = "held"

// Terms are what the annotations of a workload or a config say about when restarts may begin.
type Terms struct {
	Hold   bool
	Window Window
}

// String describes the terms in stories.
func (t Terms) String() string {
	text := "no hold"
	if t.Hold {
		text = "a hold"
	}
	switch {
	case !t.Window.Exists:
		return text + ", no window"
	case t.Window.Opens.IsZero():
		return text + ", a window that never opens"
	}
	return fmt.Sprintf("%s, a window from %s to %s", text, clock(t.Window.Opens), clock(t.Window.Closes))
}

// Window is when restarts may begin. The zero value means at any time. A window that cannot be read has
// neither beginning nor end, and is never open.
type Window struct {
	Exists        bool
	Opens, Closes time.Time
}

// decisionTime is how long before its timestamp a restart may have been decided.
const decisionTime = time.Second

// decidedAt returns the earliest time at which a restart may have been decided.
func (s *Sight) decidedAt() time.Time {
	if s.InSeconds {
		return s.RestartedAt.Add(-time.Second - decisionTime)
	}
	return s.RestartedAt.Add(-decisionTime)
}

func (w Window) isClosed(at time.Time) bool {
	return w.Exists && (at.Before(w.Opens) || !at.Before(w.Closes))
}

// closings returns when the window was closed in a span.
func (w Window) closings(s span) []span {
	switch {
	case !w.Exists:
		return nil
	case w.Opens.IsZero():
		return []span{s}
	}
	return []span{s.and(span{s.from, w.Opens}), s.and(span{w.Closes, s.to})}
}

// forbid reports whether a restart with this timestamp must not have begun. Workloads that cannot roll
// wait for holds, but not for windows.
func (t Terms) forbid(restarted time.Time, canRoll bool) bool {
	return t.Hold || canRoll && t.Window.isClosed(restarted) && t.Window.isClosed(restarted.Add(-decisionTime))
}

// during returns when the terms kept restarts from beginning in a span.
func (t Terms) during(s span) []span {
	if t.Hold {
		return []span{s}
	}
	return t.Window.closings(s)
}

// TermsEdit is a write of the annotations of a config. It took effect between Begin and End.
type TermsEdit struct {
	Begin, End time.Time
	Config     ConfigRef
	Terms      Terms
}

// Agree takes in the terms of a config. Those of one config must come in order.
func (m *Model) Agree(e TermsEdit) { m.terms[e.Config] = append(m.terms[e.Config], e) }

// judgeHeld finds restarts that people did not want to begin. The version of the workload before
// a restart is the one that it was decided on, so the terms of the workload were known. Those of a config
// were known if the content that the restart brings is younger.
func (m *Model) judgeHeld(ref WorkloadRef, life []Sight) (found []Violation) {
	recorded := life[0].Created
	for i := 1; i < len(life); i++ {
		before, s := &life[i-1], &life[i]
		if s.restartedSince(before) && !s.Listed {
			if before.Terms.forbid(s.RestartedAt, before.canRoll()) {
				found = append(found, Violation{ref, Held, s.At, fmt.Sprintf("it restarted although it was held: %s", before.Terms)})
			} else if e := m.heldConfig(before, s, recorded); e != nil {
				found = append(found, Violation{ref, Held, s.At, fmt.Sprintf(
					"it restarted for %s %s, which was held since %s: %s", e.Config.Kind, e.Config.Name, clock(e.End), e.Terms)})
			}
		}
		if recordsAnew(before, s) {
			recorded = s.At
		}
	}
	return found
}

func (s *Sight) canRoll() bool { return s.WantsPods && !s.Paused }

// heldConfig returns the terms of a config that a restart must have waited for, nil if there are none: all
// changes that it can have recorded were made under these terms, which still stood.
func (m *Model) heldConfig(before, s *Sight, recorded time.Time) *TermsEdit {
	for i := range s.Uses {
		u := &s.Uses[i]
		if s.Record[u.recordName()] == before.Record[u.recordName()] {
			continue
		}
		e := m.termsAt(u.Config, s.RestartedAt)
		if e == nil || before.Terms.Window.Exists && !e.Terms.Hold || !e.Terms.forbid(s.RestartedAt, before.canRoll()) {
			continue // the window of a workload takes precedence over that of a config
		}
		candidates := m.changesFor(u, recorded, s)
		if len(candidates) > 0 && candidates[0].Begin.After(e.End) && m.history(s.Workload).hasMissed(&candidates[0], s.RestartedAt) {
			return e
		}
	}
	return nil
}

// termsAt returns the terms of a config that were in force at a time, nil if there were none or if they were
// being changed.
func (m *Model) termsAt(config ConfigRef, at time.Time) (last *TermsEdit) {
	edits := m.terms[config]
	for i := range edits {
		if edits[i].Begin.Before(at) {
			last = &edits[i]
		}
	}
	if last != nil && last.End.After(at) {
		return nil
	}
	return last
}

// hasMissed reports whether a pod runs at a time for sure that was there before a change. Without one,
// a restart that records the change is for something else.
func (h *history) hasMissed(change *Edit, at time.Time) bool {
	for _, pod := range h.pods {
		if !pod.Started.IsZero() && pod.readUntil().Before(change.Begin) && (pod.Gone.IsZero() || pod.Gone.After(at)) {
			return true
		}
	}
	return false
}

// changesFor returns the changes that a restart can have been for, after what was recorded at a time, which
// the controller may have done without having seen all changes from before. It has seen those from before
// the workload was made.
func (m *Model) changesFor(u *Use, recorded time.Time, s *Sight) (found []Edit) {
	after := later(recorded.Add(-m.options.Stall), s.Created)
	for _, e := range m.changes(u) {
		if e.End.After(after) && e.Begin.Before(s.RestartedAt) {
			found = append(found, e)
		}
	}
	return found
}

// waits returns when a restart of a workload may have been held for a stated reason, in the order of
// their beginnings: by a cluster that was away, by the terms of the workload and of its configs, by the lack of a
// config that new pods need, by halts, and by restarts of other workloads for the same configs, which come first.
func (m *Model) waits(ref WorkloadRef, life []Sight, end time.Time) (found []span) {
	found = slices.Clone(m.away)
	for i := range life {
		until := end
		if i+1 < len(life) {
			until = life[i+1].At
		}
		found = append(found, life[i].Terms.during(span{life[i].At, until})...)
	}
	for i := range life[0].Uses {
		u := &life[0].Uses[i]
		config := u.Config
		found = append(found, m.lacks(u, end)...)
		edits := m.terms[config]
		for j := range edits {
			until := end
			if j+1 < len(edits) {
				until = edits[j+1].End
			}
			found = append(found, edits[j].Terms.during(span{edits[j].Begin, until})...)
		}
		found = append(found, m.haltsOf(config)...)
		found = append(found, m.rollsFor(config, ref)...)
	}
	found = slices.DeleteFunc(found, func(s span) bool { return !s.to.After(s.from) })
	slices.SortFunc(found, func(a, b span) int { return a.from.Compare(b.from) })
	return found
}

// Away takes in that between two times the cluster could not be written to, or nobody led after that.
func (m *Model) Away(from, to time.Time) { m.away = append(m.away, span{from, to}) }

// lacks returns when what new pods need of a config was not there, with the time that a controller takes to see that
// it is back.
func (m *Model) lacks(u *Use, end time.Time) (found []span) {
	if u.Optional {
		return nil
	}
	edits := m.configs[u.Config]
	for i := range edits {
		until := end
		if i+1 < len(edits) {
			until = edits[i+1].End.Add(m.options.Lag)
		}
		if edits[i].Content == nil {
			found = append(found, span{edits[i].Begin, until})
		}
	}
	return found
}

// afterWaits returns when a time has passed since a beginning in which nothing had to be waited for.
func afterWaits(begin time.Time, lasting time.Duration, waits []span) time.Time {
	end, covered := begin.Add(lasting), begin
	for _, w := range waits {
		if w.from.After(end) {
			break
		}
		w.from = later(w.from, covered)
		if w.to.After(w.from) {
			end, covered = end.Add(w.to.Sub(w.from)), w.to
		}
	}
	return end
}
