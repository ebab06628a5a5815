package gate

import (
	"cmp"
	"hash/maphash"
	"slices"
	"time"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/internal/counts"
)

// FanOut names a fan-out: the content that one edit of a config made. All keys that changed at the
// same moment belong to it; an edit of other keys begins another one. The moment is 0 for all edits
// that no watch showed, such as those from before the process began to watch.
type FanOut struct {
	Config names.ConfigRef
	Moment names.Sequence
}

// fanOut counts what the restarts of one fan-out are doing.
type fanOut struct {
	id      FanOut
	since   time.Time // when the first restart was due
	members int       // restarts that are due or under way
	waiting int       // those of them that have not begun, as far as is known
	refused int       // those of the latter that the API server has refused
	// unproven are those of which nothing is to be seen and that keep their slots.
	unproven int
	twice    int // those that are not known to have begun of workloads that have another one here
	// delivered is how many restarts have proven the content. running is how many other workloads ran
	// with it already, once that was counted.
	delivered, running int
	// keys are the changed keys that the first reader sees, and otherKeys what others see. provenBy counts those that have proven the
	// content, or ran with it, by what they see: they prove nothing for those that see other keys.
	keys      keySet
	otherKeys map[names.WorkloadRef]keySet
	provenBy  map[keySet]int
	// mended is how many more were delivered that prove nothing; see canProve.
	mended    int
	isCounted bool
	// unserved are the workloads that have no restart in the fan-out any more, because theirs ended in another way, or
	// never began. One that is tried again is no longer among them. unlisted counts those beyond maxUnserved, one of which
	// may count repeatedly.
	unserved   map[names.WorkloadRef]struct{}
	unlisted   int
	kept       counts.By[string] // how many are unserved of all fan-outs, by namespace; the ledger's
	slotsTaken int               // restarts in flight, and those that were called
	parts      []*part           // sorted by namespace; there are several only in a group
	// fresh counts the restarts in turn of the namespaces that have had no turn yet, and that expect nobody.
	fresh [Unwell + 1]int
	first *first // the ledger's
}

// keySet is a hash of the changed keys that a reader sees. It is always zero where the readers do not all know them: in the fan-out of
// edits that no watch showed, in that of a group, whose content is that of whole copies, and in that of a CSI class.
type keySet uint64

var keySeed = maphash.MakeSeed()

// keySetIn returns the set of keys in a fan-out.
func keySetIn(id FanOut, keys []string) keySet {
	if id.Moment == 0 || IsGroup(id.Config) || id.Config.Kind.IsPerPod() {
		return 0
	}
	var sum maphash.Hash
	sum.SetSeed(keySeed)
	for _, key := range keys {
		_, _ = sum.WriteString(key) // a hash never fails to write
		_ = sum.WriteByte(0)
	}
	return keySet(sum.Sum64())
}

// maxUnserved bounds what a fan-out remembers of workloads that are gone, and what all fan-outs together remember of those of one
// namespace, whose owner chooses how many there are of both.
const maxUnserved = 1000

// part is what a fan-out consists of in one namespace.
type part struct {
	namespace     string
	expects       bool // that somebody goes first, for whom its own restarts wait; in a group
	called, ended int  // restarts that were called or are under way, and those that are over
	slotsTaken    int
	inTurn        [Unwell + 1]int // restarts that wait for others, by standing
	lines         [Unwell + 1]line
}

// turns returns how many turns the namespace has had.
func (p *part) turns() int { return p.called + p.ended }

func (l *Ledger) fanOut(id FanOut) *fanOut {
	f := l.fanOuts[id]
	if f == nil {
		f = &fanOut{id: id, kept: l.unserved, first: &l.first}
		l.fanOuts[id] = f
		if l.byConfig[id.Config] == nil {
			l.byConfig[id.Config] = make(map[*fanOut]struct{})
		}
		l.byConfig[id.Config][f] = struct{}{}
	}
	return f
}

// find returns where the part of a namespace is, or belongs.
func (f *fanOut) find(namespace string) (i int, found bool) {
	return slices.BinarySearchFunc(f.parts, namespace, func(p *part, namespace string) int { return cmp.Compare(p.namespace, namespace) })
}

func (f *fanOut) part(namespace string) *part {
	i, found := f.find(namespace)
	if !found {
		isGroup := IsGroup(f.id.Config)
		f.parts = slices.Insert(f.parts, i, &part{namespace: namespace, expects: isGroup && f.expected(namespace) > 0})
	}
	return f.parts[i]
}

