package gate

import (
	"time"

	"kubernetes-deployment-restart-controller/catalog"
)

// member is what the ledger knows of a workload.
type member struct {
	wave int16
	// isPending means that it is not known yet whether a restart is due.
	isPending bool
	// uncertainSince is since when the API server may have accepted a restart without saying so; zero
	// if there is no such restart.
	uncertainSince time.Time
	current        *restart // under way; nil if there is none
	next           *restart // due; nil if there is none
}

// restart is a restart that is due or under way.
type restart struct {
	workload   catalog.WorkloadRef
	fanOuts    []FanOut // the gradual ones
	standing   Standing
	takesPlace bool
	cannotRoll bool
	phase      phase
	since      time.Time // when it asked first, or when it began
	// reason says what it waits for, with the fan-out or the halt, if it is one of these. ticket is its
	// place in the line.
	reason Reason
	awaits FanOut
	halt   *Halt
	ticket ticket
}

// phase is how far a restart has come.
type phase uint8

const (
	waiting  phase = iota // for what its reason says
	called                // waited, and should ask again
	admitted              // may begin
	rolling               // its pods are being replaced
	soaking               // all its pods run, but not for long
)

// isInFlight reports whether the restart has begun, or may begin, and has proven nothing yet. The
// restart of a workload that is unwell never proves anything.
func (r *restart) isInFlight() bool { return r.phase >= admitted && r.standing != Unwell }

// isCalled reports whether the restart occupies a slot until it has asked again.
func (r *restart) isCalled() bool { return r.phase == called && r.standing != Unwell }

// isInTurn reports whether the restart waits only for other restarts that are under way, so that those
// that come later can wait for it.
func (r *restart) isInTurn() bool {
	return r.phase <= called && (r.reason == SlowStart || r.reason == Limit)
}

// holdsPlace reports whether the workload counts for the limit.
func (m *member) holdsPlace() bool {
	return !m.uncertainSince.IsZero() ||
		m.current != nil && m.current.takesPlace && m.current.phase == rolling ||
		m.next != nil && m.next.takesPlace && m.next.phase == admitted
}

// isUnsettled reports whether later waves have to wait for the workload.
func (m *member) isUnsettled() bool {
	return m.isPending || m.next != nil && !m.next.cannotRoll || m.current != nil && m.current.phase == rolling
}

func (m *member) isEmpty() bool {
	return m.current == nil && m.next == nil && !m.isPending && m.uncertainSince.IsZero()
}

// fanOuts returns the fan-outs that the workload is part of.
func (m *member) fanOuts() []FanOut {
	var all []FanOut
	for _, r := range []*restart{m.current, m.next} {
		if r != nil {
			all = append(all, r.fanOuts...)
		}
	}
	return all
}

// leave takes the next restart out of the line in which it waits.
func (m *member) leave(l *Ledger) {
	if r := m.next; r != nil && r.phase == waiting {
		r.phase = called // so that its entry in the line has no effect any more
		if line := l.lineOf(r); line != nil {
			line.leave()
		}
	}
}

// join makes a restart wait in the line of its reason. There is no line for what only time or a person
// changes.
func (l *Ledger) join(r *restart) {
	l.tickets++
	r.ticket = l.tickets
	if line := l.lineOf(r); line != nil {
		line.join(r)
	}
}

func (l *Ledger) lineOf(r *restart) *line {
	switch r.reason {
	case SlowStart:
		return &l.fanOut(r.awaits).lines[r.standing]
	case Limit:
		return l.places.lineOf(r.workload.Namespace)
	case Wave:
		return &l.waveOf(r.workload.Namespace).of(l.members[r.workload].wave).line
	case Halted:
		return &r.halt.line
	}
	return nil
}

// call tells a restart that waited to ask again.
func (l *Ledger) call(r *restart) {
	m := l.members[r.workload]
	l.count(r.workload.Namespace, m, -1)
	r.phase = called
	l.count(r.workload.Namespace, m, +1)
	l.wake(r.workload)
}
