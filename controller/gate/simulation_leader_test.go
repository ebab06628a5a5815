package gate

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/names"
)

// leader is the controller that uses the ledger: a work queue with many workers, requests that take time, and
// what the watches show.
type leader struct {
	*fleet
	ledger *Ledger
	// skew is by how much its clock is ahead.
	skew   time.Duration
	known  names.Sequence // edits up to this one were not shown to it
	queued map[*app]bool
	dirty  map[*app]bool
	// patches are the requests under way.
	patches map[*app]*patch
	// asked has the requests of those that wait, and reasons what for, until they are woken.
	asked map[*app]*Request
	// yields are those of them that leave the first turn to others, and ask again by themselves; waitsSince is when each first waited.
	yields     map[*app]bool
	waitsSince map[*app]time.Time
	reasons    map[*app]Reason
	// pending are those that may be due for all that the leader has said.
	pending map[*app]bool
	// current are the restarts that it knows to be under way.
	current   map[*app]*simRollout
	attempts  map[*app]int
	uncertain map[*app]time.Time
	proven    map[FanOut]int
	// exposed are the contents that restarts have brought to workloads and that are not judged, and until when, zero while they are
	// followed; began is when those restarts began.
	exposed map[*app]map[FanOut]time.Time
	wasWell map[*app]bool // before them
	began   map[*app]time.Time
	// lostUntil is until when those keep their slots that are gone before it was known what became of their restarts.
	lostUntil map[*app]time.Time
	ticked    time.Time // when the ledger learned last that time has passed
	// first are workloads that have to go first for a config, until nobody waits for them any longer.
	first      map[names.ConfigRef][]names.WorkloadRef
	firstUntil map[names.ConfigRef]time.Time
}

type patch struct {
	request  *Request
	contents map[*simKey]*content
	version  map[*simKey]*content // the record on which it is based
	// began is when it was sent, and stamp the same by the clock of the leader.
	began, stamp time.Time
}

// lead starts a leader, which finds what others have begun.
func (f *fleet) lead() {
	l := &leader{
		fleet: f, known: f.moment, queued: map[*app]bool{}, dirty: map[*app]bool{}, patches: map[*app]*patch{}, asked: map[*app]*Request{}, yields: map[*app]bool{}, waitsSince: map[*app]time.Time{},
		reasons: map[*app]Reason{}, pending: map[*app]bool{}, current: map[*app]*simRollout{}, attempts: map[*app]int{}, uncertain: map[*app]time.Time{}, proven: map[FanOut]int{},
		exposed: map[*app]map[FanOut]time.Time{}, wasWell: map[*app]bool{}, lostUntil: map[*app]time.Time{}, began: map[*app]time.Time{},
		first: map[names.ConfigRef][]names.WorkloadRef{}, firstUntil: map[names.ConfigRef]time.Time{}, skew: f.skew(),
	}
	l.ledger = newLedger(f.policy, l.wake)
	f.leader = l
	f.leaders++
	f.say("a new leader, its clock is ahead by %s", l.skew)
	for _, h := range f.stored {
		l.ledger.Restore(h, l.clock())
	}
	for _, ref := range l.ledger.Halted() {
		l.noteContent(f.config(ref))
	}
	for _, a := range f.apps {
		if a.isGone {
			continue
		}
		l.ledger.Expect(a.ref, a.wave)
		l.pending[a] = true
		if r := a.rollout; r != nil {
			// The record says what the restart was for, but not when that was edited.
			found := *r.request
			found.Causes = slices.Clone(found.Causes)
			for i := range found.Causes {
				c := &found.Causes[i]
				c.Moments, c.IsGradual = []names.Sequence{0}, f.config(c.Config).isGradual
			}
			r.request, r.takesPlace = &found, f.takesPlace(&found)
			l.noteTakeover(r)
			l.show(a, r)
			l.ledger.Expect(a.ref, a.wave)
		}
		l.enqueue(a)
	}
	l.store()
}

// kill ends the leader. Its requests arrive or not.
func (f *fleet) kill() {
	l := f.leader
	if l == nil {
		return
	}
	f.say("the leader is killed")
	f.leader = nil
	for _, a := range f.apps {
		if p := l.patches[a]; p != nil && f.chance(2) && l.isAcceptable(a, p) {
			f.say("%s restarts all the same", a)
			f.accept(a, p)
		}
	}
	f.forgetFailures()
	f.after(f.upTo(30*time.Second), f.lead)
}

