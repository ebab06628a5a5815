package tracker

import (
	"slices"
	"time"

	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/controller/pending"
)

// Backlog is what a workload with unapplied changes waits for. One that waits for nothing has none, which is nil.
type Backlog struct {
	Since time.Time // when the first of the changes was made or observed, as far as that is known
	Count int       // how often changes were observed
	Due   bool      // whether the pods are known to need a restart
	// IsInherited means that a config changed before this process led, and AtLeast that the first change may be earlier than
	// since.
	IsInherited, AtLeast bool
	// Owed is since when the workload has waited longer than it should: the grace period
	// is over, and the budget allows a restart. It is zero if nothing is due, and in the
	// future while a restart is put off.
	Owed time.Time
	// isIgnored means that the workload waits because of an error that the operator wants
	// to ignore.
	isIgnored bool
	// Failure is why attempts failed. It ends with the backlog, and not while the restart waits for another reason.
	Failure FailedAttempts
	// slowedBy holds the first configs whose restart has to wait because the workload has
	// no budget left; nil if no restart has to wait for that reason.
	slowedBy []names.ConfigRef
	// PutOff is what the restart waits for, and putOffSince since when; empty if it does not wait. PutOffBy
	// is the config whose fan-out or halt it waits for, or why people hold it. reported are the reasons that
	// were news to the owner, with when each was last, in the order in which they were told.
	PutOff      gate.Reason
	putOffSince time.Time
	PutOffBy    WaitedFor
	reported    []ReportedReason
	// heldSince is since when it waits for what needs a person or a window, which may be later than putOffSince.
	heldSince time.Time
	// Changed means that a change has become due since the restart was put off.
	Changed bool
	// isExposed means that pods have read the new content, although the restart waits.
	isExposed bool
	// hasYielded means that it has waited for its turn in a fan-out.
	hasYielded bool
}

// ReportedReason is a reason to wait that the owner of a workload has been told.
type ReportedReason struct {
	Reason gate.Reason
	On     names.ConfigRef // whose halt it is, if it is one
	Why    string          // set by LastTold, if it is known what held the restart last
	at     time.Time
	isOver bool // and the owner has been told that, too
	again  int  // how often it was told again after that
}

// IsDeliberate reports whether the restart waits because the gate does not let it begin, and not
// because of its budget.
func (w *Backlog) IsDeliberate() bool { return w != nil && w.PutOff != "" && w.PutOff != gate.Backoff }

// IsAsking reports whether a restart that the gate did not let begin asks again without a change that has
// become due.
func (w *Backlog) IsAsking() bool { return w.IsDeliberate() && !w.Changed }

// IsHeldForLong reports whether the restart waits for a person, a time or an earlier wave, which may last,
// and not just for its turn.
func (w *Backlog) IsHeldForLong() bool { return w != nil && MayLast(w.PutOff) }

// MayLast reports whether what restarts wait for may last.
func MayLast(reason gate.Reason) bool { return reason.IsHold() || reason == gate.Wave }

// told returns where the reason stands among those that the owner of a workload has been told, -1 if it does not.
func (w *Backlog) told(reason gate.Reason) int {
	return slices.IndexFunc(w.reported, func(r ReportedReason) bool { return r.Reason == reason })
}

// isNews notes that the owner of a workload hears of a reason, and reports whether that is news: it is new since the
// last restart, it lasts so long that the Event about it may be gone, it is back after its end was told, or another reason was
// told after it. The latter is told after some minutes at the earliest. What comes and goes is told again after four times as long
// each time: anybody can set and remove a hold often.
func (w *Backlog) isNews(answer *gate.Answer, now time.Time) bool {
	told := ReportedReason{Reason: answer.Reason, On: WaitedForBy(answer).Config, at: now}
	i := w.told(told.Reason)
	if i >= 0 {
		former := w.reported[i]
		pause := LongestWait
		switch isLast := i == len(w.reported)-1 && former.On == told.On; {
		case former.isOver:
			pause, told.again = min(LongestWait<<(2*former.again), ReminderPeriod), min(former.again+1, 2)
		case isLast:
			pause = ReminderPeriod
		}
		if !MayLast(told.Reason) || now.Sub(former.at) < pause {
			return false
		}
		w.reported = slices.Delete(slices.Clone(w.reported), i, i+1)
	}
	w.reported = append(w.reported, told)
	return true
}

// LastTold returns the last of the reasons that the owner of a workload has been told and that a function accepts, and false
// if there is none. The halt is the last one that held the restart, which need not be the one that was told.
func (w *Backlog) LastTold(is func(gate.Reason) bool) (last ReportedReason, wasTold bool) {
	for _, told := range w.reported {
		if !told.isOver && is(told.Reason) {
			last, wasTold = told, true
		}
	}
	if last.Reason == gate.Halted && w.PutOff == gate.Halted {
		last.On = w.PutOffBy.Config
	}
	if last.Reason == w.PutOff {
		last.Why = w.PutOffBy.Text
	}
	return last, wasTold
}

