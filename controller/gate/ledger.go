package gate

import (
	"slices"
	"time"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/controller/rows"
	"kubernetes-deployment-restart-controller/internal/counts"
)

// Policy determines how restarts are held back.
type Policy struct {
	// Gradual means that every restart counts for the limit, whatever its configs say.
	Gradual bool
	// Limit is how many restarts may be under way at the same time.
	Limit int
	// Failures is how many restarts may fail for one content before it is halted.
	Failures int
	// Deadline is how long a restart keeps its slots that is not judged.
	Deadline time.Duration
}

// Request is a restart that is due and asks to begin.
type Request struct {
	Workload names.WorkloadRef
	// ID tells the restarts of the workload apart, once they have begun; see [Ledger.Current].
	ID string
	// Hold is why people hold the restart, empty if they do not.
	Hold string
	// Missing says what does not exist that the new pods need to start, empty if they can start.
	Missing string
	// Closed names the window that does not let it begin until Opens, or never if that is zero; empty if all are open.
	Closed string
	Opens  time.Time
	// Wait is how long the budget of the workload makes it wait.
	Wait time.Duration
	// CannotRoll means that the pods do not restart by themselves, so nobody needs to wait.
	CannotRoll bool
	// Standing is how the workload is before the restart.
	Standing Standing
	// YieldsUntil is until when it leaves the first turn in its fan-outs to others if it lacks pods; see [YieldTime].
	YieldsUntil time.Time
	Wave        int16
	Causes      []Cause
	// Continues are fan-outs of earlier restarts of the workload that have not been judged, and whose content is present. Once the
	// restart has begun, it is part of them, too: its pods read all contents.
	Continues []FanOut
}

// Cause is a config whose content a restart delivers.
type Cause struct {
	Config names.ConfigRef
	// Keys are the changed keys; empty means that they are not known, or too many to name.
	Keys []string
	// Moments are those of the fan-outs that the restart is part of. There are none if the restart is
	// due for another reason, and only happens to deliver the config as well.
	Moments []names.Sequence
	// Group names the config and its copies in other namespaces if they share a fan-out, and Content is
	// the content of this copy; see [GroupOf]. Both are zero for other configs.
	Group   names.ConfigRef
	Content string
	// IsGradual means that restarts for the config start slowly. IsUrgent means that they do not
	// after all, because a person said so about this content.
	IsGradual, IsUrgent bool
}

// isFor reports whether the restart delivers a config.
func (r *Request) isFor(config names.ConfigRef) bool {
	return slices.ContainsFunc(r.Causes, func(c Cause) bool { return c.Config == config })
}

// Ledger knows all restarts that are due or under way. Its methods must not be called by several
// goroutines at once.
type Ledger struct {
	policy  Policy
	wake    func(names.WorkloadRef)
	members rows.Column[Member]
	fanOuts map[FanOut]*fanOut
	// byConfig holds the same fan-outs by their configs.
	byConfig map[names.ConfigRef]map[*fanOut]struct{}
	halts    halts
	first    first
	waves    map[string]*waves
	places   places
	waiting  map[Reason]int // how many restarts wait for each reason
	// underWay is how many restarts have begun and are not over.
	underWay int
	finished []Progress
	unserved counts.By[string]    // see [fanOut]
	recent   *[]*fanOut           // see shared
	begun    map[*Member]struct{} // those with a restart that has begun, or may have
}

// New returns a ledger without restarts, and empties the given column, which it keeps what it knows in: it must be locked while a
// method of the ledger is called. The ledger calls wake with each workload that waited and should ask again; wake must return at once
// and must not use the table.
func New(policy Policy, members rows.Column[Member], wake func(names.WorkloadRef)) *Ledger {
	for ref := range members.All() {
		members.Set(ref, nil)
	}
	return &Ledger{
		policy:   policy,
		wake:     wake,
		members:  members,
		fanOuts:  make(map[FanOut]*fanOut),
		byConfig: make(map[names.ConfigRef]map[*fanOut]struct{}),
		halts:    newHalts(),
		first:    newFirst(),
		waves:    make(map[string]*waves),
		places:   newPlaces(),
		waiting:  make(map[Reason]int),
		unserved: make(counts.By[string]),
		begun:    make(map[*Member]struct{}),
	}
}

