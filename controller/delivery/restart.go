package delivery

import (
	"fmt"
	"time"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/internal/podsight"
)

// Verdict is what became of a restart.
type Verdict string

// The verdicts. Delivered, Failed and Neutral are final.
const (
	// Rolling means that the rollout is under way, or has not been complete for long enough.
	Rolling Verdict = "rolling"
	// AskPods means that the verdict needs the pods; see [Restart.LookAtPods].
	AskPods Verdict = "ask"
	// Delivered means that all pods run with the restart and stayed up.
	Delivered Verdict = "delivered"
	// Failed means that the pods do not run with the restart, and that they did before.
	Failed Verdict = "failed"
	// Neutral means that the outcome says nothing about the content that the restart delivers.
	Neutral Verdict = "neutral"
	// Away means that there is nothing to see for now: the workload wants no pods, is paused or being deleted, or has another record.
	Away Verdict = "away"
)

// Policy determines how long a restart may take.
type Policy struct {
	// Soak is how long a complete rollout must stay complete.
	Soak time.Duration
	// Deadline is how long a rollout may make no progress. Pods whose containers run may take as long as a deadline of the workload
	// itself says, if that is an hour at most.
	Deadline time.Duration
}

// longest is how long a restart is followed at most whose pods ran and do not any more, again and again, or that waits for others.
const longest = time.Hour

// Judgement is a verdict with its reason for a person. A verdict that is not final is worth another
// look after a while, unless the status changes earlier.
type Judgement struct {
	Verdict Verdict
	Reason  string
	Again   time.Duration
	// Seen is the pod that shows a failure.
	Seen podsight.Sight
}

// firstAsk is after how long without progress the pods are read for the first time. The time
// doubles each time.
const firstAsk = 15 * time.Second

// Restart is a restart that is followed until its verdict. Until then, the workload is exposed to what the restart has brought,
// whoever restarts it or changes its pod template meanwhile. It must not be used by several goroutines at once.
type Restart struct {
	// Timestamp is the restart timestamp that the pod template has, and Template the fingerprint of the rest. Bare is that of the
	// template that was restarted, without anything that restarts it.
	Timestamp string
	Template  record.Fingerprint
	Bare      record.BareFingerprint
	// Evict is [record.LastRestart.Evict]. If it is not 0, the restart is one by eviction, the timestamp is that of an
	// earlier restart, and the statuses to judge are those that [Evicting] returns.
	Evict uint32
	// Held is why no pod may be evicted, whatever the pods do; empty if one may.
	Held string
	// Ran is how many pods ran before the restart. If that is 0, its failure says nothing. Otherwise it is delivered when all run but
	// those that were missing, and fails if more are down.
	Ran     record.Ran
	missing int32 // how many may be missing still: some may be back since
	wanted  int32 // how many pods it wanted when it was first followed

	// Since is when the workload was exposed: with this restart, or with one before it that was not judged. HasOthers means that others
	// have restarted the workload or changed its template since this one, so that only pods which started since then say anything.
	Since     time.Time
	HasOthers bool
	// evictsEarlier means that it evicts pods of an earlier release, since the present one has failed.
	evictsEarlier bool
	// GoesOn means that the one before it has brought content that is not judged, and that the pods read still.
	GoesOn bool

	began      time.Time              // when the restart did
	others     time.Time              // when others were first seen to change the workload, since this restart or one before it that was not judged
	failedBare record.BareFingerprint // the template with which it failed
	nextLook   time.Time              // when the pods may be read again at the earliest, if others have changed the workload
	progressed time.Time              // when the rollout last came further, or waited at a step
	came       time.Time              // when it last came further
	whole      time.Time              // since when the rollout is complete; zero if it is not
	full       time.Time              // since when all pods run, also those that were missing; zero if they do not
	wasWhole   bool                   // it was complete once
	waits      bool                   // for a person or a metric, as its controller says, for an hour at most
	held       time.Time              // since when it has waited at a step of the deployment engine, for as long as people wish; zero if it does not
	best       progress               // the furthest that the rollout has come
	pause      time.Duration          // without progress, until the pods are read
}