// TakeEnded takes from what the owner of a workload has been told that a person has to act, if the gate answers otherwise
// now, and returns what was told last. It returns false if there is no such thing, or if it need not be over. Whoever may
// set a hold can set and remove it often, so it is remembered when it was told.
func (b *Backlogs) TakeEnded(ref names.WorkloadRef, answer gate.Reason) (told ReportedReason, hasEnded bool) {
	isOver := func(r gate.Reason) bool {
		return r.NeedsPerson() && (answer == "" || slices.Index(gate.Reasons, r) < slices.Index(gate.Reasons, answer))
	}
	b.changeKnown(ref, func(w *Backlog) {
		if told, hasEnded = w.LastTold(isOver); !hasEnded {
			return
		}
		w.reported = slices.Clone(w.reported)
		for i := range w.reported {
			w.reported[i].isOver = w.reported[i].Reason != gate.Halted && isOver(w.reported[i].Reason)
		}
		w.reported = slices.DeleteFunc(w.reported, func(r ReportedReason) bool { return !r.isOver && MayLast(r.Reason) }) // what still holds it is told anew
	})
	return told, hasEnded
}

// Backlogs are the backlogs in a table. What to do is decided from the catalog; the backlogs say
// when to ask again, whom evictions wait for, and what logs, Events and metrics show. Its methods may be
// called by several goroutines at once.
type Backlogs struct {
	table *Table
	began time.Time // when this process began to lead; used with the table locked
}

// NewBacklogs returns the backlogs in a table.
func NewBacklogs(table *Table) *Backlogs { return &Backlogs{table: table} }

// Begin notes that this process begins to lead.
func (b *Backlogs) Begin(now time.Time) {
	b.table.Lock()
	defer b.table.Unlock()
	b.began = now
}

// Of returns what a workload waits for, nil if it waits for nothing.
func (b *Backlogs) Of(ref names.WorkloadRef) *Backlog { return b.table.Of(ref).Backlog }

// change changes what a workload waits for from now on.
func (b *Backlogs) change(ref names.WorkloadRef, change func(*Backlog)) {
	b.table.Update(ref, func(row *Row) { row.Backlog = changed(row.Backlog, change) })
}

// changeKnown does so if it waits for something already.
func (b *Backlogs) changeKnown(ref names.WorkloadRef, change func(*Backlog)) {
	b.table.UpdateKnown(ref, func(row *Row) {
		if row.Backlog != nil {
			row.Backlog = changed(row.Backlog, change)
		}
	})
}

// Note adds a change that may concern its workload. One that came while this process stood by may have been acted on long
// ago, so its workload waits since this process leads, or since an edit; see [Backlogs.Date].
func (b *Backlogs) Note(change pending.ObservedChange) {
	b.change(change.Workload, func(w *Backlog) {
		if change.Since.Before(b.began) {
			_, isConfig := change.Subject.(names.ConfigRef)
			w.IsInherited, w.AtLeast = w.IsInherited || isConfig, true
			change.Since = b.began
			if change.Due.Before(b.began) {
				change.Due = b.began
			}
		}
		if w.Count == 0 || change.Since.Before(w.Since) {
			w.Since = change.Since
		}
		if w.Owed.IsZero() {
			w.Owed = change.Due
		}
		w.Count += change.Count
		w.Changed = true
	})
}

// Date notes when the first of the edits was made that a restart is for, zero if that is not known, and whether none can be
// earlier. It matters only if a change came before this process led: others are as old as they were seen, such as that a
// workload is enabled long after an edit. Unseen is when the first was made that no watch showed, because this process is younger.
func (b *Backlogs) Date(ref names.WorkloadRef, edited, unseen time.Time, knowsAll bool, grace time.Duration) {
	b.changeKnown(ref, func(w *Backlog) {
		switch {
		case w.Count == 0 || !w.putOffSince.IsZero():
		case !unseen.IsZero() && unseen.Before(w.Since):
			w.Since, w.Owed, w.IsInherited, w.AtLeast = unseen, unseen.Add(grace), true, true
		case edited.IsZero():
			w.AtLeast = true
		case w.IsInherited && edited.Before(w.Since):
			w.Since, w.Owed, w.IsInherited, w.AtLeast = edited, edited.Add(grace), edited.Before(b.began), !knowsAll
		}
	})
}

// maxSlowing is the highest number of configs remembered as slowing down one workload.
const maxSlowing = 10

// PutOff notes that a restart has to wait, and returns since when this process lets it, and whether the reason is
// news to the owner. Waiting for an earlier wave is normal for a while.
func (b *Backlogs) PutOff(ref names.WorkloadRef, causes []decide.Cause, answer gate.Answer, now time.Time) (since time.Time, news bool) {
	b.change(ref, func(w *Backlog) {
		isNormal := answer.Reason == gate.Wave && (w.PutOff == "" || now.Sub(w.putOffSince) < LongestWait)
		news = !isNormal && w.isNews(&answer, now)
		w.putOff(causes, &answer, now)
		if since = w.putOffSince; since.Before(b.began) {
			since = b.began
		}
	})
	return since, news
}

