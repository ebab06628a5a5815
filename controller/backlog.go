package controller

import (
	"slices"
	"sync"
	"time"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/internal/series"
)

// backlog is what a workload with unapplied changes waits for.
type backlog struct {
	since time.Time // when the first of the changes was made or observed, as far as that is known
	count int       // how often changes were observed
	due   bool      // whether the pods are known to need a restart
	// isInherited means that a config changed before this process led, and atLeast that the first change may be earlier than
	// since.
	isInherited, atLeast bool
	// owed is since when the workload has waited longer than it should: the grace period
	// is over, and the budget allows a restart. It is zero if nothing is due, and in the
	// future while a restart is put off.
	owed time.Time
	// isIgnored means that the workload waits because of an error that the operator wants
	// to ignore.
	isIgnored bool
	// failure is why attempts failed. It ends with the backlog, and not while the restart waits for another reason.
	failure failedAttempts
	// slowedBy holds the first configs whose restart has to wait because the workload has
	// no budget left; nil if no restart has to wait for that reason.
	slowedBy []names.ConfigRef
	// putOff is what the restart waits for, and putOffSince since when; empty if it does not wait. putOffBy
	// is the config whose fan-out or halt it waits for, or why people hold it. reported are the reasons that
	// were news to the owner, with when each was last, in the order in which they were told.
	putOff      gate.Reason
	putOffSince time.Time
	putOffBy    waitedFor
	reported    []reportedReason
	// heldSince is since when it waits for what needs a person or a window, which may be later than putOffSince.
	heldSince time.Time
	// changed means that a change has become due since the restart was put off.
	changed bool
	// isExposed means that pods have read the new content, although the restart waits.
	isExposed bool
}

// reportedReason is a reason to wait that the owner of a workload has been told.
type reportedReason struct {
	reason gate.Reason
	on     names.ConfigRef // whose halt it is, if it is one
	why    string          // set by lastTold, if it is known what held the restart last
	at     time.Time
	isOver bool // and the owner has been told that, too
	again  int  // how often it was told again after that
}

// isDeliberate reports whether the restart waits because the gate does not let it begin, and not
// because of its budget.
func (w *backlog) isDeliberate() bool { return w.putOff != "" && w.putOff != gate.Backoff }

// isHeldForLong reports whether the restart waits for a person, a time or an earlier wave, which may last,
// and not just for its turn.
func (w *backlog) isHeldForLong() bool { return mayLast(w.putOff) }

func mayLast(reason gate.Reason) bool { return reason.IsHold() || reason == gate.Wave }

// told returns where the reason stands among those that the owner of a workload has been told, -1 if it does not.
func (w *backlog) told(reason gate.Reason) int {
	return slices.IndexFunc(w.reported, func(r reportedReason) bool { return r.reason == reason })
}

// isNews notes that the owner of a workload hears of a reason, and reports whether that is news: it is new since the
// last restart, it lasts so long that the Event about it may be gone, it is back after its end was told, or another reason was
// told after it. The latter is told after some minutes at the earliest. What comes and goes is told again after four times as long
// each time: anybody can set and remove a hold often.
func (w *backlog) isNews(answer *gate.Answer, now time.Time) bool {
	told := reportedReason{reason: answer.Reason, on: waitedForBy(answer).config, at: now}
	i := w.told(told.reason)
	if i >= 0 {
		former := w.reported[i]
		pause := longestWait
		switch isLast := i == len(w.reported)-1 && former.on == told.on; {
		case former.isOver:
			pause, told.again = min(longestWait<<(2*former.again), reminderPeriod), min(former.again+1, 2)
		case isLast:
			pause = reminderPeriod
		}
		if !mayLast(told.reason) || now.Sub(former.at) < pause {
			return false
		}
		w.reported = slices.Delete(w.reported, i, i+1)
	}
	w.reported = append(w.reported, told)
	return true
}

// lastTold returns the last of the reasons that the owner of a workload has been told and that a function accepts, and false
// if there is none. The halt is the last one that held the restart, which need not be the one that was told.
func (w *backlog) lastTold(is func(gate.Reason) bool) (last reportedReason, wasTold bool) {
	for _, told := range w.reported {
		if !told.isOver && is(told.reason) {
			last, wasTold = told, true
		}
	}
	if last.reason == gate.Halted && w.putOff == gate.Halted {
		last.on = w.putOffBy.config
	}
	if last.reason == w.putOff {
		last.why = w.putOffBy.text
	}
	return last, wasTold
}