// count adds what a restart contributes, or takes it away.
func (f *fanOut) count(r *restart, sign int) {
	f.members += sign
	if sign > 0 {
		f.forget(r.workload)
	}
	switch {
	case r.phase == unproven:
		f.unproven += sign
	case r.phase <= admitted:
		f.waiting += sign
		if r.isRefused {
			f.refused += sign
		}
	}
	p := f.part(r.workload.Namespace)
	f.countFresh(p, -1)
	defer f.countFresh(p, +1)
	if f.takesSlot(r) {
		f.slotsTaken += sign
		p.slotsTaken += sign
	}
	if r.isInTurn() && f.letsGoFirst(r, p) {
		p.inTurn[r.standing] += sign
	}
	if r.takesTurn() {
		p.called += sign
	}
}

// leaveOut notes that a workload has no restart in the fan-out any more, and did not get the content.
func (f *fanOut) leaveOut(ref names.WorkloadRef) {
	if f.unserved == nil {
		f.unserved = make(map[names.WorkloadRef]struct{})
	}
	_, isListed := f.unserved[ref]
	switch {
	case isListed:
	case len(f.unserved) >= maxUnserved, f.kept[ref.Namespace] >= maxUnserved:
		f.unlisted++
	default:
		f.unserved[ref] = struct{}{}
		f.kept.Add(ref.Namespace, +1)
	}
}

// forget forgets that a workload did not get the content, if it is listed.
func (f *fanOut) forget(ref names.WorkloadRef) {
	if _, isListed := f.unserved[ref]; isListed {
		delete(f.unserved, ref)
		f.kept.Add(ref.Namespace, -1)
	}
}

// noteEnd notes that a restart in a namespace is over.
func (f *fanOut) noteEnd(namespace string) {
	p := f.part(namespace)
	f.countFresh(p, -1)
	p.ended++
	f.countFresh(p, +1)
}

// expected returns how many workloads of a namespace are expected to go first.
func (f *fanOut) expected(namespace string) int { return f.first.count(f.id.Config, namespace) }

// noteExpected notes that other workloads of a namespace of a group are expected to go first.
func (f *fanOut) noteExpected(namespace string) {
	if i, found := f.find(namespace); found {
		p := f.parts[i]
		f.countFresh(p, -1)
		p.expects = f.expected(namespace) > 0
		f.countFresh(p, +1)
	}
}

// isFresh reports whether those of other namespaces wait for those of a namespace that are in turn.
func (p *part) isFresh() bool { return p.turns() == 0 && !p.expects }

func (f *fanOut) countFresh(p *part, sign int) {
	if !p.isFresh() {
		return
	}
	for standing, count := range p.inTurn {
		f.fresh[standing] += sign * count
	}
}

// letsGoFirst reports whether others wait for a restart whose turn is earlier. In a group, that is only so while it waits
// for the group itself: for how long it waits for a place, or for another fan-out, depends on its own namespace, which
// may not keep others from restarting.
func (f *fanOut) letsGoFirst(r *restart, p *part) bool {
	return !IsGroup(f.id.Config) || r.line == &p.lines[r.standing]
}

// takesSlot reports whether a restart occupies a slot. In a group, one that has begun does so for a limited time, so that no
// namespace can keep others from restarting. The restart of a workload that is unwell never proves anything, so
// nobody waits for it; but in a group, it keeps its turn once it was called. What is urgent in one namespace of a group waits for no turn,
// and takes none from the others.
func (f *fanOut) takesSlot(r *restart) bool {
	isGroup := IsGroup(f.id.Config)
	switch {
	case isGroup && r.isUrgent:
		return false
	case r.phase == called:
		return isGroup || r.standing != Unwell
	case r.phase > called:
		return r.standing != Unwell && !(r.freesSlot && isGroup)
	}
	return false
}

// canProve reports whether the content is proven for others when a restart is delivered. In a group, whoever marks a copy as urgent
// could restart any number of workloads otherwise that do not use it.
func (f *fanOut) canProve(r *restart) bool {
	return r.standing != Unwell && !(r.isUrgent && IsGroup(f.id.Config))
}

// proven returns how many workloads run with the content.
func (f *fanOut) proven() int { return f.delivered + f.running }

// provenFor returns how many of them prove it for a reader that sees these keys.
func (f *fanOut) provenFor(keys keySet) int { return f.provenBy[keys] }

func (f *fanOut) prove(keys keySet, count int) {
	if f.provenBy == nil {
		f.provenBy = make(map[keySet]int)
	}
	f.provenBy[keys] += count
}

