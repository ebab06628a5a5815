package model

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// Overlooked is the rule that a change is answered in time.
const Overlooked = "overlooked"

// judgeDelays finds changes that the record did not answer for longer than the patience,
// though the workload was opted in all the time. A change calls for another record, with a
// restart or without, unless the content comes back, as when a key is set and removed. The time
// in which the record is kept after a revert does not count. What a later edit made good, the
// state at the end does not tell.
func (m *Model) judgeDelays(ref WorkloadRef, life []Sight) (found []Violation) {
	if m.options.Patience == 0 || len(m.notes) == 0 {
		return nil
	}
	h := m.history(ref)
	end := h.endOf(life)
	if last := m.notes[len(m.notes)-1].at; end.IsZero() || last.Before(end) {
		end = last
	}
	if len(life) > 0 && life[len(life)-1].Wave > 0 {
		return nil // it comes when nobody else is due
	}
	kept, waits := m.keepings(life, end), m.waits(ref, life, end)
	for i := range life[0].Uses {
		u := &life[0].Uses[i]
		changes, startsAnew := m.changes(u), m.readers(u.Config) > manyReaders
		for i, change := range changes {
			limit := later(m.answerBy(h, u, &change, kept), m.turnBy(changes[i:], waits, startsAnew))
			if limit.Before(end) && !m.deletedBetween(u.Config, change.End, limit) && isOverlooked(life, change.Begin, limit) && !u.comesBack(changes, i, limit) {
				found = append(found, Violation{ref, Overlooked, change.End, fmt.Sprintf(
					"the record has not answered the change of %s %s at %s by %s", u.Config.Kind, u.Config.Name, clock(change.End), clock(limit))})
			}
		}
	}
	return found
}

// manyReaders is how many workloads read a config whose slow start, of 1, 1, 2 and 4, leaves some of them out.
const manyReaders = 8

// turnBy returns when a change must be answered, the first of several of one config. If the config has so many
// readers that its slow start begins anew with each of them, so does the time.
func (m *Model) turnBy(changes []Edit, waits []span, startsAnew bool) time.Time {
	limit := afterWaits(changes[0].End, m.options.Patience, waits)
	for _, next := range changes[1:] {
		if !startsAnew || next.End.After(limit) {
			break
		}
		limit = afterWaits(next.End, m.options.Patience, waits)
	}
	return limit
}

// readers returns how many workloads read a config.
func (m *Model) readers(config ConfigRef) (readers int) {
	for _, h := range m.workloads {
		if len(h.sights) > 0 && slices.ContainsFunc(h.sights[0].Uses, func(u Use) bool { return u.Config == config }) {
			readers++
		}
	}
	return readers
}

// isOverlooked reports whether a workload was opted in from one time to another and kept its
// record.
func isOverlooked(life []Sight, from, to time.Time) bool {
	var before *Sight
	for i := range life {
		s := &life[i]
		switch {
		case !s.At.After(from):
			before = s
		case s.At.After(to):
		case before == nil || !s.Enabled || !maps.Equal(s.Record, before.Record):
			return false
		}
	}
	return before != nil && before.Enabled
}

// comesBack reports whether what pods see before a change is there again before the limit, or
// what they see after it was there before.
func (u *Use) comesBack(changes []Edit, change int, limit time.Time) bool {
	earlier := map[string]bool{}
	for _, e := range changes[:change] {
		earlier[u.visible(e.Content)] = true
	}
	return slices.ContainsFunc(changes[change:], func(e Edit) bool { return e.Begin.Before(limit) && earlier[u.visible(e.Content)] })
}

// deletedBetween reports whether a config was deleted between two times. A record keeps what
// the pods have of it.
func (m *Model) deletedBetween(config ConfigRef, from, to time.Time) bool {
	for _, e := range m.configs[config] {
		if e.Content == nil && e.End.After(from) && e.Begin.Before(to) {
			return true
		}
	}
	return false
}

// endOf returns when a life ended, zero if it did not.
func (h *history) endOf(life []Sight) time.Time {
	for _, gone := range h.gone {
		if gone.at.After(life[0].At) {
			return gone.at
		}
	}
	for i := range h.sights {
		if s := &h.sights[i]; s.UID != life[0].UID && s.At.After(life[0].At) {
			return s.At
		}
	}
	return time.Time{}
}