// takeEnded takes from what the owner of a workload has been told that a person has to act, if the gate answers otherwise
// now, and returns what was told last. It returns false if there is no such thing, or if it need not be over. Whoever may
// set a hold can set and remove it often, so it is remembered when it was told.
func (b *backlogs) takeEnded(ref names.WorkloadRef, answer gate.Reason) (told reportedReason, hasEnded bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := b.waiting[ref]
	isOver := func(r gate.Reason) bool {
		return r.NeedsPerson() && (answer == "" || slices.Index(gate.Reasons, r) < slices.Index(gate.Reasons, answer))
	}
	if told, hasEnded = w.lastTold(isOver); !hasEnded {
		return told, false
	}
	for i := range w.reported {
		w.reported[i].isOver = w.reported[i].reason != gate.Halted && isOver(w.reported[i].reason)
	}
	w.reported = slices.DeleteFunc(w.reported, func(r reportedReason) bool { return !r.isOver && mayLast(r.reason) }) // what still holds it is told anew
	b.waiting[ref] = w
	return told, true
}

// backlogs holds the backlogs of all workloads. It serves only logs, Events and metrics:
// each decision is made from the catalog. Its methods may be called by several goroutines
// at once.
type backlogs struct {
	mu      sync.Mutex
	waiting map[names.WorkloadRef]backlog
	slowing catalog.Counts[names.ConfigRef] // how many waiting workloads each config slows down
	began   time.Time                       // when this process began to lead
}

func newBacklogs() *backlogs {
	return &backlogs{waiting: make(map[names.WorkloadRef]backlog), slowing: make(map[names.ConfigRef]int)}
}

// begin notes that this process begins to lead.
func (b *backlogs) begin(now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.began = now
}

// note adds a change that may concern its workload. One that came while this process stood by may have been acted on long
// ago, so its workload waits since this process leads, or since an edit; see [backlogs.date].
func (b *backlogs) note(change observedChange) {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := b.waiting[change.Workload]
	if change.Since.Before(b.began) {
		_, isConfig := change.Subject.(names.ConfigRef)
		w.isInherited, w.atLeast = w.isInherited || isConfig, true
		change.Since = b.began
		if change.Due.Before(b.began) {
			change.Due = b.began
		}
	}
	if w.count == 0 || change.Since.Before(w.since) {
		w.since = change.Since
	}
	if w.owed.IsZero() {
		w.owed = change.Due
	}
	w.count += change.Count
	w.changed = true
	b.waiting[change.Workload] = w
}

// date notes when the first of the edits was made that a restart is for, zero if that is not known, and whether none can be
// earlier. It matters only if a change came before this process led: others are as old as they were seen, such as that a
// workload is enabled long after an edit. Unseen is when the first was made that no watch showed, because this process is younger.
func (b *backlogs) date(ref names.WorkloadRef, edited, unseen time.Time, knowsAll bool, grace time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	w, found := b.waiting[ref]
	if !found || w.count == 0 || !w.putOffSince.IsZero() {
		return
	}
	switch {
	case !unseen.IsZero() && unseen.Before(w.since):
		w.since, w.owed, w.isInherited, w.atLeast = unseen, unseen.Add(grace), true, true
	case edited.IsZero():
		w.atLeast = true
	case w.isInherited && edited.Before(w.since):
		w.since, w.owed, w.isInherited, w.atLeast = edited, edited.Add(grace), edited.Before(b.began), !knowsAll
	}
	b.waiting[ref] = w
}

// maxSlowing is the highest number of configs remembered as slowing down one workload.
const maxSlowing = 10

// putOff notes that a restart has to wait, and returns since when this process lets it, and whether the reason is
// news to the owner. Waiting for an earlier wave is normal for a while.
func (b *backlogs) putOff(ref names.WorkloadRef, causes []decide.Cause, answer gate.Answer, now time.Time) (since time.Time, news bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := b.waiting[ref]
	isNormal := answer.Reason == gate.Wave && (w.putOff == "" || now.Sub(w.putOffSince) < longestWait)
	news = !isNormal && w.isNews(&answer, now)
	if w.putOff == "" {
		w.putOffSince = now
		if h := answer.Halt; h != nil && h.IsFormer() && h.Since.Before(now) {
			w.putOffSince = h.Since // the former leader held it
		} else if w.isInherited && w.owed.Before(now) {
			w.putOffSince = w.owed // likewise, or nobody led
		}
	}
	w.noteHeld(answer.Reason, now)
	if mayLast(answer.Reason) {
		w.failure.late = time.Time{} // what waits for that is not late
	}
	w.due, w.owed, w.putOff, w.putOffBy, w.changed = true, answer.Until, answer.Reason, waitedForBy(&answer), false
	w.failure.unknown, w.failure.next = "", time.Time{}
	b.countSlowing(w.slowedBy, -1)
	if w.slowedBy = nil; answer.Reason == gate.Backoff {
		w.slowedBy = make([]names.ConfigRef, 0, min(len(causes), maxSlowing))
		for _, cause := range causes[:min(len(causes), maxSlowing)] {
			w.slowedBy = append(w.slowedBy, cause.Config)
		}
	}
	b.countSlowing(w.slowedBy, 1)
	b.waiting[ref] = w
	if w.putOffSince.Before(b.began) {
		return b.began, news
	}
	return w.putOffSince, news
}

