package model

import (
	"fmt"
	"slices"
	"time"
)

// Halted is the rule that nobody restarts for content that is halted.
const Halted = "halted"

// Halt is what the controllers keep of a halt, as it was at one resource version.
type Halt struct {
	At      time.Time
	Version uint64
	ID      string
	Config  ConfigRef
	Keys    []string // as in [Use]
	Failed  []WorkloadRef
	Since   time.Time
	Resumed bool
	Gone    bool // the config has another content: the halt is only remembered
}

// Holds reports whether the halt holds restarts.
func (h *Halt) Holds() bool { return !h.Resumed && !h.Gone }

// halt is a halt as it was seen first, but for who has failed, and when it was seen last and held.
type halt struct {
	Halt
	until time.Time
}

// Resume is a write of somebody's that resumes a halt by its id.
type Resume struct {
	Begin time.Time
	ID    string
}

// SeeHalt takes in a halt. What is seen later of the same halt only counts for how long it lasts, and for who
// has failed: restarts that were under way when it began can fail, too.
func (m *Model) SeeHalt(h Halt) {
	known, found := m.halts[h.ID]
	if !found {
		known = &halt{Halt: h, until: h.At}
		m.halts[h.ID] = known
	}
	if h.Holds() {
		known.until = h.At
	}
	if len(h.Failed) > len(known.Failed) {
		known.Failed = h.Failed
	}
}

// Resume takes in that somebody resumes a halt. Only the first time counts.
func (m *Model) Resume(r Resume) {
	if _, found := m.resumes[r.ID]; !found {
		m.resumes[r.ID] = r
	}
}

// Halts returns how many halts were seen, and how many of them somebody resumed.
func (m *Model) Halts() (all, resumed int) { return len(m.halts), len(m.resumes) }

// haltsOf returns when a config was halted. It takes a while until the end of a halt has woken all.
func (m *Model) haltsOf(config ConfigRef) (found []span) {
	for _, h := range m.halts {
		if h.Config == config {
			found = append(found, span{h.Since, h.until.Add(m.options.Lag)})
		}
	}
	return found
}

// judgeHalts finds restarts for content that was halted: the halt was kept for all controllers, its
// keys were not edited since, nobody resumed it, and no workload that had failed ran after all.
func (m *Model) judgeHalts(ref WorkloadRef, life []Sight) (found []Violation) {
	recorded := life[0].Created
	for i := 1; i < len(life); i++ {
		before, s := &life[i-1], &life[i]
		if s.restartedSince(before) && !s.Listed {
			for _, h := range m.halts {
				if h.Version < s.Version && h.Since.Before(s.decidedAt()) && m.brings(h, life[:i+1], recorded) && m.isHalted(h, s.RestartedAt) {
					found = append(found, Violation{ref, Halted, s.At, fmt.Sprintf(
						"it restarted for %s %s, which was halted since %s (halt %s)", h.Config.Kind, h.Config.Name, clock(h.Since), h.ID)})
				}
			}
		}
		if recordsAnew(before, s) {
			recorded = s.At
		}
	}
	return found
}

// isHalted reports whether nothing can have ended a halt before a time.
func (m *Model) isHalted(h *halt, at time.Time) bool {
	if r, found := m.resumes[h.ID]; found && r.Begin.Before(at) {
		return false
	}
	whole := Use{Config: h.Config, Keys: h.Keys, Optional: true}
	edits := m.contentsUntil(&whole, at)
	if len(edits) == 0 || !edits[len(edits)-1].End.Before(m.lastContentOf(h)) {
		return false
	}
	return !slices.ContainsFunc(h.Failed, func(ref WorkloadRef) bool { return m.mayRunAfterAll(ref, h.Since, at) })
}

// lastContentOf returns since when no edit can have ended a halt. One that was gone when it was seen first held nothing
// if somebody edited the config between the restart that failed and the moment when that was known.
func (m *Model) lastContentOf(h *halt) time.Time {
	since := h.Since
	for _, ref := range h.Failed {
		if failed := m.history(ref).at(h.Since); h.Gone && failed != nil && failed.decidedAt().Before(since) {
			since = failed.decidedAt().Add(-m.options.Stall) // it may not have known the edit
		}
	}
	return since
}

// recovery is for how long at least all pods of a workload that has failed must run until that ends a halt, unless
// it has restarted. The controllers wait for 30 seconds, of which the observer may have missed some.
const recovery = 20 * time.Second

