package model

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// The rules about restarts at the same time.
const (
	OverLimit = "over the limit"
	OutOfTurn = "out of turn"
)

// Gate says how many restarts may roll at the same time.
type Gate struct {
	Limit int
	// Deadline is for how long at least a restart counts that makes no progress.
	Deadline time.Duration
}

// roll is a restart whose pods were not all running yet from one resource version up to another, as
// everybody could see.
type roll struct {
	workload WorkloadRef
	wave     int
	uses     []Use
	at       time.Time // when it was seen
	byPods   bool      // so that the versions do not tell when it ended
	from, to uint64
	span     // in time, until the deadline at most if the status shows how far it is
}

func (r *roll) includes(other *roll) bool {
	return r.from < other.from && other.from < r.to && other.span.from.Before(r.span.to)
}

func (r *roll) namespace() string {
	namespace, _, _ := strings.Cut(r.workload.Name, "/")
	return namespace
}

// rollsOf returns the restarts of a life that rolled, until its end at most, which is zero if it goes on.
func (m *Model) rollsOf(ref WorkloadRef, life []Sight, end time.Time) (rolls []roll) {
	for i := 1; i < len(life); i++ {
		s := &life[i]
		if !s.restartedSince(&life[i-1]) || s.Listed || !s.isRolling(s) {
			continue
		}
		r := roll{workload: ref, wave: s.Wave, uses: s.Uses, at: s.At, byPods: s.ByPods, from: s.Version, to: ^uint64(0),
			span: span{s.RestartedAt, s.RestartedAt.Add(m.options.Gate.Deadline)}}
		if s.ByPods {
			r.span.to = m.history(ref).replacedBy(s.RestartedAt)
		}
		if !end.IsZero() {
			r.span = r.span.and(span{r.span.from, end})
		}
		r.endIn(life[i:])
		rolls = append(rolls, r)
	}
	return rolls
}

// endIn ends a restart with what comes after it.
func (r *roll) endIn(sights []Sight) {
	over := slices.IndexFunc(sights, func(later Sight) bool { return later.Listed && !r.byPods || !sights[0].isRolling(&later) })
	if over < 0 {
		return
	}
	r.to, r.span = sights[over].Version, r.span.and(span{r.span.from, sights[over].At})
	if sights[over].Listed { // what was before is not known
		r.to = sights[over-1].Version
	}
}

// isRolling reports whether a restart still rolls when the workload is seen later.
func (s *Sight) isRolling(later *Sight) bool {
	return !later.Whole && later.Enabled && later.canRoll() && later.RestartedAt.Equal(s.RestartedAt) && later.Template == s.Template
}

// replacedBy returns when all pods were gone that had been created before a restart, and the last pod started that
// had been created until then; the end of time if some are still there.
func (h *history) replacedBy(restarted time.Time) (last time.Time) {
	for _, pod := range h.pods {
		if pod.Created.Before(restarted) {
			if pod.Gone.IsZero() {
				return endOfTime
			}
			last = later(last, pod.Gone)
		}
	}
	for _, pod := range h.pods {
		if pod.Created.Before(last) {
			last = later(last, pod.readUntil())
		}
	}
	return later(last, restarted)
}

// endOfTime is later than everything that a soak sees.
var endOfTime = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// allRolls returns the restarts of all workloads that rolled, in order.
func (m *Model) allRolls() (rolls []roll) {
	for ref, h := range m.workloads {
		for _, life := range h.lives() {
			rolls = append(rolls, m.rollsOf(ref, life, h.endOf(life))...)
		}
	}
	slices.SortFunc(rolls, func(a, b roll) int { return cmp.Compare(a.from, b.from) })
	return rolls
}

// rollsFor returns when other workloads that read a config rolled. A restart waits for them, and some time
// more until they have proven the content.
func (m *Model) rollsFor(config ConfigRef, not WorkloadRef) (found []span) {
	for i := range m.rolls {
		r := &m.rolls[i]
		if r.workload != not && slices.ContainsFunc(r.uses, func(u Use) bool { return u.Config == config }) {
			found = append(found, span{r.span.from, r.span.to.Add(m.options.Gate.Deadline)})
		}
	}
	return found
}

// judgeRolls finds restarts that began while as many others rolled as may, or while an earlier wave did.
// What was not observed does not count, nor do others that only their pods show, since nobody knows when the
// controllers have counted them.
func (m *Model) judgeRolls() (found []Violation) {
	if m.options.Gate.Limit == 0 {
		return nil
	}
	var open []*roll
	for i := range m.rolls {
		r := &m.rolls[i]
		open = slices.DeleteFunc(open, func(o *roll) bool { return !o.includes(r) || m.isBlindBetween(o.from, r.from) })
		m.tally.Rolling = max(m.tally.Rolling, len(open)+1)
		if len(open) >= m.options.Gate.Limit {
			found = append(found, Violation{r.workload, OverLimit, r.at, fmt.Sprintf("%d other restarts rolled, at most %d are allowed", len(open), m.options.Gate.Limit)})
		}
		for _, o := range open {
			if o.wave < r.wave && o.namespace() == r.namespace() {
				found = append(found, Violation{r.workload, OutOfTurn, r.at, fmt.Sprintf("it restarted in wave %d while %s %s of wave %d rolled", r.wave, o.workload.Kind, o.workload.Name, o.wave)})
				break
			}
		}
		if !r.byPods {
			open = append(open, r)
		}
	}
	return found
}

// isBlindBetween reports whether not everything was observed between two resource versions.
func (m *Model) isBlindBetween(from, to uint64) bool {
	return slices.ContainsFunc(m.gaps, func(g gap) bool { return g.from < to && from < g.to })
}