// Begin returns the restart of a workload with this pod template, which began at the given time. If the workload may show what others
// have done since, set what the restart has written.
func Begin(w *workload.Workload, ran record.Ran, at time.Time) *Restart {
	return &Restart{
		Timestamp: w.Timestamp, Template: w.Template, Bare: w.Bare, Evict: w.Record.Evict, Ran: ran,
		evictsEarlier: w.IsFallenBack() && w.Record.Evict > 0, Since: at, began: at, progressed: at, came: at, pause: firstAsk, missing: ran.Missing(), wanted: w.Rollout.Wanted,
	}
}

// MeasureBy makes the restart be judged by the pods that ran before another one. If as many did, those that are back stay so.
func (r *Restart) MeasureBy(ran record.Ran) {
	if ran != r.Ran {
		r.Ran, r.missing = ran, ran.Missing()
	}
}

// before returns how many pods must run again.
func (r *Restart) before(w *workload.Workload) int32 {
	return record.AllBut(r.missing).Of(w.Rollout.Wanted)
}

// isPartial reports whether pods were missing before, and are not back, so that some may be down for other reasons.
func (r *Restart) isPartial() bool { return r.missing > 0 }

// RunsAsBefore reports whether as many pods run as before the restart, all of the present template.
func (r *Restart) RunsAsBefore(w *workload.Workload) bool { return w.Rollout.Runs(r.before(w)) }

// Continue makes the restart go on with what an earlier one of the workload was not judged for.
func (r *Restart) Continue(earlier *Restart) { r.Since, r.others = earlier.Since, earlier.others }

// takeover is how long there may be no leader. A rollout may exceed its deadline meanwhile, and the next leader must notice.
const takeover = time.Minute

// Resumes reports whether the restart of a workload may still be under way, and when it began, for a
// process that did not make it. If the clock of the other process was ahead, the restart began at the latest now.
func Resumes(w *workload.Workload, policy Policy, now time.Time) (began time.Time, isRolling bool) {
	began, err := time.Parse(time.RFC3339Nano, w.Timestamp)
	isOurs := !began.Before(w.Record.Written) || len(w.Record.RestartedFor) > 0 // which a later record keeps
	if evicted, isByEviction := w.Record.EvictedAt(); isByEviction {
		began, err, isOurs = evicted, nil, true
	}
	longest := min(policy.patience(w)+takeover, longest)
	isOurs = isOurs && w.Record.Trusted && w.Record.Reverted == nil
	isLate := began.Before(now.Add(-longest)) && !TakesSteps(w)
	if err != nil || !isOurs || isLate || began.After(now.Add(longest)) {
		return time.Time{}, false
	}
	began = earlier(began, now)
	soaked := now.Sub(began) - policy.Soak
	return began, soaked < 0 || !hasCompleted(w, soaked)
}

// TakesSteps reports whether the restart of a workload takes steps, so that it may take as long as people wish.
func TakesSteps(w *workload.Workload) bool {
	return w.Rollout.Course == workload.RestartTakesSteps || w.Rollout.Course == workload.RestartAborted
}

// hasCompleted reports whether a restart is over whose soak time was over so long ago.
func hasCompleted(w *workload.Workload, ago time.Duration) bool {
	// What broke within its soak time, while nobody led, is not proven, although it was complete.
	isProven := w.Rollout.Observed && w.Rollout.Completed && ago >= takeover
	return (w.Rollout.Runs(w.Record.Ran.Of(w.Rollout.Wanted)) || isProven) && w.Record.Evict == 0 && !w.IsFallenBack()
}

// judged returns a workload with the status to judge.
func (r *Restart) judged(w *workload.Workload) *workload.Workload {
	if r.Evict == 0 || w.Record.Evict > 0 || !w.RestartsItself() && !w.IsFallenBack() { // as long as pods are left, it has the status that Evicting returns
		return w
	}
	judged := *w
	judged.Rollout = byEviction(w)
	return &judged
}