// mayRunAfterAll reports whether a workload that failed may have been found to run after all in a span.
func (m *Model) mayRunAfterAll(ref WorkloadRef, from, to time.Time) bool {
	sights := m.history(ref).sights
	for i := range sights {
		s := &sights[i]
		isOver := i+1 < len(sights) && !sights[i+1].At.After(from)
		hasLasted := s.RestartedAt.After(from) || s.At.Add(recovery).Before(to)
		if (s.Whole || s.ByPods) && !isOver && s.At.Before(to) && hasLasted {
			return true
		}
	}
	return false
}

// brings reports whether the restart that a life ends with recorded the content of a halt, and a pod ran that had
// not read it.
func (m *Model) brings(h *halt, life []Sight, recorded time.Time) bool {
	before, s := &life[len(life)-2], &life[len(life)-1]
	for i := range s.Uses {
		u := &s.Uses[i]
		if u.Config != h.Config || s.Record[u.recordName()] == before.Record[u.recordName()] {
			continue
		}
		last := lastOf(m.changes(&Use{Config: h.Config, Keys: common(u, h.Keys), Optional: true}), h.Since)
		if last == nil || !m.history(s.Workload).hasMissed(last, s.RestartedAt) {
			continue
		}
		if m.recordsFailed(h, u, s, last) && keepsPods(life[:len(life)-1], last.Begin) || m.bringsNothingOlder(last, u, s, recorded) {
			return true
		}
	}
	return false
}

// recordsFailed reports whether a restart recorded the same content as that of a workload that failed, and
// whose pods see the same keys.
func (m *Model) recordsFailed(h *halt, u *Use, s *Sight, last *Edit) bool {
	return slices.ContainsFunc(h.Failed, func(ref WorkloadRef) bool {
		failed := m.history(ref).at(h.Since)
		return failed != nil && failed.RestartedAt.After(last.Begin) && failed.Record[u.recordName()] == s.Record[u.recordName()] &&
			slices.ContainsFunc(failed.Uses, func(other Use) bool { return other.Config == u.Config && slices.Equal(other.Keys, u.Keys) })
	})
}

// keepsPods reports whether nothing replaced the pods of a workload since a time. Otherwise a restart may be for
// something else while the last pods go that have not read a content.
func keepsPods(life []Sight, since time.Time) bool {
	for i := 1; i < len(life); i++ {
		before, s := &life[i-1], &life[i]
		if s.At.After(since) && (s.Template != before.Template || !s.RestartedAt.Equal(before.RestartedAt)) {
			return false
		}
	}
	return true
}

// bringsNothingOlder reports whether a restart can have recorded a change and later ones, but none from before.
func (m *Model) bringsNothingOlder(change *Edit, u *Use, s *Sight, recorded time.Time) bool {
	candidates := m.changesFor(u, recorded, s)
	return len(candidates) > 0 && candidates[0].Begin.After(recorded) && candidates[0].Begin.Equal(change.Begin)
}

// at returns what a workload was at a time, nil if it had not been seen.
func (h *history) at(time time.Time) (last *Sight) {
	for i := range h.sights {
		if h.sights[i].At.After(time) {
			break
		}
		last = &h.sights[i]
	}
	return last
}

// lastOf returns the last edit that was carried out before a time.
func lastOf(edits []Edit, at time.Time) *Edit {
	if n := countEnded(edits, at); n > 0 {
		return &edits[n-1]
	}
	return nil
}

// common returns the keys that both the pods see and a halt is for. One of the two must have them all, or
// name them one by one.
func common(u *Use, halted []string) []string {
	if halted == nil {
		return u.Keys
	}
	return slices.DeleteFunc(slices.Clone(halted), func(key string) bool { return !u.Sees(key) })
}

// IsOutdated reports whether a halt that is there at the end is for content that is not: its keys have
// another content than at any time when it can have been made.
func (m *Model) IsOutdated(h Halt) bool {
	whole := Use{Config: h.Config, Keys: h.Keys, Optional: true}
	edits := m.configs[h.Config]
	if len(edits) == 0 {
		return true
	}
	final := edits[len(edits)-1].Content
	for i := range edits {
		isOver := i+1 < len(edits) && edits[i+1].End.Before(h.Since.Add(-m.options.Stall))
		if !isOver && edits[i].Begin.Before(h.Since) && whole.visible(edits[i].Content) == whole.visible(final) {
			return false
		}
	}
	return true
}
