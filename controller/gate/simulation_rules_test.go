package gate

import (
	"fmt"
	"slices"
	"time"
)

// trueHalt is a halt, or failures that are too few for one, as the rules say and not as the ledger does.
type trueHalt struct {
	config   *simConfig
	keys     []string
	content  string
	id       string
	failures int
	isActive bool
	isGone   bool
	resumed  time.Time
	failed   []*app
}

func (h *trueHalt) concerns(cause *Cause) bool {
	if !cause.IsGradual || cause.Config != h.config.ref {
		return false
	}
	for _, key := range h.keys {
		if len(cause.Keys) == 0 || slices.Contains(cause.Keys, key) {
			return true
		}
	}
	return len(h.keys) == 0
}

// isAbout reports whether the same key may have broken what both halts are about.
func (h *trueHalt) isAbout(other *trueHalt) bool {
	return h == other || h.config == other.config && !h.isGone && h.concerns(&Cause{Config: other.config.ref, Keys: other.keys, IsGradual: true})
}

func includes(all, keys []string) bool {
	for _, key := range keys {
		if len(all) > 0 && !slices.Contains(all, key) {
			return false
		}
	}
	return len(all) == 0 || len(keys) > 0
}

func (f *fleet) breaks(format string, args ...any) {
	if f.problem == "" {
		f.problem = fmt.Sprintf(format, args...)
		f.say("PROBLEM: %s", f.problem)
	}
}

// fail takes in a failure, and compares what the ledger makes of it with the rules.
func (l *leader) fail(a *app, r *simRollout) {
	for i := range r.request.Causes {
		cause := &r.request.Causes[i]
		c := l.config(cause.Config)
		content := c.id(cause.Keys, r.contents)
		if !cause.IsGradual || content != c.id(cause.Keys, nil) {
			continue // it says nothing about the present content
		}
		id := fmt.Sprintf("halt-%d-%d", l.failures, i)
		h := l.ledger.Fail(&Failure{Workload: a.ref, Config: c.ref, Keys: cause.Keys, Content: content, Began: r.stamp}, id, l.clock())
		if want := l.noteFailure(a, c, cause.Keys, content, id, r.began); (h != nil) != want {
			l.breaks("%s failed for %s: halted %v, want %v", a, content, h != nil, want)
		}
	}
	l.store()
}

func (f *fleet) noteFailure(a *app, c *simConfig, keys []string, content, id string, began time.Time) (halts bool) {
	i := slices.IndexFunc(f.halts, func(h *trueHalt) bool { return h.config == c && h.content == content })
	if i < 0 {
		i = len(f.halts)
		f.halts = append(f.halts, &trueHalt{config: c, keys: keys, content: content})
	}
	h := f.halts[i]
	for _, other := range f.halts {
		if other.config == c && began.Before(other.resumed) && (other.content == content || !other.isGone && includes(other.keys, keys)) {
			return false
		}
	}
	h.isGone = false
	if h.failures++; len(h.failed) < maxFailed && !slices.Contains(h.failed, a) {
		h.failed = append(h.failed, a)
	}
	failures := 0
	for _, other := range f.halts {
		if other.isAbout(h) {
			failures += other.failures
		}
	}
	if !h.isActive && failures > f.policy.Failures {
		h.isActive, h.id, h.resumed = true, id, time.Time{}
		f.tally.halts++
		f.say("%s halts %s", id, content)
	}
	return h.isActive
}

func (f *fleet) endHalts(c *simConfig, isOver func(*trueHalt) bool) {
	f.halts = slices.DeleteFunc(f.halts, func(h *trueHalt) bool { return h.config == c && isOver(h) })
}

// forgetFailures forgets with a leader what no record has.
func (f *fleet) forgetFailures() {
	f.halts = slices.DeleteFunc(f.halts, func(h *trueHalt) bool { return !h.isActive && !h.isGone && h.resumed.IsZero() })
	for _, h := range f.halts {
		if h.failures = 0; h.resumed.IsZero() {
			h.failures = f.policy.Failures + 1 // no record says how many there were
		}
	}
}

// store writes the halts down for the next leader.
func (l *leader) store() {
	l.stored = nil
	for _, ref := range l.ledger.Halted() {
		for _, h := range l.ledger.HaltsOf(ref) {
			l.stored = append(l.stored, *h)
		}
	}
}

func (l *leader) noteContent(c *simConfig) {
	l.endHalts(c, func(h *trueHalt) bool {
		isFew := !h.isActive && !h.isGone && h.resumed.IsZero()
		h.isGone = c.id(h.keys, nil) != h.content
		h.isActive = !isFew && !h.isGone && h.resumed.IsZero()
		return isFew && h.isGone
	})
	for _, h := range l.ledger.ContentChanged(c.ref, func(keys []string) string { return c.id(keys, nil) }) {
		l.first[c.ref], l.firstUntil[c.ref] = slices.Clone(h.Failed), l.now.Add(20*time.Second)
		l.ledger.GoFirst(c.ref, h.Failed, l.clock().Add(20*time.Second))
		l.tickOn()
	}
	l.store()
}

