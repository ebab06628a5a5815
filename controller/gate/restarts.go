package gate

import (
	"slices"
	"time"

	"kubernetes-deployment-restart-controller/catalog/names"
)

// Member is what the ledger knows of a workload. It is part of the row of the workload; only the ledger looks into it.
type Member struct {
	wave int16
	// isPending means that it is not known yet whether a restart is due.
	isPending bool
	current   *begun   // under way, or over without a verdict; nil if there is none
	next      *restart // due; nil if there is none
	// uncertain is a restart that the API server may have accepted without saying so; nil if there is none.
	uncertain *begun
}

// begun is a restart that has begun, or may have. Few members have one, and those that wait are very many.
type begun struct {
	restart
	at    time.Time // when it began, or may have
	first time.Time // when the first one began that it goes on with
	until time.Time // until when it keeps its slots if it is unproven
}

// of returns the restart itself, nil if there is none.
func (b *begun) of() *restart {
	if b == nil {
		return nil
	}
	return &b.restart
}

// restarts returns all of them; some may be nil.
func (m *Member) restarts() [3]*restart { return [3]*restart{m.current.of(), m.next, m.uncertain.of()} }

// restart is a restart that is due or under way. There are as many as workloads when a shared config
// changes, so they are small. Each answer that it has to wait makes a new one.
type restart struct {
	id         string
	workload   names.WorkloadRef
	gradual    *[]*fanOut // its fan-outs, shared with other restarts; nil if there are none
	line       *line      // where it waits; nil if only time or a person can change the answer
	waitsFor   uint8      // the index of its reason
	standing   Standing
	takesPlace bool
	freesSlot  bool // in the fan-out of a group, because it takes too long
	cannotRoll bool
	isUrgent   bool // for all its fan-outs
	wasCalled  bool // before it was admitted
	isRefused  bool // the API server has refused to let it begin, and it waits for nothing but others
	phase      phase
}

// fanOuts returns the gradual fan-outs that the restart is part of.
func (r *restart) fanOuts() []*fanOut {
	if r.gradual == nil {
		return nil
	}
	return *r.gradual
}

// reason returns what the restart waits for.
func (r *restart) reason() Reason { return Reasons[r.waitsFor] }

// phase is how far a restart has come.
type phase uint8

const (
	waiting  phase = iota // for what its reason says
	failing               // could not begin, and will ask again
	called                // waited, and should ask again
	admitted              // may begin
	rolling               // its pods are being replaced
	soaking               // all its pods run, but not for long
	unproven              // nothing of it is to be seen, and its deadline has not come
)

// takesTurn reports whether a restart counts as a turn of its namespace. One that waits for no turn does not take one.
func (r *restart) takesTurn() bool {
	return r.phase == called || r.phase > called && (r.wasCalled || r.standing != Unwell && !r.isUrgent)
}

// isInTurn reports whether the restart waits only for other restarts that are under way, so that those
// that come later can wait for it.
func (r *restart) isInTurn() bool {
	return r.phase <= called && r.phase != failing && (r.reason() == SlowStart || r.reason() == Limit)
}

// holdsPlace reports whether the workload counts for the limit.
func (m *Member) holdsPlace() bool {
	return m.uncertain != nil && m.uncertain.takesPlace ||
		m.current != nil && m.current.takesPlace && m.current.phase == rolling ||
		m.next != nil && m.next.takesPlace && m.next.phase == admitted
}

// isUnsettled reports whether later waves have to wait for the workload.
func (m *Member) isUnsettled() bool {
	return m.isPending || m.next != nil && !m.next.cannotRoll || m.current != nil && m.current.phase == rolling
}

func (m *Member) isEmpty() bool {
	return m.current == nil && m.next == nil && !m.isPending && m.uncertain == nil
}

// hasBegun reports whether a restart has begun that is not judged, or may have.
func (m *Member) hasBegun() bool { return m.current != nil || m.uncertain != nil }

// isFollowed reports whether a restart is under way.
func (m *Member) isFollowed() bool { return m.current != nil && m.current.phase != unproven }

// fail keeps the restart that is due, or that was uncertain, as one that could not begin.
func (m *Member) fail(r *restart) {
	failed := *r
	failed.phase, failed.line = failing, nil
	m.next = &failed
}

// turns returns the fan-outs in which it is the turn of a restart, which may be nil: it was admitted, also if it has begun
// since, or called from their line.
func (r *restart) turns() (all []*fanOut) {
	switch {
	case r == nil || !r.takesTurn():
	case r.phase >= admitted:
		return r.fanOuts()
	default:
		for _, f := range r.fanOuts() {
			if r.line == &f.part(r.workload.Namespace).lines[r.standing] {
				all = append(all, f)
			}
		}
	}
	return all
}

// endTurns notes that a restart does not begin although it was its turn, or is not followed to its end: its namespace has had
// its turn nevertheless, so that one in which all are refused, held, or deleted does not always come first.
func endTurns(namespace string, turns []*fanOut) {
	for _, f := range turns {
		f.noteEnd(namespace)
	}
}

// fanOuts returns the fan-outs that the workload is part of.
func (m *Member) fanOuts() (all []*fanOut) {
	for _, r := range m.restarts() {
		if r != nil {
			all = union(all, r.fanOuts())
		}
	}
	return all
}

// union returns the fan-outs of both lists, each once. It may return one of them.
func union(a, b []*fanOut) []*fanOut {
	if len(a) == 0 {
		return b
	}
	return slices.Concat(a, slices.DeleteFunc(slices.Clone(b), func(f *fanOut) bool { return slices.Contains(a, f) }))
}

// unserve notes that a restart does not bring its workload the content of all fan-outs of earlier ones. It is nil if none is
// due any more; so may the others be.
func unserve(due *restart, earlier ...*restart) {
	for _, r := range earlier {
		if r == nil {
			continue
		}
		for _, f := range r.fanOuts() {
			if due == nil || !slices.Contains(due.fanOuts(), f) {
				f.leaveOut(r.workload)
			}
		}
	}
}

// leave takes the next restart out of the line in which it waits.
func (m *Member) leave() {
	if r := m.next; r != nil && r.phase == waiting {
		r.phase = called // so that its entry in the line has no effect any more
		if r.line != nil {
			r.line.leave()
		}
	}
}
