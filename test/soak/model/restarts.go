package model

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"
)

// The rules that a restart can break.
const (
	NotEnabled = "not enabled"
	Needless   = "needless"
	OverBudget = "over the budget"
)

// judgeWrites finds what the controller wrote to a workload that was not opted in.
// Each of its patches carries the version that it was decided on, so the version
// before tells. Across a gap that version is not known.
func (m *Model) judgeWrites(ref WorkloadRef, life []Sight) (found []Violation) {
	for i := 1; i < len(life); i++ {
		before, s := &life[i-1], &life[i]
		if before.Enabled || s.Listed {
			continue
		}
		if s.restartedSince(before) || !maps.Equal(s.Record, before.Record) {
			found = append(found, Violation{ref, NotEnabled, s.At, "it was written to while it was not opted in"})
		}
	}
	return found
}

// judgeRestarts finds restarts without a cause, and those that came too soon.
func (m *Model) judgeRestarts(ref WorkloadRef, life []Sight) (found []Violation) {
	causes := m.causes(life[0].Uses)
	used := make([]bool, len(causes))
	recorded := life[0].Created // when the record was written that the next restart differs from
	vouched := len(life[0].Record) > 0
	told := map[string]bool{} // by all records so far
	var row row
	for i := 1; i < len(life); i++ {
		before, s := &life[i-1], &life[i]
		if s.Listed || s.Template != before.Template || !s.WantsPods || !before.WantsPods {
			vouched = false // the record may be of other pods
		}
		noteTold(told, before.Record)
		if s.restartedSince(before) {
			late := m.options.Lag
			if noteTold(maps.Clone(told), s.Record) {
				late = max(late, m.options.Stall)
			}
			cause := findCause(causes, used, recorded.Add(-late), s.RestartedAt)
			isSame := maps.Equal(s.Record, before.Record)
			switch {
			case isSame && m.cameBack(s.Uses, recorded.Add(-late), s.RestartedAt): // a pod may have read the other content
			case cause < 0:
				found = append(found, Violation{ref, Needless, s.At, fmt.Sprintf(
					"no change since the record of %s accounts for the restart of %s", clock(recorded), clock(s.RestartedAt))})
			case vouched && isSame:
				found = append(found, Violation{ref, Needless, s.At, "it restarted, and the record says the same as before"})
			}
			if cause >= 0 {
				used[cause] = true
			}
			found = append(found, m.judgeSpacing(ref, s, &row)...)
		}
		if !maps.Equal(s.Record, before.Record) {
			recorded, vouched = s.At, true
		}
	}
	return found
}

// judgeSpacing finds a restart that came too soon after the others of a row.
func (m *Model) judgeSpacing(ref WorkloadRef, s *Sight, row *row) []Violation {
	if m.options.Budget == nil {
		return nil
	}
	early := row.add(*m.options.Budget, s.RestartedAt)
	if early == 0 {
		return nil
	}
	what := fmt.Sprintf("restart %d in a row came %s too soon", row.restarts, early.Round(time.Millisecond))
	return []Violation{{ref, OverBudget, s.At, what}}
}

// noteTold notes what a record tells, and returns whether that is something new.
func noteTold(told map[string]bool, record map[string]string) (news bool) {
	for config, checksum := range record {
		news = news || !told[config+" "+checksum]
		told[config+" "+checksum] = true
	}
	return news
}

// causes returns the changes of everything that pods see, in the order of time.
func (m *Model) causes(uses []Use) (causes []Edit) {
	for i := range uses {
		causes = append(causes, m.changes(&uses[i])...)
	}
	slices.SortFunc(causes, func(a, b Edit) int { return cmp.Compare(a.Begin.UnixNano(), b.Begin.UnixNano()) })
	return causes
}

// findCause returns the first change between two times that has not been used up, -1 if
// there is none. All earlier ones, since one restart applies them all, are of no use to
// later restarts; but the controller may have learned of them late.
func findCause(causes []Edit, used []bool, after, before time.Time) int {
	for i := range causes {
		if !used[i] && causes[i].End.After(after) && causes[i].Begin.Before(before) {
			return i
		}
	}
	return -1
}

// cameBack reports whether pods could see other content of a config for a while between two times:
// it changed twice. That it was gone counts where pods start without it.
func (m *Model) cameBack(uses []Use, after, before time.Time) bool {
	return slices.ContainsFunc(uses, func(u Use) bool {
		changes, last, known := 0, "", false
		for _, e := range m.configs[u.Config] {
			if e.Content == nil && !u.Optional {
				continue
			}
			now := "gone"
			if e.Content != nil {
				now = "there: " + u.visible(e.Content)
			}
			if known && now != last && e.End.After(after) && e.Begin.Before(before) {
				changes++
			}
			last, known = now, true
		}
		return changes >= 2
	})
}

// Budget says how far apart restarts must be, as docs/configuration.md tells it.
type Budget struct {
	// Free restarts in a row are not spaced out. The next one is spaced by Grace, at
	// least a second, and each one after by twice as much, up to Limit. The row ends
	// when there was none for the present spacing and another Limit.
	Free         int
	Grace, Limit time.Duration
}

// row is a row of restarts.
type row struct {
	restarts int
	last     time.Time
}

// add adds a restart and returns by how much it came too soon.
func (r *row) add(b Budget, at time.Time) time.Duration {
	spacing := b.after(r.restarts)
	early := r.last.Add(spacing).Sub(at)
	if r.last.Add(spacing + b.Limit).Before(at) {
		r.restarts = 0
	}
	r.restarts++
	r.last = at
	return max(0, early)
}

func (b Budget) after(restarts int) time.Duration {
	if restarts < b.Free {
		return 0
	}
	spacing := max(b.Grace, time.Second)
	for range restarts - b.Free {
		if spacing = 2 * spacing; spacing > b.Limit {
			break
		}
	}
	return min(spacing, b.Limit)
}