// Look judges by the status.
func (r *Restart) Look(w *workload.Workload, policy Policy, now time.Time) Judgement {
	w = r.judged(w)
	if reason := r.end(w); reason != "" {
		return r.away(reason, policy, now)
	}
	if r.evictsEarlier && w.Template != r.Template {
		return Judgement{Verdict: Neutral, Reason: "another release, or another attempt at the one that had failed, replaces its pods"}
	}
	isNews := r.noteOthers(w, now)
	r.note(w, now)
	switch {
	case !r.hasFallenBack(w):
	case w.Bare != r.Bare:
		return Judgement{Verdict: Neutral, Reason: "a later release has failed, and its Deployment has fallen back to an earlier one"}
	case w.Rollout.Course == workload.AbortedUnstarted:
		return Judgement{Verdict: Neutral, Reason: "the release that it restarted lacks its image, and its Deployment has fallen back to an earlier one"}
	default:
		return r.failed("the release that it restarted has failed, and its Deployment has fallen back to an earlier one", podsight.Sight{})
	}
	switch _, isStuck := r.isStuck(w, policy, now); {
	case isNews: // pods that crash may be gone soon
		return r.rest(r.nextLook.Sub(now))
	case !r.whole.IsZero():
		return r.rest(max(r.whole.Add(policy.Soak).Sub(now), r.nextLook.Sub(now)))
	case r.gaveUp(w), isStuck && w.Rollout.Waits:
		return Judgement{Verdict: AskPods}
	case w.Rollout.Waits:
		return Judgement{Verdict: Rolling, Again: policy.Deadline} // the status changes earlier
	}
	next := r.progressed.Add(min(r.pause, policy.Deadline)).Sub(now)
	return r.rest(next)
}

// hasFallenBack reports whether the template that was restarted has failed, so that pods of an earlier one run.
func (r *Restart) hasFallenBack(w *workload.Workload) bool { return r.Evict == 0 && w.IsFallenBack() }

// away judges a workload of which nothing is to be seen. It may come back until its deadline, and what it would show then counts.
func (r *Restart) away(reason string, policy Policy, now time.Time) Judgement {
	if wait := r.ExposedUntil(policy).Sub(now); wait > 0 && r.Ran > 0 {
		return Judgement{Verdict: Away, Reason: reason, Again: wait}
	}
	return Judgement{Verdict: Neutral, Reason: reason}
}

// noteOthers notes whether somebody else has restarted the workload, undone the restart, or changed the pod template. The pods
// that follow read the same configs.
func (r *Restart) noteOthers(w *workload.Workload, now time.Time) (isNews bool) {
	if w.Timestamp == r.Timestamp && w.Template == r.Template {
		return false
	}
	isOurs := w.Template == r.Template && w.Record.Trusted && w.Record.WithRestart // which is about to be followed
	r.Timestamp, r.Template = w.Timestamp, w.Template
	r.best, r.whole, r.full, r.progressed, r.came, r.pause = progress{}, time.Time{}, time.Time{}, now, now, firstAsk
	if isOurs {
		return false
	}
	if r.HasOthers = true; r.others.IsZero() {
		r.others = now
	}
	return true
}

// othersPause is how far apart the looks at the pods of a workload are that others change again and again.
const othersPause = 5 * time.Second

// Traces are what the pods of a workload may show of a restart.
type Traces struct {
	// Causes are the configs that it was for, none if they are not all known.
	Causes []names.ConfigRef
	// Since is when the pods began that say something, zero if those of the present template do, and Soak how long they must run.
	Since time.Time
	Soak  time.Duration
	// Counts means that it matters how many pods run, although none shows a failure.
	Counts bool
}

