package gate

import (
	"slices"
	"time"
)

// Case is a restart that is due, with everything that decides when it may begin.
type Case struct {
	Request
	// Halt is the halt that concerns it, nil if there is none.
	Halt *Halt
	// AfterWave means that restarts of an earlier wave are not over.
	AfterWave bool
	// FanOuts are the gradual fan-outs that the restart is part of, without itself.
	FanOuts []Tally
	// TakesPlace means that the restart counts for the limit. Places are all places, Taken the
	// places that other restarts hold, and Own those of them in the same namespace.
	TakesPlace         bool
	Places, Taken, Own int
}

// Standing is how a workload is before its restart.
type Standing uint8

// The standings, in the order in which workloads of a fan-out restart.
const (
	// Failed workloads were broken by an earlier content of the fan-out's config, so they show best
	// whether the present content is right.
	Failed Standing = iota
	// Exposed workloads have got an earlier content of the fan-out's config that is not judged, so it may have broken them.
	Exposed
	// Well workloads run with all their pods.
	Well
	// Lacking workloads run with some of their pods.
	Lacking
	// Unwell workloads run with none. They prove nothing, and cannot break.
	Unwell
)

// Tally is what is known about the other workloads of a fan-out.
type Tally struct {
	FanOut FanOut
	// Proven is how many workloads run with the content.
	Proven int
	// InFlight is how many restarts have begun and have neither proven the content nor failed.
	InFlight int
	// OwnInFlight are those of them in the same namespace.
	OwnInFlight int
	// Due counts the workloads that wait for their turn, or are expected to, by their standing.
	Due [Unwell + 1]int
}

// Explain returns what [Ledger.Ask] would answer, and changes nothing.
func (l *Ledger) Explain(r *Request, now time.Time) Answer {
	m := l.members.Of(r.Workload)
	if m == nil {
		m = &Member{}
	}
	l.count(r.Workload.Namespace, m, -1) // the case is about the other workloads
	defer l.count(r.Workload.Namespace, m, +1)
	asking := *m
	asking.next = nil
	c := l.caseOf(r, &asking)
	return Admit(&c, now)
}

// caseOf returns what decides about a restart, which does not count yet. Neither does the workload.
func (l *Ledger) caseOf(r *Request, m *Member) Case {
	c := Case{
		Request: *r, Halt: l.halts.find(r.Causes), AfterWave: l.isAfterWave(r.Workload.Namespace, r.Wave),
		TakesPlace: l.takesPlace(r) && !m.holdsPlace(),
		Places:     l.policy.Limit, Taken: l.places.taken, Own: l.places.in[r.Workload.Namespace],
	}
	for i := range r.Causes {
		cause := &r.Causes[i]
		if r.CannotRoll || !cause.IsGradual || cause.IsUrgent {
			continue
		}
		for id := range cause.fanOuts() {
			tally := l.tally(id, r.Workload.Namespace, keySetIn(id, cause.Keys))
			if l.first.expects(r.Workload, id.Config) {
				tally.Due[Failed]-- // nobody waits for itself
			}
			c.FanOuts = append(c.FanOuts, tally)
		}
	}
	return c
}

// takesPlace reports whether a restart counts for the limit.
func (l *Ledger) takesPlace(r *Request) bool {
	isGradual := func(c Cause) bool { return c.IsGradual }
	return !r.CannotRoll && (l.policy.Gradual || slices.ContainsFunc(r.Causes, isGradual))
}
