package model

import (
	"maps"
	"slices"
	"time"
)

// After a restart is reverted, and while a config in its record is gone, the record stays as it is
// unless a pod of the present template is stale (docs/design.md, "A restart that is reverted").

// keeping is a time in which a record is kept.
type keeping struct {
	span
	restartedAt time.Time // of the pod template meanwhile
}

// keepings returns when the record of a life was kept, in the order of their beginnings.
func (m *Model) keepings(life []Sight, end time.Time) (found []keeping) {
	recorded := 0
	for i := 0; i < len(life); i++ {
		s := &life[i]
		if i > 0 && !maps.Equal(s.Record, life[i-1].Record) {
			recorded = i
		}
		if s.RestartedAt.Equal(life[recorded].RestartedAt) || s.Template != life[recorded].Template {
			continue
		}
		reverted := span{s.At, end}
		for i+1 < len(life) && s.isLike(&life[i+1]) {
			i++
		}
		if i+1 < len(life) {
			reverted.to = life[i+1].At
		}
		for _, gone := range m.goneOf(s, end) {
			if both := reverted.and(gone); both.to.After(both.from) {
				found = append(found, keeping{both, s.RestartedAt})
			}
		}
	}
	slices.SortFunc(found, func(a, b keeping) int { return a.from.Compare(b.from) })
	return found
}

// isLike reports whether neither the pod template nor the record has changed.
func (s *Sight) isLike(other *Sight) bool {
	return s.RestartedAt.Equal(other.RestartedAt) && s.Template == other.Template && maps.Equal(s.Record, other.Record)
}

// goneOf returns when configs in a record were gone.
func (m *Model) goneOf(s *Sight, end time.Time) (found []span) {
	for i := range s.Uses {
		u := &s.Uses[i]
		if _, isRecorded := s.Record[u.recordName()]; !isRecorded {
			continue
		}
		edits := m.configs[u.Config]
		for j := range edits {
			if edits[j].Content != nil {
				continue
			}
			gone := span{edits[j].Begin, end}
			if j+1 < len(edits) {
				gone.to = edits[j+1].End
			}
			found = append(found, gone)
		}
	}
	return found
}

// answerBy returns when the record must have answered a change: when it could have done so for as
// long as the patience. What keeps it is no excuse if there is a stale pod.
func (m *Model) answerBy(h *history, u *Use, change *Edit, kept []keeping) time.Time {
	limit := change.End.Add(m.options.Patience)
	for _, k := range kept {
		if k.from.Before(limit) && k.to.After(change.End) && !m.hasStale(h, u, change, k) {
			limit = later(limit, k.to.Add(m.options.Patience))
		}
	}
	return limit
}

// hasStale reports whether a pod of the present template outlived the patience without having read
// a change, while a record was kept.
func (m *Model) hasStale(h *history, u *Use, change *Edit, k keeping) bool {
	until := later(k.from, change.End).Add(m.options.Patience)
	if until.After(k.to) {
		return false
	}
	for _, pod := range h.pods {
		lives := !pod.Started.IsZero() && pod.Started.Before(change.Begin) && (pod.Gone.IsZero() || pod.Gone.After(until))
		if lives && pod.RestartedAt.Equal(k.restartedAt) &&
			!slices.Contains(mayHaveRead(u, m.configs[u.Config], pod.Created, pod.readUntil()), u.visible(change.Content)) {
			return true
		}
	}
	return false
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
