package gate

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

// isEmpty reports whether nobody waits.
func (l *line) isEmpty() bool { return len(l.entries) == l.left }

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

// next removes and returns the first restart that waits, nil if there is none.
func (l *line) next() *restart {
	for len(l.entries) > 0 {
		first := l.entries[0]
		l.entries[0] = nil // for the garbage collector
		l.entries = l.entries[1:]
		if first.phase == waiting {
			return first
		}
		l.left--
	}
	l.entries = nil
	return nil
}