// Ask decides whether a restart may begin. If it may, it counts as under way until [Ledger.Begin],
// [Ledger.Release] or [Ledger.Settle]. If not, the ledger wakes the workload when it should ask again,
// unless the answer says when; it does not know when a hold ends.
func (l *Ledger) Ask(r *Request, now time.Time) Answer {
	asking := l.newRestart(r, now)
	due := &asking
	var answer Answer
	l.change(r.Workload, func(m *Member) {
		turns := m.next.turns()
		wasRefused := m.next != nil && m.next.isRefused
		due.wasCalled = len(turns) > 0
		m.leave()
		unserve(due, m.next)
		m.wave, m.isPending, m.next = r.Wave, false, due
		c := l.caseOf(r, m)
		answer = Admit(&c, now)
		due.isRefused = wasRefused && !answer.Reason.IsHold()
		if answer.MayBegin() {
			due.phase = admitted
			return
		}
		l.join(m, &answer)
		for _, f := range turns {
			if answer.Reason != SlowStart || answer.FanOut != f.id { // otherwise another one was faster
				f.noteEnd(r.Workload.Namespace)
			}
		}
	})
	l.passByFor(r.Workload, func(config names.ConfigRef) bool { // nobody may go before it, even if its patch meets a conflict
		return !answer.MayBegin() || !r.isFor(config)
	})
	return answer
}

func (l *Ledger) newRestart(r *Request, now time.Time) restart {
	due := restart{
		workload: r.Workload, id: r.ID, standing: r.Standing, cannotRoll: r.CannotRoll, takesPlace: l.takesPlace(r), isUrgent: true,
	}
	var fanOuts []*fanOut
	for i := range r.Causes {
		cause := &r.Causes[i]
		if r.CannotRoll || !cause.IsGradual {
			continue
		}
		due.isUrgent = due.isUrgent && cause.IsUrgent
		for id := range cause.fanOuts() {
			f := l.fanOut(id)
			f.noteReader(r.Workload, keySetIn(id, cause.Keys), now)
			fanOuts = append(fanOuts, f)
		}
	}
	due.gradual = l.shared(fanOuts)
	return due
}

// continues makes a restart that begins part of the fan-outs, too, that the former one has left unjudged. In that of a group, a
// workload has one turn: restarts for other configs must not keep its slot from other namespaces.
func (l *Ledger) continues(next, former *begun, ids []FanOut) {
	if former.id != next.id {
		endTurns(next.workload.Namespace, former.turns())
	}
	if hadTurn := former.freesSlot || former.phase == unproven; len(ids) > 0 {
		all := slices.Clone(next.fanOuts())
		for _, id := range ids[max(0, len(ids)-maxContinued):] {
			if f := l.fanOuts[id]; f != nil && !slices.Contains(all, f) && !(hadTurn && IsGroup(id.Config)) {
				all = append(all, f)
			}
		}
		next.gradual, next.first = l.shared(all), former.first
	}
	next.isUrgent = next.isUrgent && former.isUrgent
	if former.standing != Unwell {
		next.standing = min(next.standing, Well) // what it lacks may be the fault of the content that it is exposed to
	}
}

// maxContinued is how many fan-outs of earlier edits a restart goes on with at most. Whoever edits a config chooses how many there are.
const maxContinued = 64

// capped returns the fan-outs without the oldest ones of the config that was edited last, if there are too many.
func capped(all []*fanOut) []*fanOut {
	for len(all) > maxContinued {
		last := len(all) - 1
		i := slices.IndexFunc(all, func(f *fanOut) bool { return f.id.Config == all[last].id.Config })
		if i == last {
			i = 0
		}
		all = slices.Concat(all[:i], all[i+1:])
	}
	return all
}