func (f *fleet) resume() {
	if len(f.halts) == 0 || f.leader == nil {
		return
	}
	h := f.halts[f.random.IntN(len(f.halts))]
	resumed := f.leader.ledger.Resume(h.config.ref, h.id, f.leader.clock())
	isOpen := h.isActive || h.isGone && h.resumed.IsZero()
	if (resumed != nil) != isOpen {
		f.breaks("resumed %v, active %v, gone %v", resumed, h.isActive, h.isGone)
	}
	if isOpen {
		f.say("resume %s", h.id)
		for _, other := range f.halts {
			if other.isAbout(h) && !other.isActive {
				other.failures = 0
			}
		}
		h.isActive, h.failures, h.resumed = false, 0, f.now
	}
	f.leader.store()
}

// keysOf returns the names of the keys that a workload reads of a config.
func (a *app) keysOf(c *simConfig) (names []string) {
	for _, k := range a.reads {
		if a.of[k] == c {
			names = append(names, k.name)
		}
	}
	return names
}

// recover lets a broken workload run after all.
func (f *fleet) recover(a *app) {
	if !a.isBroken || a.isGone || f.leader == nil || a.isDue() || a.rollout != nil {
		return
	}
	f.say("%s recovers", a)
	a.isBroken = false
	for _, k := range a.reads {
		a.immune[k.content] = true
		c := a.of[k]
		reads := func(keys []string) bool { return len(keys) == 0 || includes(a.keysOf(c), keys) }
		f.endHalts(c, func(h *trueHalt) bool {
			return !h.isGone && h.resumed.IsZero() && slices.Contains(h.failed, a) && reads(h.keys)
		})
		f.leader.ledger.Recovered(a.ref, c.ref, func(h *Halt) bool { return reads(h.Keys) })
	}
	f.leader.store()
}

// checkLimit checks that there are no more restarts at the same time than the limit.
func (f *fleet) checkLimit() {
	rolling := 0
	for _, a := range f.apps {
		if a.rollout.holdsPlace() {
			rolling++
		}
	}
	if rolling > f.policy.Limit {
		f.breaks("%d restarts at the same time, limit %d", rolling, f.policy.Limit)
	}
}

// checkAnswer checks an answer of the ledger.
func (l *leader) checkAnswer(a *app, r *Request, answer *Answer) {
	if l.isOff && answer.Reason != "" && answer.Reason != Backoff {
		l.breaks("%s waits for %s though the gate is off", a, answer.Reason)
	}
	halt := l.haltOf(r)
	if (answer.Reason == Halted) != (halt != nil && r.Hold == "") {
		l.breaks("%s: answer %q, halt %v", a, answer.Reason, halt)
	}
	if !answer.MayBegin() {
		return
	}
	if r.Hold != "" || r.Wait > 0 || !r.CannotRoll && r.Closed != "" {
		l.breaks("%s restarts though it is held back", a)
	}
	for i := range r.Causes {
		if c := &r.Causes[i]; c.IsGradual && !c.IsUrgent && !r.CannotRoll {
			for _, moment := range c.Moments {
				l.checkSlowStart(a, r, FanOut{c.Config, moment})
			}
		}
	}
}

func (f *fleet) haltOf(r *Request) *trueHalt {
	for i := range r.Causes {
		for _, h := range f.halts {
			if h.isActive && h.concerns(&r.Causes[i]) {
				return h
			}
		}
	}
	return nil
}

func (l *leader) checkSlowStart(a *app, r *Request, id FanOut) {
	if first := l.first[id.Config]; len(first) > 0 && r.Standing != Failed && l.now.Before(l.firstUntil[id.Config]) {
		l.breaks("%s restarts before %v", a, first)
	}
	inFlight := 0
	for _, other := range l.apps {
		var present *Request
		_, isUncertain := l.uncertain[other]
		switch {
		case other == a:
			continue
		case l.patches[other] != nil && l.isAcceptable(other, l.patches[other]):
			present = l.patches[other].request
		case other.rollout != nil && isUncertain && other.rollout.outcome == open:
			present = other.rollout.request
		}
		_, isExposed := l.exposed[other][id]
		if isExposed && l.wasWell[other] || present != nil && present.Standing != Unwell && slices.Contains(fanOutsOf(present), id) {
			inFlight++
		}
		if waits := l.asked[other]; waits != nil && waits.Standing < r.Standing && l.isInTurn(other) && slices.Contains(fanOutsOf(waits), id) {
			l.breaks("%s restarts before %s, whose turn is earlier", a, other)
		}
	}
	if limit := max(1, l.proven[id]); r.Standing != Unwell && inFlight >= limit || r.Standing == Unwell && inFlight > 0 {
		l.breaks("%s restarts as another one beside %d, with %d proven", a, inFlight, l.proven[id])
	}
}

func (l *leader) isInTurn(a *app) bool { return l.reasons[a] == SlowStart || l.reasons[a] == Limit }