func (l *leader) app(ref names.WorkloadRef) *app {
	number, _ := strconv.Atoi(ref.Name[1:])
	return l.apps[number]
}

func (l *leader) wake(ref names.WorkloadRef) {
	a := l.app(ref)
	delete(l.reasons, a)
	l.enqueue(a)
}

// enqueue has one of many workers look at a workload, in any order.
func (l *leader) enqueue(a *app) {
	if l.patches[a] != nil {
		l.dirty[a] = true
		return
	}
	if !l.queued[a] {
		l.queued[a] = true
		l.after(l.upTo(time.Second), func() {
			if l.leader == l {
				delete(l.queued, a)
				l.process(a)
			}
		})
	}
}

func (l *leader) enqueueAfter(a *app, d time.Duration) {
	l.after(d, func() {
		if l.leader == l {
			l.enqueue(a)
		}
	})
}

func (l *leader) process(a *app) {
	l.decided(a)
	delete(l.reasons, a)
	delete(l.asked, a)
	delete(l.yields, a)
	delete(l.pending, a)
	if a.isGone {
		l.ledger.Forget(a.ref)
		l.leaveUnproven(a, l.began[a].Add(l.policy.Deadline))
		if since, isUncertain := l.uncertain[a]; isUncertain {
			l.lostUntil[a] = since.Add(l.policy.Deadline)
			l.after(max(0, l.lostUntil[a].Sub(l.now))+time.Millisecond, func() {
				if l.leader == l {
					l.tick()
				}
			})
		}
		delete(l.uncertain, a)
		delete(l.current, a)
		return
	}
	changed := a.changedSince(a.shownRecord())
	if len(changed) == 0 {
		delete(l.waitsSince, a)
		l.ledger.Settle(a.ref)
		l.fence(a)
		return
	}
	r := l.request(a, changed)
	if _, hasWaited := l.waitsSince[a]; !hasWaited {
		l.waitsSince[a] = l.clock()
	}
	r.YieldsUntil = l.waitsSince[a].Add(YieldTime)
	answer := l.ledger.Ask(r, l.clock())
	l.say("%s asks for %v: %q", a, r.Causes, answer.Reason)
	l.checkAnswer(a, r, &answer)
	if answer.MayBegin() {
		delete(l.waitsSince, a)
		l.patch(a, r)
		return
	}
	l.fence(a)
	l.waits++
	l.asked[a] = r
	if !l.queued[a] {
		l.reasons[a] = answer.Reason
	}
	l.yields[a] = answer.Reason == SlowStart && !answer.Until.IsZero()
	if !answer.Until.IsZero() {
		l.enqueueAfter(a, answer.Until.Sub(l.clock()))
	}
	if answer.Reason == SlowStart && l.ledger.NeedsCount(answer.FanOut) {
		l.count(answer.FanOut)
	}
}

func (l *leader) request(a *app, changed []*simKey) *Request {
	r := &Request{
		Workload: a.ref, CannotRoll: a.cannotRoll, Standing: Well, Wave: a.wave, Causes: a.causes(changed, l.known),
		Opens: a.closedUntil, Wait: max(0, a.slowedUntil.Sub(l.now)),
	}
	if l.clock().Before(a.closedUntil) {
		r.Closed = "its window"
	}
	if a.isHeld || slices.ContainsFunc(changed, func(k *simKey) bool { return a.of[k].isHeld }) {
		r.Hold = "held"
	}
	switch {
	case a.isBroken:
		r.Standing = Failed
	case a.isUnwell:
		r.Standing = Unwell
	case a.lacksPods:
		r.Standing = Lacking
	}
	return r
}