// shared returns fan-outs in a form that neighbors share, to save memory: mostly the readers of a config ask
// one after the other.
func (l *Ledger) shared(fanOuts []*fanOut) *[]*fanOut {
	if len(fanOuts) == 0 {
		return nil
	}
	if l.recent == nil || !slices.Equal(*l.recent, fanOuts) {
		l.recent = &fanOuts
	}
	return l.recent
}

// Begin notes that a restart has begun. The API server has accepted it.
func (l *Ledger) Begin(r *Request, now time.Time) {
	m := l.members.Of(r.Workload)
	if wasAdmitted := m != nil && m.next != nil && m.next.phase == admitted; wasAdmitted {
		defer l.passByFor(r.Workload, r.isFor)
	}
	l.change(r.Workload, func(m *Member) {
		m.leave()
		m.uncertain = nil
		m.wave, m.isPending = r.Wave, false
		next, due := &begun{restart: l.newRestart(r, now), at: now, first: now}, m.next
		next.wasCalled = due != nil && due.wasCalled
		m.next = nil
		if r.CannotRoll { // it exposes the workload to nothing, but what earlier ones did goes on
			unserve(&next.restart, due)
			if m.isFollowed() {
				m.leaveUnproven(m.current.at.Add(l.policy.Deadline))
			}
			return
		}
		if m.current != nil {
			l.continues(next, m.current, r.Continues)
		}
		unserve(&next.restart, m.current.of(), due)
		m.current, next.phase = next, rolling
	})
}

// ExposedTo returns the fan-outs whose content a restart has brought to a workload that is not judged.
func (l *Ledger) ExposedTo(ref names.WorkloadRef) (ids []FanOut) {
	if m := l.members.Of(ref); m != nil && m.current != nil {
		for _, f := range m.current.fanOuts() {
			ids = append(ids, f.id)
		}
	}
	return ids
}

// Expose notes that a workload is exposed to the content of the fan-outs of a cause, too, which an earlier restart has brought. If none
// is under way, it keeps its slots until the exposure is over.
func (l *Ledger) Expose(of *Exposure, cause *Cause, now time.Time) {
	known := l.members.Of(of.Workload)
	joins, keys := known == nil || known.current == nil, of.Keys
	if len(keys) == 0 { // of a Secret, for example
		keys = cause.Keys
	}
	var fanOuts []*fanOut
	for id := range cause.fanOuts() {
		if f := l.fanOut(id); joins || !IsGroup(id.Config) { // in which it has had its turn, maybe
			f.noteReader(of.Workload, keySetIn(id, keys), now)
			fanOuts = append(fanOuts, f)
		}
	}
	l.change(of.Workload, func(m *Member) {
		if m.current == nil {
			m.current = &begun{restart: restart{workload: of.Workload, standing: Well, phase: unproven}, at: now, first: now, until: of.Until}
		}
		m.current.gradual = l.shared(capped(union(m.current.fanOuts(), fanOuts)))
	})
}

// IsNew reports whether nobody has asked for a restart in a fan-out of a cause yet.
func (l *Ledger) IsNew(cause *Cause) bool {
	for id := range cause.fanOuts() {
		if l.fanOuts[id] == nil {
			return true
		}
	}
	return false
}

// IsFirst reports whether a workload is exposed to a content that nobody is known to have proven.
func (l *Ledger) IsFirst(ref names.WorkloadRef) bool {
	m := l.members.Of(ref)
	return m != nil && m.current != nil && slices.ContainsFunc(m.current.fanOuts(), func(f *fanOut) bool {
		return f.provenFor(f.keysOf(ref)) == 0 && f.takesSlot(&m.current.restart)
	})
}

// Exposed returns the workloads to which a restart has brought a content of a config that is not judged.
func (l *Ledger) Exposed(config names.ConfigRef) (all []names.WorkloadRef) {
	if len(l.byConfig[config]) == 0 {
		return nil // as for most edits
	}
	takesSlot := func(r *restart) bool {
		return slices.ContainsFunc(r.fanOuts(), func(f *fanOut) bool { return f.id.Config == config && f.takesSlot(r) })
	}
	for m := range l.begun {
		if m.current != nil && takesSlot(&m.current.restart) {
			all = append(all, m.current.workload)
		}
	}
	return all
}

