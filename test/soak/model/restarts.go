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
// before shows. Across a gap that version is not known.
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

// replay goes through the sights of a life and looks for the cause of each restart.
type replay struct {
	*Model
	history  *history
	uses     []Use
	created  time.Time
	causes   []Edit
	used     []bool // of the causes
	answered []bool // of the reverts
	// recorded is when the record was written that the next restart differs from. It is trusted unless
	// it may be of other pods.
	recorded time.Time
	trusted  bool
	// restarted is when the last restart was.
	restarted time.Time
	known     map[string]bool // by all records so far
	row       row
}

// judgeRestarts finds restarts without a cause, and those that came too soon.
func (m *Model) judgeRestarts(ref WorkloadRef, life []Sight) (found []Violation) {
	h := m.history(ref)
	r := &replay{
		Model: m, history: h, uses: life[0].Uses, created: life[0].Created, causes: m.causes(life[0].Uses), answered: make([]bool, len(h.reverts)),
		recorded: life[0].Created, trusted: len(life[0].Record) > 0, known: map[string]bool{},
	}
	r.used = make([]bool, len(r.causes))
	for i := 1; i < len(life); i++ {
		before, s := &life[i-1], &life[i]
		if s.Listed || s.Template != before.Template || !s.WantsPods || !before.WantsPods {
			r.trusted = false
		}
		r.noteRecord(before.Record)
		if s.restartedSince(before) {
			found = append(found, r.judgeCause(before, s)...)
			found = append(found, r.judgeBudget(s)...)
			r.restarted = s.RestartedAt
		}
		if !maps.Equal(s.Record, before.Record) {
			r.recorded, r.trusted = s.At, true
		}
	}
	return found
}

// judgeCause looks for what a restart was for, and uses that up. One that was made again after a
// revert uses up an edit only if it records one.
func (r *replay) judgeCause(before, s *Sight) []Violation {
	isSame, isAgain := maps.Equal(s.Record, before.Record), r.answersRevert(s)
	if isAgain && isSame {
		r.tally.Again++
		return nil
	}
	late := r.options.Lag
	if r.isNews(before, s) {
		late = max(late, r.options.Stall)
	}
	cause := findCause(r.causes, r.used, r.recorded.Add(-late), s.RestartedAt)
	if cause >= 0 {
		r.used[cause] = true
	}
	switch {
	case isAgain:
	case isSame && r.readOther(s):
		r.tally.Returned++
	case cause < 0:
		return []Violation{{s.Workload, Needless, s.At, fmt.Sprintf(
			"no change since the record of %s accounts for the restart of %s", clock(r.recorded), clock(s.RestartedAt))}}
	case isSame && r.trusted:
		return []Violation{{s.Workload, Needless, s.At, "it restarted, and the record says the same as before"}}
	}
	return nil
}

func (r *replay) judgeBudget(s *Sight) []Violation {
	if r.options.Budget == nil {
		return nil
	}
	var rounded, late time.Duration
	if s.InSeconds { // it is the time that the API server has given the write
		rounded, late = time.Second, r.options.Budget.Write
	}
	early := r.row.add(*r.options.Budget, s.RestartedAt, rounded, late)
	if early <= 0 {
		return nil
	}
	return []Violation{{s.Workload, OverBudget, s.At, fmt.Sprintf(
		"restart %d in a row came %s too soon", r.row.restarts, early.Round(time.Millisecond))}}
}

// noteRecord notes what a record has.
func (r *replay) noteRecord(record map[string]string) {
	for config, checksum := range record {
		r.known[config+" "+checksum] = true
	}
}

// isNews reports whether a restart's record has something that no record had before, or that has
// come back.
func (r *replay) isNews(before, s *Sight) bool {
	for config, checksum := range s.Record {
		if !r.known[config+" "+checksum] || checksum != before.Record[config] && r.cameBack(config, s) {
			return true
		}
	}
	return false
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
