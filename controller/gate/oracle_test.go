package gate

import (
	"cmp"
	"fmt"
	"slices"

	gocmp "github.com/google/go-cmp/cmp"

	"kubernetes-deployment-restart-controller/catalog/names"
)

// tallies are what the ledger counts while it goes, in a form that can be computed from its members as
// well.
type tallies struct {
	Taken    int
	UnderWay int
	In       map[string]int
	FanOuts  map[FanOut]fanOutTally
	Waves    map[string]map[int16]int
	Waiting  map[Reason]int
}

type fanOutTally struct {
	Members, Waiting, SlotsTaken int
	Fresh                        [Unwell + 1]int
	Parts                        map[string]partTally
}

type partTally struct {
	Turns, SlotsTaken int
	InTurn            [Unwell + 1]int
}

// kept returns the tallies that the ledger keeps.
func (l *Ledger) kept() tallies {
	t := tallies{
		Taken: l.places.taken, UnderWay: l.underWay, In: l.places.in,
		FanOuts: map[FanOut]fanOutTally{}, Waves: map[string]map[int16]int{}, Waiting: map[Reason]int{},
	}
	for id, f := range l.fanOuts {
		kept := fanOutTally{Members: f.members, Waiting: f.waiting, SlotsTaken: f.slotsTaken, Fresh: f.fresh, Parts: map[string]partTally{}}
		for _, p := range f.parts {
			kept.Parts[p.namespace] = partTally{p.turns(), p.slotsTaken, p.inTurn}
		}
		t.FanOuts[id] = kept
	}
	for namespace, w := range l.waves {
		t.Waves[namespace] = map[int16]int{}
		for _, wave := range w.all {
			if wave.unsettled != 0 {
				t.Waves[namespace][wave.number] = wave.unsettled
			}
		}
	}
	for reason, count := range l.waiting {
		if count != 0 {
			t.Waiting[reason] = count
		}
	}
	return t
}

// counted computes the tallies from the members.
func (l *Ledger) counted() tallies {
	t := tallies{In: map[string]int{}, FanOuts: map[FanOut]fanOutTally{}, Waves: map[string]map[int16]int{}, Waiting: map[Reason]int{}}
	for id, f := range l.fanOuts {
		if f.members == 0 {
			continue // it is over, and should be gone
		}
		t.FanOuts[id] = fanOutTally{Parts: map[string]partTally{}}
		for _, p := range f.parts {
			t.FanOuts[id].Parts[p.namespace] = partTally{Turns: p.ended} // which nobody else knows
		}
	}
	for ref, m := range l.members.All() {
		t.count(ref, m)
	}
	for id, f := range t.FanOuts {
		for namespace, p := range f.Parts {
			isExpecting := IsGroup(id.Config) && l.first.count(id.Config, namespace) > 0
			for standing, count := range p.InTurn {
				if p.Turns == 0 && !isExpecting {
					f.Fresh[standing] += count
				}
			}
		}
		t.FanOuts[id] = f
	}
	return t
}

func (t *tallies) count(ref names.WorkloadRef, m *Member) {
	if m.current != nil && m.current.phase != unproven {
		t.UnderWay++
	}
	if m.holdsPlace() {
		t.Taken++
		t.In[ref.Namespace]++
	}
	if m.isUnsettled() {
		if t.Waves[ref.Namespace] == nil {
			t.Waves[ref.Namespace] = map[int16]int{}
		}
		t.Waves[ref.Namespace][m.wave]++
	}
	for _, r := range []*restart{m.current.of(), m.next, m.uncertain.of()} {
		if r == nil {
			continue
		}
		for _, f := range r.fanOuts() {
			t.FanOuts[f.id] = t.FanOuts[f.id].with(r, f)
		}
		if r.phase == waiting {
			t.Waiting[r.reason()]++
		}
		if r.phase == called && r.reason() == Limit {
			t.Taken++
			t.In[ref.Namespace]++
		}
	}
}

