package gate

import "slices"

// line holds restarts in the order in which they began to wait. A restart that leaves early stays in it
// as an entry without effect, so that leaving takes constant time on average.
type line struct {
	entries []*restart
	left    int // entries without effect
}

func (l *line) join(r *restart) {
	r.line = l
	l.entries = append(l.entries, r)
}

// leave notes that a restart does not wait any more.
func (l *line) leave() {
	if l.left++; l.left <= len(l.entries)/2 {
		return
	}
	kept := make([]*restart, 0, len(l.entries)-l.left)
	for _, r := range l.entries {
		if r.phase == waiting {
			kept = append(kept, r)
		}
	}
	l.entries, l.left = kept, 0
}

// first returns the first restart that waits, nil if there is none.
func (l *line) first() *restart {
	for len(l.entries) > 0 {
		if first := l.entries[0]; first.phase == waiting {
			return first
		}
		l.drop()
		l.left--
	}
	l.entries = nil
	return nil
}

// next removes and returns it.
func (l *line) next() *restart {
	first := l.first()
	if first != nil {
		l.drop()
	}
	return first
}

func (l *line) drop() {
	l.entries[0] = nil // for the garbage collector
	l.entries = l.entries[1:]
}

// join makes the next restart of a workload wait for the reason of an answer. There is no line for what
// only time or a person changes.
func (l *Ledger) join(m *Member, answer *Answer) {
	r := m.next
	r.waitsFor = uint8(slices.Index(Reasons, answer.Reason))
	if !answer.Until.IsZero() {
		return
	}
	switch answer.Reason {
	case SlowStart:
		l.fanOut(answer.FanOut).part(r.workload.Namespace).lines[r.standing].join(r)
	case Limit:
		l.places.lineOf(r.workload.Namespace).join(r)
	case Wave:
		l.waveOf(r.workload.Namespace).of(m.wave).line.join(r)
	case Halted:
		answer.Halt.line.join(r)
	}
}

// call tells a restart that waited to ask again.
func (l *Ledger) call(r *restart) {
	m := l.members.Of(r.workload)
	l.count(r.workload.Namespace, m, -1)
	r.phase = called
	l.count(r.workload.Namespace, m, +1)
	l.wake(r.workload)
}