// patch sends the request, and learns later what became of it.
func (l *leader) patch(a *app, r *Request) {
	p := &patch{request: r, contents: map[*simKey]*content{}, version: a.shownRecord(), began: l.now, stamp: l.clock()}
	for _, k := range a.reads {
		p.contents[k] = k.content
	}
	l.patches[a] = p
	l.after(l.upTo(2*time.Second), func() {
		if l.leader == l {
			delete(l.patches, a)
			if l.answered(a, p) || l.dirty[a] {
				delete(l.dirty, a)
				l.enqueue(a)
			} else {
				l.enqueueAfter(a, l.upTo(20*time.Second))
			}
		}
	})
}

// decided notes that nobody waits any more to know whether a workload is due.
func (l *leader) decided(a *app) {
	for config, first := range l.first {
		l.first[config] = slices.DeleteFunc(first, func(ref names.WorkloadRef) bool { return ref == a.ref })
	}
}

// isAcceptable reports whether the API server accepts a request: the workload has not changed since.
func (l *leader) isAcceptable(a *app, p *patch) bool {
	return !a.isGone && maps.Equal(a.recorded, p.version)
}

// answered takes in the answer to a request, and reports whether it is news about the workload.
func (l *leader) answered(a *app, p *patch) bool {
	switch {
	case a.isGone:
		return true
	case !l.isAcceptable(a, p):
		l.say("%s: conflict", a)
		l.release(a, true, false)
	case a.refusals > 0 && !l.isQuiet:
		a.refusals--
		l.attempts[a]++
		l.say("%s: refused", a)
		l.release(a, l.attempts[a] < 3, false)
	case !l.isQuiet && l.chance(12):
		l.lose(a, p)
	default:
		l.say("%s restarts", a)
		l.accept(a, p)
		l.begin(a, p.request)
		delete(l.attempts, a)
		switch {
		case a.rollout != nil:
			a.rollout.isShown, l.current[a] = true, a.rollout
		case !p.request.CannotRoll:
			l.end(a, neutral) // it was paused meanwhile
		}
		return true
	}
	return false
}

func (l *leader) release(a *app, isPending, isUncertain bool) {
	l.ledger.Release(a.ref, isPending, isUncertain, l.clock())
	if !isPending {
		l.decided(a)
	}
	if l.pending[a] = isPending; !isPending {
		delete(l.pending, a)
	}
}

// lose loses the answer to a request, which may have been accepted.
func (l *leader) lose(a *app, p *patch) {
	l.lost++
	if !p.request.CannotRoll && l.takesPlace(p.request) {
		l.uncertain[a] = l.now
	}
	l.release(a, true, true)
	isAccepted := l.chance(2)
	l.say("%s: the answer is lost, accepted: %v", a, isAccepted)
	if isAccepted {
		l.accept(a, p)
		rollout := a.rollout
		l.after(l.upTo(25*time.Second), func() {
			if l.leader == l {
				l.show(a, rollout)
				l.enqueue(a)
			}
		})
	}
	l.tickOn()
}

// tickOn has the ledger know the time for a while.
func (l *leader) tickOn() {
	for i := range 10 {
		l.after(time.Duration(i)*5*time.Second, func() {
			if l.leader == l {
				l.tick()
			}
		})
	}
}

func (l *leader) tick() {
	l.ledger.Tick(l.clock())
	l.ticked = l.now
	for a, exposures := range l.exposed {
		maps.DeleteFunc(exposures, func(_ FanOut, until time.Time) bool { return !until.IsZero() && !l.now.Before(until) })
		if len(exposures) == 0 && l.current[a] == nil {
			l.judged(a)
		}
	}
}

// fence makes a write impossible whose answer was lost, once it is known that it was not carried out.
func (l *leader) fence(a *app) {
	if _, isUncertain := l.uncertain[a]; isUncertain && (a.rollout == nil || a.rollout.isShown) {
		delete(l.uncertain, a)
		l.ledger.Resolve(a.ref)
	}
}

// begin notes a restart. It goes on with the exposures of those before it.
func (l *leader) begin(a *app, r *Request) {
	delete(l.uncertain, a)
	begun := *r
	begun.Continues = slices.DeleteFunc(l.ledger.ExposedTo(a.ref), l.isReplaced)
	l.ledger.Begin(&begun, l.clock())
	if r.CannotRoll {
		l.leaveUnproven(a, l.began[a].Add(l.policy.Deadline))
		return
	}
	l.began[a] = l.now
	l.wasWell[a] = l.wasWell[a] || r.Standing != Unwell
	maps.DeleteFunc(l.exposed[a], func(id FanOut, _ time.Time) bool { return l.isReplaced(id) })
	exposures := map[FanOut]time.Time{}
	for _, id := range append(slices.Collect(maps.Keys(l.exposed[a])), fanOutsOf(r)...) {
		exposures[id] = time.Time{}
	}
	l.exposed[a] = exposures
}