func (f fanOutTally) with(r *restart, of *fanOut) fanOutTally {
	isOfGroup, namespace := IsGroup(of.id.Config), r.workload.Namespace
	own := f.Parts[namespace]
	f.Members++
	waitsForNoTurn := (r.standing == Unwell || r.isUrgent) && !r.wasCalled
	if r.phase == called || r.phase > called && !waitsForNoTurn {
		own.Turns++
	}
	isCalled, hasBegun := r.phase == called && !(r.isUrgent && isOfGroup), r.phase > called && !((r.freesSlot || r.isUrgent) && isOfGroup)
	if isCalled && isOfGroup || (isCalled || hasBegun) && r.standing != Unwell { // which proves nothing
		f.SlotsTaken++
		own.SlotsTaken++
	}
	if r.phase <= admitted {
		f.Waiting++
	}
	waitsForOthers := r.reason() == SlowStart || r.reason() == Limit
	if isOfGroup {
		waitsForOthers = r.reason() == SlowStart && r.line == &of.part(namespace).lines[r.standing]
	}
	if r.phase <= called && r.phase != failing && waitsForOthers {
		own.InTurn[r.standing]++
	}
	f.Parts[namespace] = own
	return f
}

// problem returns what is wrong with the ledger, empty if nothing is.
func (l *Ledger) problem() string {
	if diff := gocmp.Diff(l.counted(), l.kept()); diff != "" {
		return "tallies differ from the members (-members +tallies):\n" + diff
	}
	for ref, m := range l.members.All() {
		if r := m.next; r != nil && r.phase == waiting {
			if problem := l.problemOf(m, r); problem != "" {
				return fmt.Sprintf("%s: %s", ref, problem)
			}
		}
	}
	return l.leak()
}

// problemOf returns what is wrong with a restart that waits: it must be in its line, once, and must not
// wait for something that is over.
func (l *Ledger) problemOf(m *Member, r *restart) string {
	if r.line != nil {
		if i := slices.Index(r.line.entries, r); i < 0 || slices.Contains(r.line.entries[i+1:], r) {
			return fmt.Sprintf("waits for %s, but not once in its line", r.reason())
		}
	}
	over := false
	switch r.reason() {
	case SlowStart:
		if r.line == nil {
			break // it asks again by itself
		}
		i := slices.IndexFunc(r.fanOuts(), func(f *fanOut) bool { return r.line == &f.part(r.workload.Namespace).lines[r.standing] })
		f := r.fanOuts()[i]
		tally := l.tally(f.id, r.workload.Namespace, f.keysOf(r.workload))
		over = tally.admits(r.standing) && r.line.first() == r
	case Limit:
		over = hasPlace(l.policy.Limit-l.places.taken, l.places.in[r.workload.Namespace])
	case Wave:
		over = !l.isAfterWave(r.workload.Namespace, m.wave)
	case Halted:
		over = !l.isActive(r.line)
	}
	if over {
		return fmt.Sprintf("waits for %s, which is over", r.reason())
	}
	return ""
}

// isActive reports whether a line is that of an active halt.
func (l *Ledger) isActive(line *line) bool {
	for _, all := range l.halts.of {
		if slices.ContainsFunc(all, func(h *Halt) bool { return h.isActive && &h.line == line }) {
			return true
		}
	}
	for _, full := range l.halts.full {
		if &full.line == line {
			return true
		}
	}
	return false
}

// leak returns what the ledger keeps though nothing needs it.
func (l *Ledger) leak() string {
	for ref, m := range l.members.All() {
		if m.isEmpty() {
			return fmt.Sprintf("%s is kept", ref)
		}
	}
	for m := range l.begun {
		if r := cmp.Or(m.current.of(), m.uncertain.of()); r == nil || l.members.Of(r.workload) != m {
			return fmt.Sprintf("%+v is kept as begun", m)
		}
	}
	if l.size() > 0 {
		return ""
	}
	if len(l.fanOuts)+len(l.byConfig)+len(l.waves)+len(l.places.in)+len(l.places.lines)+len(l.places.turns)+len(l.begun) > 0 {
		return fmt.Sprintf("without members: %d fan-outs, waves of %d namespaces, places of %d, lines of %d, turns of %d",
			len(l.fanOuts), len(l.waves), len(l.places.in), len(l.places.lines), len(l.places.turns))
	}
	if len(l.halts.of) == 0 && l.halts.active+len(l.halts.in)+len(l.halts.full) > 0 {
		return fmt.Sprintf("without halts: %d active, %d namespaces, %d full", l.halts.active, len(l.halts.in), len(l.halts.full))
	}
	return ""
}