// YieldsUntil returns until when a restart leaves the first turn in its fan-outs to others if the workload lacks pods: for a moment,
// once nothing else keeps it waiting, and once only.
func (w *Backlog) YieldsUntil(now time.Time) time.Time {
	switch {
	case w == nil || !w.hasYielded:
		return now.Add(gate.YieldTime)
	case w.PutOff == gate.SlowStart:
		return w.Owed
	}
	return time.Time{}
}

func (w *Backlog) putOff(causes []decide.Cause, answer *gate.Answer, now time.Time) {
	if w.PutOff == "" {
		w.putOffSince = now
		if h := answer.Halt; h != nil && h.IsFormer() && h.Since.Before(now) {
			w.putOffSince = h.Since // the former leader held it
		} else if w.IsInherited && w.Owed.Before(now) {
			w.putOffSince = w.Owed // likewise, or nobody led
		}
	}
	w.noteHeld(answer.Reason, now)
	if MayLast(answer.Reason) {
		w.Failure.late = time.Time{} // what waits for that is not late
	}
	w.Due, w.Owed, w.PutOff, w.PutOffBy, w.Changed = true, answer.Until, answer.Reason, WaitedForBy(answer), false
	w.hasYielded = w.hasYielded || answer.Reason == gate.SlowStart
	w.Failure.Unknown, w.Failure.Next = "", time.Time{}
	if w.slowedBy = nil; answer.Reason == gate.Backoff {
		w.slowedBy = make([]names.ConfigRef, 0, min(len(causes), maxSlowing))
		for _, cause := range causes[:min(len(causes), maxSlowing)] {
			w.slowedBy = append(w.slowedBy, cause.Config)
		}
	}
}

// noteHeld notes since when a restart is held that was put off for another reason before, or for none.
func (w *Backlog) noteHeld(reason gate.Reason, now time.Time) {
	switch {
	case !reason.IsHold(), w.PutOff.IsHold():
	case w.PutOff == "" && !w.Due:
		w.heldSince = w.putOffSince
	default: // also if attempts failed before
		w.heldSince = now
	}
}

// NoteDue notes that a restart of a workload is due now, and whether its record says that it was put off. If a former leader did
// that, it is not known for how long, so nothing is late that was due before this process led. What waited for its turn only
// because the leader is new is as late as before.
func (b *Backlogs) NoteDue(ref names.WorkloadRef, wasPutOff bool, now time.Time) {
	b.change(ref, func(w *Backlog) {
		switch w.Due = true; {
		case w.IsDeliberate() && w.IsInherited && !w.IsHeldForLong() && now.Sub(b.began) < LastingWait:
			w.Owed = w.putOffSince
		case w.IsDeliberate(), w.Owed.IsZero():
			w.Owed = now
		}
		if wasPutOff && w.Owed.Before(b.began) {
			w.Owed = b.began
		}
		w.PutOff, w.isExposed, w.hasYielded = "", false, false
	})
}

// State reports whether a restart of a workload is due, and whether work for it is under way.
func (b *Backlogs) State(ref names.WorkloadRef) (due, waits bool) {
	w := b.Of(ref)
	return w != nil && w.Due, w != nil
}

// Those returns the workloads whose backlog is of a kind.
func (b *Backlogs) Those(isOne func(*Backlog) bool) (found []names.WorkloadRef) {
	for ref, row := range b.table.All() {
		if row.Backlog != nil && isOne(row.Backlog) {
			found = append(found, ref)
		}
	}
	return found
}

// Settle forgets what a workload waited for, and returns it.
func (b *Backlogs) Settle(ref names.WorkloadRef) (waited Backlog) {
	b.table.UpdateKnown(ref, func(row *Row) {
		if row.Backlog != nil {
			waited, row.Backlog = *row.Backlog, nil
		}
	})
	return waited
}

// PutOffRecord notes that a record, but no restart, has to wait until a time.
func (b *Backlogs) PutOffRecord(ref names.WorkloadRef, until time.Time) {
	b.change(ref, func(w *Backlog) {
		w.Due, w.slowedBy, w.Owed, w.PutOff, w.isExposed, w.Changed, w.Failure = false, nil, until, "", false, false, FailedAttempts{IsTold: w.Failure.IsTold}
	})
}

// NoteExposed notes whether pods of a workload whose restart waits have read the new content.
func (b *Backlogs) NoteExposed(ref names.WorkloadRef, isExposed bool) {
	b.changeKnown(ref, func(w *Backlog) { w.isExposed = isExposed })
}

// ReminderPeriod is how often an Event reports again what lasts: a halt, a restart that is held, a pod that cannot be
// evicted. API servers keep Events for an hour by default, and all that may have to be understood the next morning.
const ReminderPeriod = 50 * time.Minute

const (
	// LastingWait is how long a restart must have waited until its record is marked as contradicted.
	// Most waits are shorter, and each mark is a write.
	LastingWait = 10 * time.Second
	// LongestWait is after how long a restart that waits asks again in any case.
	LongestWait = 5 * time.Minute
)