// BeginFormer notes a restart that another process began. With such restarts a namespace holds no more places
// than the gate would have given it: which ones are under way is known only from what is written on the
// workloads, and their owners can write that.
func (l *Ledger) BeginFormer(r *Request, now time.Time) {
	own := l.places.in[r.Workload.Namespace]
	if m := l.members.Of(r.Workload); m != nil && m.holdsPlace() {
		own--
	}
	hasPlaces := hasPlace(l.policy.Limit-own, own)
	l.Begin(r, now)
	if !hasPlaces {
		l.FreePlace(r.Workload)
	}
}

// Current returns the id of the restart of a workload that is under way, and false if there is none.
func (l *Ledger) Current(ref names.WorkloadRef) (id string, found bool) {
	m := l.members.Of(ref)
	if m == nil || m.current == nil {
		return "", false
	}
	return m.current.id, true
}

// IsBeginning reports whether a restart of a workload may begin now, or may have begun without an answer.
func (l *Ledger) IsBeginning(ref names.WorkloadRef) bool {
	m := l.members.Of(ref)
	return m != nil && (m.uncertain != nil || m.next != nil && m.next.phase == admitted)
}

// FreePlace lets others have the place of a restart that is under way for too long, and its slot in the fan-out of
// a group.
func (l *Ledger) FreePlace(ref names.WorkloadRef) {
	if m := l.members.Of(ref); m == nil || m.current == nil || m.current.freesSlot {
		return
	}
	l.change(ref, func(m *Member) { m.current.takesPlace, m.current.freesSlot = false, true })
}

// IsPartOf reports whether the restart of a workload that is under way belongs to a gradual fan-out of a
// config, or of the group that the config belongs to.
func (l *Ledger) IsPartOf(ref names.WorkloadRef, config names.ConfigRef) bool {
	m := l.members.Of(ref)
	return m != nil && m.current != nil && slices.ContainsFunc(m.current.fanOuts(), func(f *fanOut) bool {
		return f.id.Config == config || f.id.Config == GroupOf(config.Kind, config.Name)
	})
}

// Release takes back that a restart may begin, or is due, because it failed to begin and will ask again
// later. Others do not wait for its turn meanwhile; but later waves and its fan-outs do if isPending.
// If the API server may have accepted it after all, it keeps its place for a while, and its slots until [Ledger.Resolve], but that
// in the fan-out of a group only the first time, and until the deadline: other namespaces must have their turn.
func (l *Ledger) Release(ref names.WorkloadRef, isPending, isUncertain bool, now time.Time) {
	if !isPending {
		l.passBy(ref)
	}
	if l.members.Of(ref) == nil {
		return
	}
	l.change(ref, func(m *Member) {
		turns := m.next.turns()
		m.leave()
		due := m.next
		m.isPending, m.next = isPending, nil
		switch {
		case due == nil:
		case isUncertain && due.takesPlace && due.phase == admitted:
			lost := &begun{restart: *due, at: now, first: now}
			if lost.isRefused = false; m.uncertain != nil { // any of the requests may arrive
				lost.freesSlot, lost.gradual = true, l.shared(capped(union(m.uncertain.fanOuts(), due.fanOuts())))
			}
			m.uncertain = lost
		case isPending:
			endTurns(ref.Namespace, turns)
			m.fail(due)
		default:
			endTurns(ref.Namespace, turns)
			unserve(nil, due)
		}
	})
}

// Refuse notes whether the API server refused to let the restart begin that was released last.
func (l *Ledger) Refuse(ref names.WorkloadRef, isRefused bool) {
	if isRefused {
		l.passBy(ref)
	}
	if m := l.members.Of(ref); m != nil && m.next != nil && m.next.isRefused != isRefused {
		l.change(ref, func(m *Member) { m.next.isRefused = isRefused })
	}
}

// Settle notes that no restart of a workload is due any more. An uncertain one keeps its place and its slots.
func (l *Ledger) Settle(ref names.WorkloadRef) { l.Release(ref, false, false, time.Time{}) }