// Traces returns what to look for.
func (r *Restart) Traces(policy Policy, causes []names.ConfigRef) Traces {
	t := Traces{Causes: causes, Soak: policy.Soak, Counts: r.HasOthers || r.isPartial()}
	switch {
	case r.HasOthers:
		t.Since = r.began
	case r.GoesOn: // a StatefulSet may keep the pods of the one before for ever
		t.Since = r.Since
	}
	return t
}

// end returns why the restart is over whatever its pods do, empty if it is not.
func (r *Restart) end(w *workload.Workload) string {
	switch {
	case r.Evict > 0 && !r.isRecordedBy(w):
		return "its record has changed since"
	case w.Deleting:
		return "it is being deleted"
	case w.Idle:
		return "it wants no pods"
	case w.Hold.HoldsAll():
		return "its pods do not restart by themselves"
	}
	return ""
}

// isRecordedBy reports whether the record of a workload is still that of the restart by eviction. It need not name the
// restart any more once all pods are replaced.
func (r *Restart) isRecordedBy(w *workload.Workload) bool {
	return w.Record.Trusted && (w.Record.Evict == r.Evict || w.Record.Evict == 0)
}

// IsOf reports whether the restart is the last one of a workload.
func (r *Restart) IsOf(w *workload.Workload) bool {
	return r.Timestamp == w.Timestamp && r.Evict == w.Record.Evict
}

// IsWhole reports whether all pods ran with the restart when it was last looked at.
func (r *Restart) IsWhole() bool { return !r.whole.IsZero() }

// Stalls reports whether the rollout has made no progress for as long as the policy allows, although the
// workload itself may allow more.
func (r *Restart) Stalls(policy Policy, now time.Time) bool {
	return r.whole.IsZero() && r.UntilStall(policy, now) <= 0
}

// UntilStall returns how long the rollout may go on without progress until it stalls. That it waits at a step is none, for others.
func (r *Restart) UntilStall(policy Policy, now time.Time) time.Duration {
	return r.came.Add(policy.Deadline).Sub(now)
}

// Recovery is how long all pods must run until a restart that failed counts as delivered after all.
func (p Policy) Recovery() time.Duration { return max(p.Soak, recoverySoak) }

// recoverySoak is how long all pods must run at least until a restart that failed counts as delivered
// after all. Pods that crash again and again run for a while in between.
const recoverySoak = 30 * time.Second

// Fail notes that the restart has failed, with this template.
func (r *Restart) Fail(w *workload.Workload) {
	r.failedBare, r.whole, r.full = w.Bare, time.Time{}, time.Time{}
}

// Templates names the template that was restarted, and the one with which it failed if that is another.
func (r *Restart) Templates() string {
	if r.failedBare == r.Bare {
		return r.Bare.String()
	}
	return r.Bare.String() + "+" + r.failedBare.String()
}

// LookAfterFailure judges whether the pods run after all, given the status after a restart that failed. That they run with another
// template says nothing about the content.
func (r *Restart) LookAfterFailure(w *workload.Workload, policy Policy, now time.Time) Judgement {
	w = r.judged(w)
	switch reason := r.end(w); {
	case reason != "" && r.Evict > 0:
		return Judgement{Verdict: Neutral, Reason: reason}
	case reason != "", w.Bare != r.Bare && w.Bare != r.failedBare, r.hasFallenBack(w): // it may come back
		r.whole = time.Time{}
		return Judgement{Verdict: Rolling, Again: policy.Deadline}
	}
	r.noteOthers(w, now)
	r.note(w, now)
	switch wait := r.whole.Add(policy.Recovery()).Sub(now); {
	case r.whole.IsZero():
		return Judgement{Verdict: Rolling, Again: policy.Deadline} // the status changes earlier
	case wait > 0:
		return Judgement{Verdict: Rolling, Again: wait}
	case r.HasOthers && now.Sub(r.whole) >= longest:
		return Judgement{Verdict: Neutral, Reason: undone}
	case r.HasOthers, r.isPartial():
		return r.rest(r.nextLook.Sub(now))
	}
	return Judgement{Verdict: Delivered}
}

