package row

import "time"

// mattersFor is for how long it matters since when a pod is in a state.
var mattersFor = [...]int{Unstarted: 0, Starting: deadline + 1, Ready: soak, Unready: deadline + 1, Crashing: 0}

func flags(all ...bool) (b byte) {
	for i, f := range all {
		if f {
			b |= 1 << i
		}
	}
	return b
}

func (w *world) age(tick, most int) byte { return byte(min(max(0, w.now-tick), most)) }

func (w *world) ageOf(t time.Time, most int) byte {
	if t.IsZero() {
		return 255
	}
	return w.age(int(t.Unix()), most)
}

// encode returns the state in a form that is equal for equal states, whenever they are.
func (w *world) encode(b []byte) []byte {
	t := w.table
	for k := range keys {
		b = append(b, w.values[k], w.ageOf(t.current[configs[k]].since, longest))
		for _, broken := range w.broken[k] {
			b = append(b, broken)
		}
	}
	b = append(b, flags(w.isExcused), w.hurt)
	for i := range w.workloads {
		s := &w.workloads[i]
		b = append(b, flags(s.isOff, s.lacksNode, s.isReleased, s.isInconclusive, s.isSick), flags(s.isShown, s.evicts, s.evicting),
			s.replicas, s.template, s.record[0], s.record[1], byte(s.answer), s.lateRecord[0], s.lateRecord[1],
			byte(s.open[0]), byte(s.open[1]), byte(s.brings[0]), byte(s.brings[1]), s.base, s.replaced, w.age(s.opened, deadline), w.age(s.since, longest))
		for _, e := range []*Entry{s.entry, s.recorded, s.late} {
			b = w.appendEntry(b, e)
		}
		for _, p := range s.pods {
			if p.exists {
				b = append(b, flags(true, p.isOld, p.added[0], p.added[1]), p.template, p.reads[0], p.reads[1], byte(p.state), w.age(p.since, mattersFor[p.state]))
			} else {
				b = append(b, 0)
			}
		}
		r := t.rows[refs[i]]
		b = append(b, byte(r.state), byte(r.base), byte(r.missing), byte(r.replaced), flags(r.rollout == s.rollout), r.whole[0], r.restarted[0], flags(r.hasBroken, !r.failed.IsZero()))
		b = append(b, w.ageOf(r.crashing, judging))
		if r.isExposed() {
			b = append(b, w.ageOf(r.since, longest), w.ageOf(r.progressed, 2*deadline))
		}
		b = append(b, byte(len(r.contents)))
		for _, e := range r.contents {
			b = append(b, e.Config.Name[0], e.ID[0], flags(e.isOpened, e.isSuspect, e.isGradual))
		}
		b = append(b, flags(r.waitsForTurn(), r.waitsFor == Halted), byte(len(r.due)))
		for _, c := range r.due {
			b = append(b, c.Config.Name[0], c.ID[0])
		}
		runs := [keys]byte{9, 9}
		for _, c := range r.runs {
			runs[c.Config.Name[0]-'A'] = c.ID[0]
		}
		b = append(b, runs[:]...)
	}
	for _, h := range t.halts {
		b = append(b, h.Content.Config.Name[0], h.Content.ID[0], byte(len(h.failures)))
		for _, f := range h.failures {
			b = append(b, f.workload.Name[1], t.order(f), byte(f.base), byte(f.missing), f.whole[0], f.restarted[0])
		}
	}
	return b
}

// order returns a number that is the same for the contents with which a workload failed at the same time.
func (t *Table) order(f failure) (earlier byte) {
	for _, h := range t.halts {
		if o := h.failureOf(f.workload); o != nil && o.at.Before(f.at) {
			earlier++
		}
	}
	return earlier
}

func (w *world) appendEntry(b []byte, e *Entry) []byte {
	if e == nil {
		return append(b, 0)
	}
	b = append(b, byte(1+len(e.Contents)), w.ageOf(e.Since, longest), w.ageOf(e.Written, longest), byte(e.Base), byte(e.Missing), e.Whole[0], e.Restarted[0], flags(e.HasBroken))
	for _, c := range e.Contents {
		b = append(b, c.Config.Name[0], c.ID[0], flags(c.IsOpened, c.IsSuspect))
	}
	return b
}