// Expect notes that it will soon be known whether a restart of a workload is due, so that later waves
// wait for that.
func (l *Ledger) Expect(ref names.WorkloadRef, wave int16) {
	l.change(ref, func(m *Member) {
		isInLine := m.next != nil && m.next.phase == waiting && m.next.reason() == Wave
		if m.isPending = true; m.wave == wave || !isInLine {
			m.wave = wave
			return
		}
		moved := *m.next
		m.leave()
		m.wave, m.next = wave, &moved
		l.join(m, &Answer{Reason: Wave})
	})
}

// Forget forgets a workload that is gone.
func (l *Ledger) Forget(ref names.WorkloadRef) {
	l.passBy(ref)
	if l.members.Of(ref) == nil {
		return
	}
	l.change(ref, func(m *Member) {
		endTurns(ref.Namespace, m.next.turns())
		m.leave()
		current := m.current
		if m.uncertain != nil { // nobody will learn what became of it
			lost := *m.uncertain
			if current != nil {
				lost.gradual = l.shared(union(current.fanOuts(), lost.fanOuts()))
				lost.standing, lost.isUrgent = min(lost.standing, current.standing), lost.isUrgent && current.isUrgent
			}
			current = &lost
		}
		*m = Member{current: current}
		if m.isFollowed() {
			m.leaveUnproven(m.current.at.Add(l.policy.Deadline))
		}
	})
}

// See notes that something is to be seen again of a restart of which nothing was. It keeps its slots from now on until it is judged.
func (l *Ledger) See(ref names.WorkloadRef) {
	if m := l.members.Of(ref); m == nil || m.current == nil || m.current.phase != unproven {
		return
	}
	l.change(ref, func(m *Member) {
		m.current.phase = soaking // which takes no place
	})
}

// leaveUnproven notes that nothing is to be seen of the current restart, although it is not judged. It keeps its slots until the
// given time.
func (m *Member) leaveUnproven(until time.Time) {
	isExposed := func(f *fanOut) bool { return f.takesSlot(&m.current.restart) }
	if !slices.ContainsFunc(m.current.fanOuts(), isExposed) {
		m.endUnproven()
		return
	}
	m.current.phase, m.current.until = unproven, until
}

// endUnproven ends a restart that has proven nothing.
func (m *Member) endUnproven() {
	endTurns(m.current.workload.Namespace, m.current.turns())
	for _, f := range m.current.fanOuts() {
		f.leaveOut(m.current.workload)
	}
	m.current = nil
}

// Rolled notes that all pods of a workload run after its restart, though not for long.
func (l *Ledger) Rolled(ref names.WorkloadRef) {
	if m := l.members.Of(ref); m == nil || !m.isFollowed() || m.current.phase == soaking {
		return
	}
	l.change(ref, func(m *Member) { m.current.phase = soaking })
}

// Deliver notes that a restart is over, and was delivered.
func (l *Ledger) Deliver(ref names.WorkloadRef) {
	if m := l.members.Of(ref); m == nil || m.current == nil {
		return
	}
	l.change(ref, func(m *Member) {
		endTurns(ref.Namespace, m.current.turns())
		for _, f := range m.current.fanOuts() {
			if f.canProve(&m.current.restart) {
				f.deliver(ref)
			} else {
				f.mended++
			}
		}
		m.current = nil
	})
}

// End notes that a restart is over, and was not delivered. If it failed, see [Ledger.Fail]. If it was not judged, it keeps its slots
// until the given time: nothing that people or other writers do may let the next one begin.
func (l *Ledger) End(ref names.WorkloadRef, until, now time.Time) {
	m := l.members.Of(ref)
	if m == nil || m.current == nil || until.After(now) && m.current.phase == unproven {
		return
	}
	l.change(ref, func(m *Member) {
		if until.After(now) {
			m.leaveUnproven(until)
		} else {
			m.endUnproven()
		}
	})
}

const (
	// uncertainPlace is for how long a restart holds its place if the API server may have accepted it.
	uncertainPlace = 30 * time.Second
	// uncertainSlots is for how long it keeps its slots if nothing shows what became of it. No server works on a request for so long.
	uncertainSlots = time.Hour
	// longestPlace is for how long a workload keeps its place, and its slot in the fan-out of a group, whatever its progress.
	longestPlace = time.Hour
)