// LookAtPodsAfterFailure judges after [AskPods] whether the pods run after all.
func (r *Restart) LookAtPodsAfterFailure(w *workload.Workload, policy Policy, seen podsight.Sight, now time.Time) Judgement {
	if r.isProven(w, seen, policy, now) {
		return Judgement{Verdict: Delivered}
	}
	pause := policy.Recovery() // pods that crash may run in turns
	if r.HasOthers {
		pause = policy.Deadline
	}
	r.nextLook = now.Add(pause)
	return Judgement{Verdict: Rolling, Again: pause}
}

// undone is why nothing follows from pods that run.
const undone = "others have undone it: pods run that started before it"

// isProven reports whether the pods that run have read the content.
func (r *Restart) isProven(w *workload.Workload, seen podsight.Sight, policy Policy, now time.Time) bool {
	isFull := !r.full.IsZero() && now.Sub(r.full) >= policy.Soak
	return !r.whole.IsZero() && (!r.HasOthers && (!r.isPartial() || isFull) || r.haveRun(w, seen))
}

// haveRun reports whether as many pods have run for the soak time since the restart as before it.
func (r *Restart) haveRun(w *workload.Workload, seen podsight.Sight) bool {
	return seen.Ran >= r.before(w)
}

// rest waits for a while before the pods are read.
func (r *Restart) rest(wait time.Duration) Judgement {
	if wait > 0 {
		return Judgement{Verdict: Rolling, Again: wait}
	}
	return Judgement{Verdict: AskPods}
}

// progress is how far a rollout has come. Pods that crash and start again are no progress.
type progress struct {
	observed                     bool
	updated, outdated, available int32 // the most, the fewest, and the most since these
}

// with returns how far the rollout has come, given its status.
func (p progress) with(status workload.Rollout) progress {
	switch {
	case !status.Observed:
		return p
	case !p.observed:
		return progress{true, status.Updated, status.Outdated, status.Available}
	case status.Updated > p.updated || status.Outdated < p.outdated:
		return progress{true, max(p.updated, status.Updated), min(p.outdated, status.Outdated), status.Available}
	}
	p.available = max(p.available, status.Available)
	return p
}

// note notes a status.
func (r *Restart) note(w *workload.Workload, now time.Time) {
	status := w.Rollout
	if status.Observed {
		r.noteEarlier(w, status.Available-status.Updated)
	}
	if !status.IsWhole() {
		r.full = time.Time{}
	} else if r.full.IsZero() {
		r.full = now
	}
	r.noteStep(w, now)
	best := r.best.with(status)
	switch isFurther := best != r.best; {
	case isFurther, r.waits:
		r.best, r.progressed, r.came, r.pause = best, now, now, firstAsk
	case status.Waits:
		r.progressed = now
	}
	switch {
	case !r.RunsAsBefore(w):
		r.whole = time.Time{}
	case r.whole.IsZero():
		r.whole, r.wasWhole, r.progressed, r.came, r.pause = now, true, now, now, firstAsk
	}
}

// noteStep notes whether the rollout waits for others to let it go on.
func (r *Restart) noteStep(w *workload.Workload, now time.Time) {
	isHeld := w.Rollout.Waits && w.Rollout.Course.TakesSteps()
	if r.waits = w.Rollout.Waits && !isHeld; !isHeld {
		r.held = time.Time{}
	} else if r.held.IsZero() {
		r.held = now
	}
}

// HeldAtStep returns since when the rollout has waited at a step, zero if it does not.
func (r *Restart) HeldAtStep() time.Time { return r.held }

// noteEarlier notes that so many pods run that are not of the restart: what was missing before is back.
func (r *Restart) noteEarlier(w *workload.Workload, run int32) {
	r.missing = max(0, min(r.missing, w.Rollout.Wanted-run))
}

