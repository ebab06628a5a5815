package gate

import "time"

// checkIdle checks that nobody waits for nothing when nobody has anything to do.
func (f *fleet) checkIdle() {
	l := f.leader
	if l == nil || f.problem != "" || len(l.queued)+len(l.patches) > 0 {
		return
	}
	for _, a := range f.apps {
		switch reason := l.reasons[a]; reason {
		case Limit:
			l.checkPlaces(a)
		case SlowStart:
			l.checkOthersGo(a)
		case Wave:
			l.checkEarlierWave(a)
		case Halted:
			if f.haltOf(l.asked[a]) == nil {
				f.breaks("%s waits for the end of a halt that is over", a)
			}
		}
	}
	if f.chance(200) {
		f.checkLedger()
	}
}

// checkPlaces checks that no place is free for a workload that waits for one.
func (l *leader) checkPlaces(a *app) {
	all, own := 0, 0
	for _, other := range l.apps {
		since, isUncertain := l.uncertain[other]
		if isUncertain && l.ticked.Sub(since) < uncertainPlace || l.current[other].holdsPlace() {
			all++
			if other.ref.Namespace == a.ref.Namespace {
				own++
			}
		}
	}
	if free := l.policy.Limit - all; free > 0 && own <= free {
		l.breaks("%s waits for a place while %d are free and its namespace holds %d", a, free, own)
	}
}

// checkOthersGo checks that the others that a workload waits for do something.
func (l *leader) checkOthersGo(a *app) {
	for config, until := range l.firstUntil {
		if config.Namespace == a.ref.Namespace && !l.now.After(until.Add(10*time.Second)) {
			return // for those that go first
		}
	}
	for _, other := range l.apps {
		_, isUncertain := l.uncertain[other] // for a while: it may restart
		if other.ref.Namespace == a.ref.Namespace && (l.current[other] != nil || l.yields[other] || l.reasons[other] == Limit || isUncertain || len(l.exposed[other]) > 0 || !l.now.After(l.lostUntil[other].Add(time.Second))) {
			return
		}
	}
	l.breaks("%s waits for its turn, though nobody else restarts", a)
}

// checkEarlierWave checks that there is an earlier wave to wait for.
func (l *leader) checkEarlierWave(a *app) {
	for _, other := range l.apps {
		if other.ref.Namespace != a.ref.Namespace || other.isGone {
			continue
		}
		current := l.current[other]
		isRolling := current != nil && !current.isSoaking && min(other.wave, current.request.Wave) < a.wave
		isHeld := l.reasons[other] != "" && !other.cannotRoll
		if isRolling || other.wave < a.wave && (isHeld || l.pending[other]) {
			return
		}
	}
	l.breaks("%s waits for an earlier wave, and there is none", a)
}

func (f *fleet) checkLedger() {
	if problem := f.leader.ledger.problem(); problem != "" {
		f.breaks("%s", problem)
	}
}

// checkSettled checks that in the end everything was delivered or is halted, and nothing is forgotten.
func (f *fleet) checkSettled() {
	if f.problem != "" {
		return
	}
	f.checkLedger()
	isHalted := map[string]int16{}
	for _, a := range f.apps {
		if reason := f.leader.reasons[a]; a.isDue() && reason == Halted {
			if first, known := isHalted[a.ref.Namespace]; !known || a.wave < first {
				isHalted[a.ref.Namespace] = a.wave
			}
		}
	}
	if len(isHalted) > 0 {
		f.haltedEnds++
	}
	for _, a := range f.apps {
		reason := f.leader.reasons[a]
		first, isBehind := isHalted[a.ref.Namespace]
		if a.isDue() && reason != Halted && !(reason == Wave && isBehind && first < a.wave) {
			f.breaks("in the end %s waits for %q", a, reason)
		}
		if a.rollout != nil {
			f.breaks("in the end %s restarts", a)
		}
	}
}

// checkDelivered checks that everything was delivered and nothing is left.
func (f *fleet) checkDelivered() {
	if f.problem != "" {
		return
	}
	for _, a := range f.apps {
		if a.isDue() || a.rollout != nil {
			f.breaks("%s was not restarted: %q", a, f.leader.reasons[a])
		}
	}
	f.checkLedger()
	if left := f.leader.ledger.size(); left > 0 && f.problem == "" {
		f.breaks("%d workloads are left in the ledger", left)
	}
}