// Tick ends what has taken its time: the places and slots of uncertain restarts, the slots of those that are not judged, and the
// patience with workloads that should go first. It should be called every few seconds.
func (l *Ledger) Tick(now time.Time) {
	for m := range l.begun {
		if m.uncertain != nil {
			l.passUncertain(m.uncertain, now.Sub(m.uncertain.at))
		}
		switch {
		case m.current == nil:
		case m.current.phase == unproven && !now.Before(m.current.until):
			l.change(m.current.workload, (*Member).endUnproven)
		case now.Sub(m.current.first) >= longestPlace:
			l.FreePlace(m.current.workload) // whatever other restarts go on with it
		}
	}
	for _, config := range l.first.late(now) {
		l.callFanOuts(config)
	}
}

// passUncertain ends what a restart occupies that has been uncertain for a while.
func (l *Ledger) passUncertain(r *begun, since time.Duration) {
	keepsPlace, freesSlot := r.takesPlace && since < uncertainPlace, r.freesSlot || since >= l.policy.Deadline
	switch {
	case since >= uncertainSlots:
		l.Resolve(r.workload)
	case keepsPlace != r.takesPlace || freesSlot != r.freesSlot:
		l.change(r.workload, func(m *Member) { m.uncertain.takesPlace, m.uncertain.freesSlot = keepsPlace, freesSlot })
	}
}

// Resolve notes that the API server has not accepted an uncertain restart, and never will. If it has, [Ledger.Begin] says so.
func (l *Ledger) Resolve(ref names.WorkloadRef) {
	if m := l.members.Of(ref); m == nil || m.uncertain == nil {
		return
	}
	l.change(ref, func(m *Member) {
		endTurns(ref.Namespace, m.uncertain.turns())
		if m.isPending && m.next == nil {
			m.fail(&m.uncertain.restart)
		}
		m.uncertain = nil
	})
}

// change changes what is known about a workload, and calls those that waited for that. Nobody waits for a
// workload to join a fan-out.
func (l *Ledger) change(ref names.WorkloadRef, change func(*Member)) {
	m := l.members.Of(ref)
	isNew := m == nil
	if isNew {
		m = &Member{}
	}
	before, hadBegun := m.fanOuts(), m.hasBegun()
	l.count(ref.Namespace, m, -1)
	change(m)
	l.count(ref.Namespace, m, +1)
	switch hasBegun := m.hasBegun(); {
	case hasBegun && !hadBegun:
		l.begun[m] = struct{}{}
	case hadBegun && !hasBegun:
		delete(l.begun, m)
	}
	switch isEmpty := m.isEmpty(); {
	case isEmpty && !isNew:
		l.members.Set(ref, nil)
	case !isEmpty && isNew:
		l.members.Set(ref, m)
	}
	for _, f := range before {
		if len(f.otherKeys) > 0 && !slices.Contains(m.fanOuts(), f) {
			delete(f.otherKeys, ref)
		}
		l.callNext(f)
	}
	l.callWave(ref.Namespace)
	l.callPlaces()
}

// count adds what a workload contributes to the tallies, or takes it away.
func (l *Ledger) count(namespace string, m *Member, sign int) {
	if m.holdsPlace() {
		l.places.take(namespace, sign)
	}
	if m.isUnsettled() {
		l.waveOf(namespace).of(m.wave).unsettled += sign
	}
	if m.isFollowed() {
		l.underWay += sign
	}
	for _, r := range m.restarts() {
		if r == nil {
			continue
		}
		for _, f := range r.fanOuts() {
			if f.count(r, sign); r == m.uncertain.of() && m.next != nil && slices.Contains(m.next.fanOuts(), f) {
				f.twice += sign
			}
		}
		if r.phase == called && r.reason() == Limit {
			l.places.take(namespace, sign)
		}
		if r.phase == waiting {
			l.waiting[r.reason()] += sign
		}
	}
}