// LookAtPods judges after [AskPods], given what the pods show. Pods of an earlier template only count if they are
// blocked or leave.
func (r *Restart) LookAtPods(w *workload.Workload, policy Policy, seen podsight.Sight, missing string, now time.Time) Judgement {
	w = r.judged(w)
	if r.isPartial() && w.Rollout.Outdated > 0 {
		r.noteEarlier(w, w.Rollout.Available-seen.Ready)
	}
	stuck, hasEnded := r.isStuck(w, policy, now)
	isPatient := r.mayRun(w, seen, missing) && now.Sub(r.progressed) < policy.patience(w) && now.Before(r.latest(policy))
	switch {
	case seen.Condition == podsight.Broken && seen.Broken > r.missing:
		return r.failed(seen.String(), seen)
	case r.isProven(w, seen, policy, now):
		return Judgement{Verdict: Delivered}
	case !hasEnded, isPatient, seen.IsLeaving && seen.Condition != podsight.Hanging && now.Before(r.latest(policy)):
		return r.askAgain(w, policy, now)
	}
	if !r.gaveUp(w) && now.Sub(r.progressed) < policy.Deadline { // it came further, but has had its time
		return Judgement{Verdict: Neutral, Reason: stuck}
	}
	if r.isPartial() {
		return r.lookAtPartial(w, seen, missing, stuck)
	}
	return r.lookAtDeadline(w, seen, missing, stuck)
}

// mayRun reports whether the pods may still become ready.
func (r *Restart) mayRun(w *workload.Workload, seen podsight.Sight, missing string) bool {
	hasStarted := seen.Condition == podsight.Hanging || seen.Condition == podsight.Broken
	return !r.gaveUp(w) && (hasStarted || seen.Condition == podsight.Fine && missing == "" && !w.Rollout.CannotCreate)
}

// lookAtPartial does what lookAtDeadline does for a workload of which pods were missing before.
func (r *Restart) lookAtPartial(w *workload.Workload, seen podsight.Sight, missing, stuck string) Judgement {
	down := seen.Down
	if !r.HasOthers { // otherwise it is not known which of those that run are earlier ones
		down += earlierDown(w, seen) + r.absent(w)
	}
	switch {
	case w.Rollout.MayRun(r.before(w)) && r.haveRun(w, seen): // an earlier pod cannot go
		return Judgement{Verdict: Delivered}
	case seen.Down > 0 && down > r.missing:
		return r.failed(fmt.Sprintf("%s: %d pods are down, more than were missing before", stuck, down), seen)
	case seen.Down > 0:
		return Judgement{Verdict: Neutral, Reason: stuck + ": " + seen.String() + "; but no more pods are down than were missing before"}
	}
	return r.lookAtDeadline(w, seen, missing, stuck)
}

// lookAtDeadline judges a restart whose time is up. That nothing happens is a failure only if a container has started, since no other
// one has read any config. It is one, too, if what is missing says so: a key without which no container can start.
func (r *Restart) lookAtDeadline(w *workload.Workload, seen podsight.Sight, missing, stuck string) Judgement {
	switch {
	case seen.Condition == podsight.Blocked:
		return Judgement{Verdict: Neutral, Reason: "a pod cannot run: " + seen.Reason}
	case seen.Condition == podsight.Hanging:
		return r.failed(stuck+": "+seen.String(), seen)
	case r.Held != "":
		return Judgement{Verdict: Neutral, Reason: "no pod may be evicted: " + r.Held}
	case !r.whole.IsZero() && r.HasOthers:
		return Judgement{Verdict: Neutral, Reason: undone}
	case missing != "":
		return r.failed(stuck+": "+missing, seen)
	case w.Rollout.CannotCreate:
		return Judgement{Verdict: Neutral, Reason: "pods cannot be created"}
	case seen.Condition == podsight.Unstarted:
		return Judgement{Verdict: Neutral, Reason: stuck + ": " + seen.String()}
	case w.Rollout.Course.IsAborted() && (w.Rollout.Observed || w.Rollout.ByPods):
		return r.failed("its controller has aborted the rollout", seen)
	}
	return Judgement{Verdict: Neutral, Reason: stuck + ", but no pod shows a failure"}
}

