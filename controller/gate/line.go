package gate

// line holds restarts in the order in which they began to wait. A restart that leaves early stays in it
// as an entry without effect, so that leaving takes constant time on average.
type line struct {
	entries []entry
	left    int // entries without effect
}

// entry is one wait of a restart.
type entry struct {
	restart *restart
	ticket  ticket
}

// ticket identifies one wait of a restart.
type ticket uint64

// hasEffect reports whether the restart still waits in this place.
func (e entry) hasEffect() bool { return e.restart.phase == waiting && e.restart.ticket == e.ticket }

func (l *line) join(r *restart) { l.entries = append(l.entries, entry{r, r.ticket}) }

// leave notes that a restart does not wait any more.
func (l *line) leave() {
	if l.left++; l.left <= len(l.entries)/2 {
		return
	}
	kept := make([]entry, 0, len(l.entries)-l.left)
	for _, e := range l.entries {
		if e.hasEffect() {
			kept = append(kept, e)
		}
	}
	l.entries, l.left = kept, 0
}

// next removes and returns the first restart that waits, nil if there is none.
func (l *line) next() *restart {
	for len(l.entries) > 0 {
		first := l.entries[0]
		l.entries[0] = entry{} // for the garbage collector
		l.entries = l.entries[1:]
		if first.hasEffect() {
			return first.restart
		}
		l.left--
	}
	l.entries = nil
	return nil
}
