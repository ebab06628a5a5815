package row

import (
	"fmt"
	"slices"
)

func (w *world) watch() {
	for i := range w.workloads {
		w.judge(i)
		failed := w.table.row(refs[i]).failed
		hadBroken := w.table.row(refs[i]).hasBroken
		w.table.See(refs[i], w.pods(i), at(w.now))
		if s := &w.workloads[i]; s.entry != nil && !hadBroken && w.table.rows[refs[i]].hasBroken {
			s.entry = w.table.EntryOf(refs[i], at(w.now))
		}
		if r := w.table.rows[refs[i]]; !r.failed.IsZero() && r.failed != failed && !w.mayFail(i) {
			w.problem = fmt.Sprintf("%s has failed with nothing that is bad", refs[i].Name)
		}
		w.closeExposures(i)
	}
}

// isDue reports whether a pod does not run what the configs hold, and no rollout is about to replace it.
func (w *world) isDue(i int) bool {
	s := &w.workloads[i]
	if s.isOff || s.replicas == 0 {
		return false
	}
	isStopped := s.evicting && !w.table.rows[refs[i]].isExposed()
	for _, p := range s.pods {
		if p.exists && (!p.isOld || isStopped) && (p.state == Unstarted && s.record != w.values || p.state != Unstarted && p.reads != w.values) {
			return true
		}
	}
	return false
}

func (w *world) changes(i int) (changes []Change) {
	pods := w.pods(i)
	for k := range keys {
		if c := contents[k][w.values[k]]; !pods.allRead(c) {
			changes = append(changes, Change{Content: c, IsGradual: true})
		}
	}
	return changes
}

// control is what the controller does about a workload.
func (w *world) control(i int) {
	s := &w.workloads[i]
	t := w.table
	if t.rows[refs[i]].state == Uncertain {
		s.opened = w.now
		s.late = nil // it looks, and fences if the write is not there
		t.Resolved(refs[i], s.isShown, at(w.now))
		return
	}
	if !w.isDue(i) {
		if !s.isOff && s.record != w.values && !s.hasOld() {
			s.record = w.values
		}
		t.NotDue(refs[i])
		return
	}
	changes := w.changes(i)
	if t.Ask(refs[i], changes, w.pods(i), at(w.now)) != "" {
		return
	}
	w.write(i, changes)
}

func (s *simWorkload) hasOld() bool {
	return slices.ContainsFunc(s.pods[:], func(p simPod) bool { return p.exists && p.isOld })
}

func (w *world) write(i int, changes []Change) {
	s := &w.workloads[i]
	before := *s
	if w.table.rows[refs[i]].isExposed() {
		w.checkSlots(i, changes)
		w.open(i, changes)
		if w.table.NeedsEntry(refs[i]) {
			s.entry = w.table.EntryOf(refs[i], at(w.now))
		}
	}
	answer := s.answer
	s.answer, s.isShown = accepts, answer == refuses && s.isShown
	switch answer {
	case accepts:
		s.carryOut(w, w.values, w.table.EntryOf(refs[i], at(w.now)))
		w.table.Accepted(refs[i], at(w.now))
	case refuses:
		*s = before
		s.answer = accepts
		w.table.Refused(refs[i])
	case loses:
		s.carryOut(w, w.values, w.table.EntryOf(refs[i], at(w.now)))
		w.table.Lost(refs[i])
	case delays:
		s.late, s.lateRecord = w.table.EntryOf(refs[i], at(w.now)), w.values
		w.table.Lost(refs[i])
	case dies:
		if s.entry == nil {
			*s = before
			s.answer = accepts
		}
		w.takeOver()
	case diesLate:
		s.carryOut(w, w.values, w.table.EntryOf(refs[i], at(w.now)))
		w.takeOver()
	}
}

// carryOut is what the API server does with our patch.
func (s *simWorkload) carryOut(w *world, record [keys]uint8, recorded *Entry) {
	s.record, s.recorded, s.late, s.isShown = record, recorded, nil, true
	s.newRollout()
	s.evicting = s.evicts
	for _, p := range s.pods {
		for k := range keys {
			if p.exists && p.state == Ready && p.reads[k] != w.values[k] {
				s.brings[k] |= 1 << w.values[k]
			}
		}
	}
}

// newRollout is a restart, whoever makes it.
func (s *simWorkload) newRollout() {
	s.brings, s.evicting = [keys]values8{}, false
	s.rollout++
	for p := range s.pods {
		s.pods[p].isOld = s.pods[p].exists
	}
}

// takeOver lets another process lead. Of the halts, nothing is lost.
func (w *world) takeOver() {
	halts, current := w.table.halts, w.table.current
	w.table = New(testPolicy)
	w.table.current = current // the API server has the times of edits
	for _, h := range halts {
		w.table.RestoreHalt(h)
	}
	for i := range w.workloads {
		s := &w.workloads[i]
		s.opened, s.replaced = w.now, s.countReplaced()
		if s.entry == nil && s.recorded == nil { // nothing but a write that is not carried out
			s.open = [keys]values8{}
		}
		for _, entry := range []*Entry{s.recorded, s.entry} {
			if entry != nil {
				w.table.Restore(refs[i], entry, s.isShown, at(w.now))
				s.reopen(entry)
			}
		}
		w.table.See(refs[i], w.pods(i), at(w.now))
		w.closeExposures(i)
	}
}