// judged notes that no exposure of a workload is left.
func (l *leader) judged(a *app) {
	delete(l.exposed, a)
	delete(l.wasWell, a)
}

// isReplaced reports whether no key has the content of a fan-out any more.
func (l *leader) isReplaced(id FanOut) bool {
	return id.Moment > 0 && !slices.ContainsFunc(l.config(id.Config).keys, func(k *simKey) bool { return k.moment == id.Moment })
}

// leaveUnproven notes that the restart of a workload is not followed any further.
func (l *leader) leaveUnproven(a *app, until time.Time) {
	for id, known := range l.exposed[a] {
		if known.IsZero() {
			l.exposed[a][id] = until
		}
	}
	if len(l.exposed[a]) == 0 || !l.wasWell[a] {
		l.judged(a)
		return
	}
	l.after(max(0, until.Sub(l.now))+time.Millisecond, func() {
		if l.leader == l {
			l.tick()
		}
	})
}

// show has a watch show a restart that the leader does not know.
func (l *leader) show(a *app, r *simRollout) {
	if r == nil || a.rollout != r {
		return
	}
	l.say("the watch shows that %s restarts", a)
	r.isShown, l.current[a] = true, r
	delete(l.reasons, a)
	l.begin(a, r.request)
	if r.isSoaking {
		l.ledger.Rolled(a.ref)
	}
	l.judge(a)
}

func (l *leader) noteRolled(a *app) {
	if a.rollout.isShown {
		l.say("%s runs", a)
		l.ledger.Rolled(a.ref)
	}
}

// judge takes in the end of a restart.
func (l *leader) judge(a *app) {
	r := a.rollout
	if !r.isShown || r.outcome == open {
		return
	}
	a.rollout = nil
	l.say("%s: %s", a, []string{"", "delivered", "failed", "neutral"}[r.outcome])
	switch r.outcome {
	case delivered:
		l.deliveries++
		for id := range l.exposed[a] {
			if l.wasWell[a] {
				l.proven[id]++
			}
		}
	case failed:
		l.failures++
		l.fail(a, r)
	}
	l.end(a, r.outcome)
	l.enqueue(a)
}

func (l *leader) end(a *app, how outcome) {
	delete(l.current, a)
	switch how {
	case delivered:
		l.ledger.Deliver(a.ref)
		l.judged(a)
	case failed:
		l.ledger.End(a.ref, time.Time{}, l.clock())
		l.judged(a)
	default:
		l.ledger.End(a.ref, l.clock().Add(l.policy.Deadline), l.clock())
		l.leaveUnproven(a, l.now.Add(l.policy.Deadline))
	}
}

// count counts who runs with the content of a fan-out.
func (l *leader) count(id FanOut) {
	c := l.config(id.Config)
	var running []catalog.Runner
	for _, a := range l.readers(c.keys) {
		var keys []string
		for _, k := range a.reads {
			if a.of[k] == c && k.moment > 0 && (k.moment == id.Moment || id.Moment == 0 && k.moment <= l.known) {
				keys = append(keys, k.name)
			}
		}
		if slices.Sort(keys); len(keys) > 0 && a.rollout == nil && !a.isBroken && !a.isUnwell && !a.lacksPods && !a.cannotRoll && len(a.changed()) == 0 {
			running = append(running, catalog.Runner{Workload: a.ref, Keys: keys})
		}
	}
	l.proven[id] += len(running)
	l.say("%d run with %v", len(running), id)
	l.ledger.CountRunning(id, running)
}

func fanOutsOf(r *Request) (ids []FanOut) {
	for i := range r.Causes {
		if c := &r.Causes[i]; c.IsGradual && !r.CannotRoll {
			for _, moment := range c.Moments {
				ids = append(ids, FanOut{c.Config, moment})
			}
		}
	}
	return ids
}