// noteHeld notes since when a restart is held that was put off for another reason before, or for none.
func (w *backlog) noteHeld(reason gate.Reason, now time.Time) {
	switch {
	case !reason.IsHold(), w.putOff.IsHold():
	case w.putOff == "" && !w.due:
		w.heldSince = w.putOffSince
	default: // also if attempts failed before
		w.heldSince = now
	}
}

// countSlowing must be called with the lock held.
func (b *backlogs) countSlowing(configs []names.ConfigRef, more int) {
	for _, config := range configs {
		b.slowing.Add(config, more)
	}
}

// slowed returns how many workloads each config slows down.
func (b *backlogs) slowed() []series.Sample {
	b.mu.Lock()
	defer b.mu.Unlock()
	samples := make([]series.Sample, 0, len(b.slowing))
	for config, workloads := range b.slowing {
		samples = append(samples, series.Sample{Label: config.String(), Value: float64(workloads)})
	}
	return samples
}

// longestWaits returns for each namespace how long the most overdue restart or record has
// been due, except those with an ignored error.
func (b *backlogs) longestWaits(now time.Time) map[string]time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	longest := make(map[string]time.Duration)
	for ref, w := range b.waiting {
		if w.owed.IsZero() || w.isIgnored || w.isDeliberate() {
			continue
		}
		if wait := now.Sub(w.owed); wait > longest[ref.Namespace] {
			longest[ref.Namespace] = wait
		}
	}
	return longest
}

// noteDue notes that a restart of a workload is due now, and whether its record says that it was put off. If a former leader did
// that, it is not known for how long, so nothing is late that was due before this process led. What waited for its turn only
// because the leader is new is as late as before.
func (b *backlogs) noteDue(ref names.WorkloadRef, wasPutOff bool, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := b.waiting[ref]
	switch w.due = true; {
	case w.isDeliberate() && w.isInherited && !w.isHeldForLong() && now.Sub(b.began) < lastingWait:
		w.owed = w.putOffSince
	case w.isDeliberate(), w.owed.IsZero():
		w.owed = now
	}
	if wasPutOff && w.owed.Before(b.began) {
		w.owed = b.began
	}
	w.putOff, w.isExposed = "", false
	b.waiting[ref] = w
}

// state reports whether a restart of a workload is due, and whether work for it is under way.
func (b *backlogs) state(ref names.WorkloadRef) (due, waits bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	w, found := b.waiting[ref]
	return w.due, found
}

// isHeld reports whether a restart of a workload waits because the gate does not let it begin.
func (b *backlogs) isHeld(ref names.WorkloadRef) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := b.waiting[ref]
	return w.isDeliberate()
}

// isAsking reports whether a restart that the gate did not let begin asks again without a change that has
// become due.
func (b *backlogs) isAsking(ref names.WorkloadRef) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := b.waiting[ref]
	return w.isDeliberate() && !w.changed
}

// those returns the workloads whose backlog is of a kind.
func (b *backlogs) those(isOne func(*backlog) bool) (found []names.WorkloadRef) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var w backlog // one for all, because it is moved to the heap
	for ref := range b.waiting {
		if w = b.waiting[ref]; isOne(&w) {
			found = append(found, ref)
		}
	}
	return found
}

// settle forgets what a workload waited for, and returns it.
func (b *backlogs) settle(ref names.WorkloadRef) backlog {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.remove(ref)
}

// remove must be called with the lock held.
func (b *backlogs) remove(ref names.WorkloadRef) backlog {
	waited := b.waiting[ref]
	b.countSlowing(waited.slowedBy, -1)
	if delete(b.waiting, ref); len(b.waiting) == 0 {
		b.waiting = make(map[names.WorkloadRef]backlog) // releases the memory that many entries took
	}
	return waited
}

// putOffRecord notes that a record, but no restart, has to wait until a time.
func (b *backlogs) putOffRecord(ref names.WorkloadRef, until time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	waiting := b.remove(ref)
	waiting.due, waiting.slowedBy, waiting.owed, waiting.putOff, waiting.isExposed, waiting.changed, waiting.failure = false, nil, until, "", false, false, failedAttempts{isTold: waiting.failure.isTold}
	b.waiting[ref] = waiting
}
