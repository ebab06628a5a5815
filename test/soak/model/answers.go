package model

import (
	"maps"
	"time"
)

// Answer is a restart and the edit that it was for: the first one since the restart or record before
// it whose content did not come back, nor had been there before.
type Answer struct {
	Edited time.Time
	Took   time.Duration
}

// Answers returns how long after the edits the restarts came that were seen.
func (m *Model) Answers() (answers []Answer) {
	for _, h := range m.workloads {
		for _, life := range h.lives() {
			answers = append(answers, m.answersIn(life)...)
		}
	}
	return answers
}

func (m *Model) answersIn(life []Sight) (answers []Answer) {
	since := life[0].Created
	for i := 1; i < len(life); i++ {
		before, s := &life[i-1], &life[i]
		if s.restartedSince(before) {
			if edited := m.firstEdit(s, since); !edited.IsZero() && isEnabledFrom(life[:i], edited) {
				answers = append(answers, Answer{edited, max(0, s.RestartedAt.Sub(edited))})
			}
			since = s.RestartedAt
		} else if !maps.Equal(s.Record, before.Record) {
			since = s.At
		}
	}
	return answers
}

// firstEdit returns when the first edit was made after a time that a restart was for, zero if there
// is none.
func (m *Model) firstEdit(s *Sight, since time.Time) (first time.Time) {
	for i := range s.Uses {
		u := &s.Uses[i]
		changes := m.changes(u)
		changes = changes[:countBegun(changes, s.RestartedAt)]
		for j := range changes {
			end := changes[j].End
			if end.After(since) && (first.IsZero() || end.Before(first)) && !u.comesBack(changes, j, s.RestartedAt) {
				first = end
			}
		}
	}
	return first
}

// isEnabledFrom reports whether a workload was opted in, and wanted pods, from a time on.
func isEnabledFrom(life []Sight, from time.Time) bool {
	for i := len(life) - 1; i >= 0; i-- {
		if !life[i].Enabled || !life[i].WantsPods {
			return false
		}
		if !life[i].At.After(from) {
			return true
		}
	}
	return false
}
