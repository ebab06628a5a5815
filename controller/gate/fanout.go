package gate

import (
	"slices"
	"time"

	"kubernetes-deployment-restart-controller/catalog"
)

// fanOut counts what the restarts of one fan-out are doing.
type fanOut struct {
	id      FanOut
	since   time.Time // when the first restart was due
	members int       // restarts that are due or under way
	waiting int       // those of them that have not begun
	// delivered is how many restarts have proven the content. running is how many other workloads ran
	// with it already, once that was counted.
	delivered, running int
	unserved           int // restarts that ended in another way, or never began
	isCounted          bool
	inFlight, called   int
	inTurn             [Unwell + 1]int // restarts that wait for others, by standing
	lines              [Unwell + 1]line
}

func (l *Ledger) fanOut(id FanOut) *fanOut {
	f := l.fanOuts[id]
	if f == nil {
		f = &fanOut{id: id}
		l.fanOuts[id] = f
		if l.byConfig[id.Config] == nil {
			l.byConfig[id.Config] = make(map[*fanOut]struct{})
		}
		l.byConfig[id.Config][f] = struct{}{}
	}
	return f
}

// count adds what a restart contributes, or takes it away.
func (f *fanOut) count(r *restart, sign int) {
	f.members += sign
	if r.phase <= called {
		f.waiting += sign
	}
	switch {
	case r.isInFlight() && f.waitsFor(r):
		f.inFlight += sign
	case r.isCalled():
		f.called += sign
	}
	if r.isInTurn() && f.letsGoFirst(r) {
		f.inTurn[r.standing] += sign
	}
}

// letsGoFirst reports whether others wait for a restart whose turn is earlier. In a group, that is only so while it waits
// for the group itself: for how long it waits for a place, or for another fan-out, depends on its own namespace, which
// may not keep others from restarting.
func (f *fanOut) letsGoFirst(r *restart) bool {
	return !IsGroup(f.id.Config) || r.line == &f.lines[r.standing]
}

// waitsFor reports whether a restart that has begun occupies a slot. All of them take a place until others may
// have it, and then they let those go on who share a group: no namespace may keep others from restarting.
func (f *fanOut) waitsFor(r *restart) bool { return r.takesPlace || !IsGroup(f.id.Config) }

// proven returns how many workloads run with the content.
func (f *fanOut) proven() int { return f.delivered + f.running }

// tally returns what decides about another restart of a fan-out. Restarts that were called occupy a
// slot, so that no other takes it from them.
func (l *Ledger) tally(id FanOut) Tally {
	f := l.fanOuts[id]
	if f == nil {
		return Tally{FanOut: id, FailedDue: l.first.count(id.Config)}
	}
	return Tally{FanOut: id, Proven: f.proven(), InFlight: f.inFlight + f.called, FailedDue: f.inTurn[Failed] + l.first.count(id.Config), WellDue: f.inTurn[Well]}
}

// callNext calls those whose turn it may be in a fan-out, and forgets the fan-out if it is over.
func (l *Ledger) callNext(f *fanOut) {
	if f.members == 0 {
		l.finish(f)
		return
	}
	for standing := range f.lines {
		for f.isTurnOf(Standing(standing), l.first.count(f.id.Config)) {
			r := f.lines[standing].next()
			if r == nil {
				break
			}
			l.call(r)
		}
	}
}

// isTurnOf reports whether a further restart of that standing might begin, while so many workloads are
// expected that go first. Restarts that were called occupy a slot.
func (f *fanOut) isTurnOf(standing Standing, expected int) bool {
	t := Tally{Proven: f.proven(), InFlight: f.inFlight + f.called}
	if standing > Failed {
		t.FailedDue = f.inTurn[Failed] + expected
	}
	if standing > Well {
		t.WellDue = f.inTurn[Well]
	}
	return t.admits(standing)
}

// NeedsCount reports whether it is not known yet how many workloads run with the content of a fan-out
// without a restart of its own; see [Ledger.CountRunning].
func (l *Ledger) NeedsCount(id FanOut) bool {
	f := l.fanOuts[id]
	return f != nil && !f.isCounted
}

// CountRunning takes in which workloads run with the content of a fan-out, whatever brought it to them.
func (l *Ledger) CountRunning(id FanOut, running []catalog.WorkloadRef) {
	f := l.fanOuts[id]
	if f == nil || f.isCounted {
		return
	}
	others := 0
	for _, ref := range running {
		if m := l.members[ref]; m == nil || !slices.Contains(m.fanOuts(), f) {
			others++
		}
	}
	f.isCounted, f.running = true, max(0, others-f.delivered)
	l.callNext(f)
}
