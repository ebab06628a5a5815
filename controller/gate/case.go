package gate

import (
	"slices"
	"time"

	"kubernetes-deployment-restart-controller/catalog/names"
)

// Explain returns what [Ledger.Ask] would answer, and changes nothing.
func (l *Ledger) Explain(r *Request, now time.Time) Answer {
	m := l.members[r.Workload]
	if m == nil {
		m = &member{}
	}
	l.count(r.Workload.Namespace, m, -1) // the case is about the other workloads
	defer l.count(r.Workload.Namespace, m, +1)
	asking := *m
	asking.next = nil
	c := l.caseOf(r, &asking)
	return Admit(&c, now)
}

// caseOf returns what decides about a restart, which does not count yet. Neither does the workload.
func (l *Ledger) caseOf(r *Request, m *member) Case {
	c := Case{
		Hold: r.Hold, Halt: l.halts.find(r.Causes), Missing: r.Missing, Closed: r.Closed, Opens: r.Opens, Wait: r.Wait, CannotRoll: r.CannotRoll,
		AfterWave:  l.isAfterWave(r.Workload.Namespace, r.Wave),
		Standing:   r.Standing,
		TakesPlace: l.takesPlace(r) && !m.holdsPlace(),
		Places:     l.places.limit, Taken: l.places.taken + l.places.called, Own: l.places.in[r.Workload.Namespace],
	}
	for i := range r.Causes {
		cause := &r.Causes[i]
		if r.CannotRoll || !cause.IsGradual || cause.IsUrgent {
			continue
		}
		for _, id := range cause.fanOuts() {
			tally := l.tally(id, r.Workload.Namespace)
			if l.first.expects(r.Workload, id.Config) {
				tally.FailedDue-- // nobody waits for itself
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

// expects reports whether a workload is expected to go first for a config.
func (f *first) expects(ref names.WorkloadRef, config names.ConfigRef) bool {
	_, isExpected := f.by[ref][config]
	return isExpected
}