// earlierDown returns how many pods of an earlier template do not run: all but those that are available and not ready by the restart.
func earlierDown(w *workload.Workload, seen podsight.Sight) int32 {
	return max(0, w.Rollout.Outdated-max(0, w.Rollout.Available-seen.Ready))
}

// absent returns how many of the pods that it wanted at first do not exist, such as for lack of quota, as far as the status shows that.
func (r *Restart) absent(w *workload.Workload) int32 {
	if w.Rollout.ByPods {
		return 0
	}
	return max(0, min(w.Rollout.Wanted, r.wanted)-w.Rollout.Updated-w.Rollout.Outdated)
}

// askAgain reads the pods again after twice the time without progress.
func (r *Restart) askAgain(w *workload.Workload, policy Policy, now time.Time) Judgement {
	stalled := now.Sub(r.progressed)
	for r.pause <= stalled {
		r.pause *= 2
	}
	next := r.pause
	for _, deadline := range []time.Duration{policy.Deadline, policy.patience(w)} {
		if stalled < deadline {
			next = min(next, deadline)
		}
	}
	r.nextLook = time.Time{}
	if r.HasOthers {
		r.nextLook = now.Add(max(othersPause, next-stalled))
	}
	return Judgement{Verdict: Rolling, Again: next - stalled}
}

func (r *Restart) failed(reason string, seen podsight.Sight) Judgement {
	if r.Ran == 0 {
		return Judgement{Verdict: Neutral, Reason: reason + "; but pods were missing before"}
	}
	return Judgement{Verdict: Failed, Reason: reason, Seen: seen}
}

// gaveUp reports whether the controller of a workload has given up this rollout, and not one before it. If the pods show
// how it goes, none may be left of it.
func (r *Restart) gaveUp(w *workload.Workload) bool {
	return w.Rollout.GaveUp && (w.Rollout.Observed || w.Rollout.ByPods && r.best.observed)
}

// isStuck reports whether a rollout has made no progress for too long, and how that is known.
func (r *Restart) isStuck(w *workload.Workload, policy Policy, now time.Time) (how string, isStuck bool) {
	deadline := policy.Deadline
	if patience := policy.patience(w); now.Sub(r.progressed) >= patience {
		deadline = patience
	}
	switch {
	case !now.Before(r.latest(policy)):
		return "it was not seen to run for " + r.latest(policy).Sub(r.Since).String(), true
	case r.gaveUp(w) && w.Ref.Kind.IsCustom():
		return "its controller has given up the rollout", true
	case r.gaveUp(w):
		return "the rollout exceeded its progress deadline", true
	case now.Sub(r.progressed) < deadline:
		return "", false
	case !w.Rollout.Observed:
		return "its controller has not begun the rollout for " + deadline.String(), true
	}
	return "no progress for " + deadline.String(), true
}

// latest returns until when the workload is exposed at most, as far as that is known. A rollout may come further for hours. Others
// who undo each restart, or restart the workload again and again, do not keep its slot for an hour.
func (r *Restart) latest(policy Policy) time.Time {
	latest := r.Since.Add(longest)
	switch {
	case !r.others.IsZero():
		return earlier(r.others.Add(2*policy.Deadline), later(latest, r.others.Add(policy.Deadline)))
	case r.wasWhole || r.waits:
		return latest
	}
	return r.progressed.Add(longest + policy.Deadline)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// ExposedUntil returns until when the workload stays exposed if nobody sees it any more.
func (r *Restart) ExposedUntil(policy Policy) time.Time {
	return earlier(r.progressed.Add(policy.Deadline), r.latest(policy))
}

// patience returns how long containers that have started may take to become ready.
func (p Policy) patience(w *workload.Workload) time.Duration {
	if own := time.Duration(w.Rollout.Deadline) * time.Second; own <= longest {
		return max(p.Deadline, own)
	}
	return p.Deadline
}