// noteReader notes which keys a reader sees.
func (f *fanOut) noteReader(ref names.WorkloadRef, keys keySet, now time.Time) {
	if f.since.IsZero() {
		f.since, f.keys = now, keys
	}
	if keys == f.keys {
		delete(f.otherKeys, ref)
		return
	}
	if f.otherKeys == nil {
		f.otherKeys = make(map[names.WorkloadRef]keySet)
	}
	f.otherKeys[ref] = keys
}

func (f *fanOut) keysOf(ref names.WorkloadRef) keySet {
	if keys, seesOthers := f.otherKeys[ref]; seesOthers {
		return keys
	}
	return f.keys
}

// deliver notes that a reader runs with the content.
func (f *fanOut) deliver(ref names.WorkloadRef) {
	f.delivered++
	f.prove(f.keysOf(ref), 1)
}

// tally returns what decides about another restart of a fan-out in a namespace. Restarts that were called occupy a
// slot, so that no other takes it from them.
func (l *Ledger) tally(id FanOut, namespace string, keys keySet) Tally {
	if f := l.fanOuts[id]; f != nil {
		return f.tally(f.part(namespace), keys)
	}
	return Tally{FanOut: id, Due: [Unwell + 1]int{Failed: l.first.count(id.Config, namespace)}}
}

// tally returns what decides about another restart. Those of a namespace that has had its turn, or expects somebody, go
// first only there.
func (f *fanOut) tally(p *part, keys keySet) Tally {
	t := Tally{FanOut: f.id, Proven: f.provenFor(keys), InFlight: f.slotsTaken, OwnInFlight: p.slotsTaken, Due: f.fresh}
	for standing, due := range p.inTurn {
		if !p.isFresh() {
			t.Due[standing] += due
		}
	}
	t.Due[Failed] += f.expected(p.namespace)
	return t
}

// callNext calls those whose turn it may be in a fan-out, and forgets the fan-out if it is over.
func (l *Ledger) callNext(f *fanOut) {
	if f.members == 0 {
		l.finish(f)
		return
	}
	for r := f.next(); r != nil; r = f.next() {
		l.call(r)
	}
}

// next takes the restart whose turn it is out of its line, and returns it; nil if it is nobody's turn. The namespace
// that has had the fewest turns comes first, so that none waits for all restarts of another one.
func (f *fanOut) next() *restart {
	if f.slotsTaken >= max(1, f.proven()) {
		return nil
	}
	var turn *line
	fewest := 0
	for _, p := range f.parts {
		if turn != nil && p.turns() >= fewest {
			continue
		}
		if line := f.turnIn(p); line != nil {
			turn, fewest = line, p.turns()
		}
	}
	if turn == nil {
		return nil
	}
	return turn.next()
}

// turnIn returns the line of a namespace whose first restart might begin, nil if there is none. Those behind it wait with it.
func (f *fanOut) turnIn(p *part) *line {
	for standing := range p.lines {
		first := p.lines[standing].first()
		if first == nil {
			continue
		}
		if t := f.tally(p, f.keysOf(first.workload)); t.admits(Standing(standing)) {
			return &p.lines[standing]
		}
	}
	return nil
}

// NeedsCount reports whether it is not known yet how many workloads run with the content of a fan-out
// without a restart of its own; see [Ledger.CountRunning].
func (l *Ledger) NeedsCount(id FanOut) bool {
	f := l.fanOuts[id]
	return f != nil && !f.isCounted
}

// CountRunning takes in which workloads run with the content of a fan-out, whatever brought it to them, and which restarted
// for it and do not run.
func (l *Ledger) CountRunning(id FanOut, running []catalog.Runner, failed ...names.WorkloadRef) {
	f := l.fanOuts[id]
	if f == nil || f.isCounted {
		return
	}
	isOther := func(ref names.WorkloadRef) bool {
		m := l.members.Of(ref)
		return m == nil || !slices.Contains(m.fanOuts(), f)
	}
	total, others := 0, make(map[keySet]int)
	for i := range running {
		if isOther(running[i].Workload) {
			total++
			others[keySetIn(id, running[i].Keys)]++
		}
	}
	for _, ref := range failed {
		if isOther(ref) {
			f.leaveOut(ref)
		}
	}
	f.isCounted, f.running = true, max(0, total-f.delivered) // those that were delivered run, too
	for keys, count := range others {
		f.prove(keys, max(0, count-f.provenBy[keys]))
	}
	l.callNext(f)
}
