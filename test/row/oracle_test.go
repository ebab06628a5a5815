package row

import (
	"fmt"
	"slices"
)

// isBadFor reports whether a workload of the template service does not run with a value of a key.
func isBadFor(i int, value uint8) bool {
	return value == bad || value == fades || value == hangs && i == 2
}

// mayFail reports whether a workload may have failed: its template is another one, one of its pods reads what is bad for it, or
// one of the contents that it failed with is, if there are any.
func (w *world) mayFail(i int) bool {
	s := &w.workloads[i]
	if s.isReleased || slices.ContainsFunc(s.pods[:], func(p simPod) bool { return isBadFor(i, p.reads[keyA]) || isBadFor(i, p.reads[keyB]) }) {
		return true
	}
	isBlamed := false
	for _, e := range w.table.rows[refs[i]].contents {
		isBlamed = isBlamed || e.isSuspect
		if e.isSuspect && isBadFor(i, e.ID[0]-'0') {
			return true
		}
	}
	return !isBlamed || w.hurt&(1<<i) != 0
}

// judge notes which workloads are broken by a bad content, and for which of them a restart of ours brought it.
func (w *world) judge(i int) {
	s := &w.workloads[i]
	for _, p := range s.pods {
		isStuck := p.state == Crashing || (p.state == Starting || p.state == Unready) && w.now-p.since > deadline
		for k := range keys {
			if !p.exists || p.template != service || !isStuck || !isBadFor(i, p.reads[k]) {
				continue
			}
			w.hurt |= 1 << i
			if p.added[k] && !s.isInconclusive {
				w.broken[k][p.reads[k]] |= 1 << i
			}
		}
	}
}

// closeExposures closes the exposures that are proven, judged, or have come to their deadline.
func (w *world) closeExposures(i int) {
	s := &w.workloads[i]
	r := w.table.rows[refs[i]]
	replaced := s.countReplaced()
	for k := range keys {
		for v := range uint8(values) {
			if s.open[k]&(1<<v) == 0 {
				continue
			}
			count := uint8(0)
			for _, p := range s.pods {
				if p.exists && p.state == Ready && p.reads[k] == v && w.now-p.since >= soak {
					count++
				}
			}
			if count >= max(1, min(s.base, s.replicas)) {
				s.open[k] &^= 1 << v
			}
		}
	}
	if replaced > s.replaced {
		s.replaced, s.opened = replaced, w.now
	}
	if r.state == Failed {
		s.open = [keys]values8{}
	}
	if r.state == Inconclusive && !s.isDown(w.now) { // rightly so
		s.isInconclusive = true
	}
	if s.open != [keys]values8{} && (w.now-s.opened >= deadline || w.now-s.since >= longest) && r.state != Uncertain && r.state != Writing {
		s.open = [keys]values8{}
	}
	if s.open == [keys]values8{} {
		s.base, s.replaced, s.since, s.opened = 0, 0, 0, 0
		if r.state == Settled {
			s.brings = [keys]values8{}
		}
	}
	if r.state == Settled || r.state == Failed { // which the halts have
		s.entry, s.recorded = nil, nil
	}
}

// isDown reports whether a pod has not been ready for a deadline, although it has started.
func (s *simWorkload) isDown(now int) bool {
	return slices.ContainsFunc(s.pods[:], func(p simPod) bool {
		return p.exists && p.state != Ready && p.state != Unstarted && now-p.since >= deadline
	})
}

func (s *simWorkload) countReplaced() (count uint8) {
	for _, p := range s.pods {
		if p.exists && !p.isOld && p.state == Ready {
			count++
		}
	}
	return count
}

// open opens exposures.
func (w *world) open(i int, changes []Change) {
	s := &w.workloads[i]
	if s.open == [keys]values8{} {
		s.isInconclusive, s.since = false, w.now
		if w.table.rows[refs[i]].failed.IsZero() {
			s.base = 0
			for _, p := range s.pods {
				if p.exists && p.state == Ready && w.now-p.since >= soak {
					s.base++
				}
			}
			s.base = min(s.base, s.replicas)
		}
	}
	s.replaced, s.opened = 0, w.now
	for _, c := range changes {
		k, v := keyAndValue(c.Content)
		s.open[k] |= 1 << v
	}
}

// keyAndValue returns the key and the value that a content is.
func keyAndValue(c Content) (k int, v uint8) { return int(c.Config.Name[0] - 'A'), c.ID[0] - '0' }

// checkSlots checks the invariant just before a restart begins.
func (w *world) checkSlots(i int, changes []Change) {
	for _, c := range changes {
		k, v := keyAndValue(c.Content)
		if w.workloads[i].open[k]&(1<<v) != 0 {
			continue
		}
		exposed, proofs := 0, 0
		for j := range w.workloads {
			if j == i {
				continue
			}
			switch {
			case w.workloads[j].open[k]&(1<<v) != 0:
				exposed++
			case w.proves(j, k, v):
				proofs++
			}
		}
		if exposed >= max(1, proofs) {
			w.problem = fmt.Sprintf("%s restarts with %s=%d, beside %d exposed and %d proofs", refs[i].Name, c.Config.Name, v, exposed, proofs)
		}
	}
}

func (w *world) proves(i, k int, v uint8) bool {
	s := &w.workloads[i]
	count := 0
	for _, p := range s.pods {
		if !p.exists {
			continue
		}
		if p.state != Ready || p.reads[k] != v || w.now-p.since < soak {
			return false
		}
		count++
	}
	return count > 0 && count == int(s.replicas)
}

// reopen opens what was closed without a verdict.
func (s *simWorkload) reopen(entry *Entry) {
	if s.open == [keys]values8{} {
		s.since, s.base = int(entry.Since.Unix()), uint8(entry.Base)
	}
	for _, c := range entry.Contents {
		if k, v := keyAndValue(c.Content); c.IsOpened {
			s.open[k] |= 1 << v
		}
	}
}

// check returns what is wrong.
func (w *world) check() string {
	if w.problem != "" {
		return w.problem
	}
	for k := range keys {
		for v, broken := range w.broken[k] {
			if broken&(broken-1) != 0 {
				return fmt.Sprintf("%s=%d breaks two workloads", configs[k].Name, v)
			}
		}
	}
	return ""
}

// checkEnd returns what is wrong when nothing happens any more.
func (w *world) checkEnd() string {
	for i := range w.workloads {
		if !w.isDue(i) {
			continue
		}
		switch reason := w.clone().table.Ask(refs[i], w.changes(i), w.pods(i), at(w.now)); {
		case reason != Halted:
			return fmt.Sprintf("%s waits for ever: %s", refs[i].Name, reason)
		case w.isInOrder():
			return fmt.Sprintf("%s is halted for ever", refs[i].Name)
		}
	}
	return ""
}

// isInOrder reports whether nothing is bad any more, so that no content should be halted.
func (w *world) isInOrder() bool {
	for i := range w.workloads {
		if s := &w.workloads[i]; s.isReleased || s.isSick || s.isOff || s.lacksNode || s.replicas == 0 {
			return false
		}
	}
	const everywhere = 2 // what is bad for others is bad for w2
	return !isBadFor(everywhere, w.values[keyA]) && !isBadFor(everywhere, w.values[keyB])
}
