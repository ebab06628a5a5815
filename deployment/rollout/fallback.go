package rollout

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubernetes-deployment-restart-controller/internal/brief"
	"kubernetes-deployment-restart-controller/internal/origin"
)

// A release is the rollout of another pod template than that of the last ReplicaSet that completed; the annotations of a
// restart do not count. If the Deployment asks for it, a release that fails falls back: strategies size the last ReplicaSet
// that completed as if it were the new one.
//
//	tried ---> completed   all pods are new and available, and a look at them shows none that crashes
//	tried ---> failed      pods crash, or cannot be made; or they do not become ready within the deadline
//	failed --> tried       a person asks for another attempt, or another template has completed since
//
// How it ended stands on its ReplicaSet, so that any process can go on. What holds between any two writes:
//
//   - A ReplicaSet loses pods by a fall-back only after the write that says that it has failed, or in it.
//   - The last ReplicaSet that completed is never deleted.
//   - The spec of the Deployment is never written.

// onFailureAnnotation, with the value fallBack, asks to run the last release again if one fails.
const (
	onFailureAnnotation = "com.xing.deployment-restart.on-failure"
	fallBack            = "fall-back"
)

// retryAnnotation asks for another attempt at a failed release. Its value names the ReplicaSet and the attempt, such as
// web-5d4c8bb5f9/2, so that it asks only once.
const retryAnnotation = "com.xing.deployment-restart.retry"

// outcomeAnnotation is how a rollout ended, on its ReplicaSet; see [outcome].
const outcomeAnnotation = "com.xing.deployment-restart.outcome"

// conditionFallenBack is the type of a condition that is present, and true, while a Deployment runs an earlier release.
const conditionFallenBack appsv1.DeploymentConditionType = "FallenBack"

// The reasons of Events and conditions about releases.
const (
	// Warning: a release has failed, and the last one that completed runs instead. The message says why, and how to try it again.
	reasonFellBack = "FellBack"
	// Warning: a Deployment asks to fall back, and the engine cannot: the value is not known, there is no progress deadline, or
	// the engine is only a backup.
	reasonNoFallBack = "FallBackNotKept"
	// Warning: the pod template was changed to that of a release that has failed, or restarts one, so nothing is rolled out.
	reasonStillFallenBack = "StillFallenBack"
)

// FailureCause is why a release failed.
type FailureCause string

// The causes.
const (
	FailedByCrash  FailureCause = "crash"
	FailedByConfig FailureCause = "config"
	FailedByImage  FailureCause = "image"
	FailedUnready  FailureCause = "not_ready"
	FailedByAbort  FailureCause = "aborted"
)

// FailureCauses are all of them.
var FailureCauses = []FailureCause{FailedByCrash, FailedByConfig, FailedByImage, FailedUnready, FailedByAbort}

// reason returns the cause as the reason of a condition. The restart controller knows that of a missing image, since no
// container has started then.
func (c FailureCause) reason() string {
	switch c {
	case FailedByConfig:
		return "ReleaseLacksConfig"
	case FailedByImage:
		return "ReleaseLacksImage"
	case FailedUnready:
		return "ReleaseNotReady"
	case FailedByAbort:
		return "ReleaseAborted"
	}
	return "ReleaseCrashed"
}

// outcome is how far the rollout of a ReplicaSet's template has come, or how it ended.
type outcome struct {
	// UID is that of the ReplicaSet: kubectl rollout undo copies annotations, and a copy says nothing.
	UID types.UID `json:"uid"`
	// Ended is completed or failed, or empty for a rollout that takes steps, or a failed release that is tried again.
	Ended ending `json:"ended,omitempty"`
	// Order tells in which order releases ended: what ended later has a greater one.
	Order int64 `json:"order"`
	// Attempt counts the attempts at a release, from 1 when it has failed.
	Attempt int64 `json:"attempt,omitempty"`
	// Cause and Why are why it failed. A restart does not fail, but may be aborted.
	Cause FailureCause `json:"cause,omitempty"`
	Why   string       `json:"why,omitempty"`
	// Step is the step at which it is, and Promoted the value of the promoteAnnotation that does not let that end.
	Step     string `json:"step,omitempty"`
	Promoted string `json:"promoted,omitempty"`
}

// isPlausible reports whether the engine may have written it.
func (o *outcome) isPlausible() bool {
	return min(o.Order, o.Attempt) >= 0 && max(o.Order, o.Attempt) < math.MaxInt32 && len(o.Why) <= longestWhy && isStepPlausible(o.Step) && len(o.Promoted) <= longestPromotion
}

// longestOutcome is how many bytes of the annotation are read: anyone who may change ReplicaSets can write to it. longestWhy is
// how many bytes the reason of a failure may have.
const (
	longestOutcome = 2048
	longestWhy     = 512
)

type ending string

const (
	completed ending = "completed"
	failed    ending = "failed"
)

// outcome returns how a ReplicaSet ended, the zero value if it has not.
func (m *member) outcome() outcome {
	text := m.annotation(outcomeAnnotation)
	if m.ended == nil || m.endedBy != text { // it is asked for again and again
		m.ended, m.endedBy = new(m.decodeOutcome(text)), text
	}
	return *m.ended
}

func (m *member) decodeOutcome(text string) (o outcome) {
	if text == "" || len(text) > longestOutcome || json.Unmarshal([]byte(text), &o) != nil || o.UID != m.UID || !o.isPlausible() {
		return outcome{}
	}
	o.Why = brief.Line(o.Why)
	return o
}

// note orders the annotation that says how a ReplicaSet ended, as the last one until now.
func (p *plan) note(m *member, o outcome) {
	o.UID, o.Order = m.UID, p.latest()+1
	text, err := json.Marshal(o)
	if err != nil {
		panic(fmt.Sprintf("encode an outcome: %v", err)) // it consists of numbers and texts
	}
	m.set(missing(map[string]string{outcomeAnnotation: string(text)}, m.Annotations))
}

// latest returns the greatest order of the outcomes that are noted.
func (p *plan) latest() (order int64) {
	for _, m := range p.all() {
		order = max(order, m.outcome().Order)
	}
	return order
}

// release is what a plan knows of a Deployment's releases.
type release struct {
	// last is the last ReplicaSet that completed, nil if none did.
	last *member
	// outcome is how the present release ended. Restarts of a template are the same release, of which the latest counts.
	outcome outcome
	// isRestart means that the last ReplicaSet that completed has the present template. A restart never falls back: whether it
	// failed is for the restart controller to say.
	isRestart bool
	// hasFailed means that strategies size the last ReplicaSet.
	hasFailed bool
	// hold is the step that limits the rollout, nil for none.
	hold *hold
	// look is what to look at after the plan, nil for nothing.
	look *LookAtPods
}

// knowsCompleted reports whether the engine can tell which rollout was complete. Without a progress deadline, no status says so.
func (s *State) knowsCompleted() bool {
	return s.Deployment.ProgressDeadline != nil && !s.IsBackup && !s.Deployment.Deleting
}

// fallsBack reports whether a failed release falls back.
func (s *State) fallsBack() bool {
	return s.Deployment.Annotations[onFailureAnnotation] == fallBack && s.knowsCompleted()
}

// readRelease finds out how the present release stands, and what strategies size.
func (p *plan) readRelease() {
	if !p.s.fallsBack() && !p.asksForSteps() && !p.wasAborted() {
		p.forgetOutcomes()
		return
	}
	r := &release{}
	p.release = r
	p.noteNamed()
	r.last = p.lastCompleted()
	for _, m := range p.all() {
		p.readOutcome(m)
	}
	r.isRestart = r.last != nil && r.last.Bare == p.bare
	if p.goesBack(r.outcome.Cause) && r.outcome.Ended == failed && r.last != nil && !r.isRestart && r.outcome.Order > r.last.outcome().Order && p.retried() == 0 {
		p.retreat()
	}
	p.readStep()
}

// goesBack reports whether a release that fails for a cause falls back. One that a person aborts always does.
func (p *plan) goesBack(cause FailureCause) bool { return p.s.fallsBack() || cause == FailedByAbort }

// isOfRelease reports whether a ReplicaSet has the present template, apart from restarts.
func (p *plan) isOfRelease(m *member) bool { return m.Bare == p.bare || m == p.newRS }

// lastCompleted returns the last ReplicaSet that completed, nil if none did.
func (p *plan) lastCompleted() *member {
	return p.lastCompletedOf(func(*member) bool { return true })
}

// lastCompletedOf is lastCompleted of some ReplicaSets.
func (p *plan) lastCompletedOf(is func(*member) bool) (last *member) {
	for _, m := range p.all() {
		if o := m.outcome(); o.Ended == completed && !m.Deleting && is(m) && (last == nil || o.Order > last.outcome().Order) {
			last = m
		}
	}
	return last
}

// readOutcome takes in how far the present release has come by a ReplicaSet.
func (p *plan) readOutcome(m *member) {
	r, o := p.release, m.outcome()
	isOver := o.Ended == failed && m.Replicas > 0 && p.isNamedComplete(m) // it is from before
	if p.isOfRelease(m) && o.Order >= r.outcome.Order && !isOver {
		r.outcome = o
	}
}

// forgetOutcomes takes back what was noted: what completes from now on is not noted, so the notes would name the wrong one
// when the Deployment asks to fall back again.
func (p *plan) forgetOutcomes() {
	forgotten := 0
	for _, m := range p.all() {
		if m.Annotations[outcomeAnnotation] != "" && !p.d.Deleting && forgotten < maxBatch {
			m.set(map[string]string{outcomeAnnotation: ""})
			forgotten++
		}
	}
}

// noteNamed notes that the ReplicaSet completed that the last status says so of: it may have done so while nobody asked to
// fall back, or under another controller. Some of its pods may be missing since, but a rollout without pods is called
// complete, too, and zero pods complete nothing.
func (p *plan) noteNamed() {
	status := &p.d.Status
	if status.AvailableReplicas == 0 || status.UpdatedReplicas != status.Replicas {
		return
	}
	named := slices.DeleteFunc(slices.Clone(p.all()), func(m *member) bool { return !p.isNamedComplete(m) })
	if len(named) == 1 && !p.hasEndedLast(named[0]) { // else somebody has forged the condition
		p.note(named[0], outcome{Ended: completed})
		named[0].set(missing(p.settingsOfReleases(), named[0].allAnnotations())) // which kubectl rollout undo sets then
	}
}

// settingsOfReleases returns the annotations of the Deployment that say how releases go.
func (p *plan) settingsOfReleases() map[string]string {
	present := map[string]string{}
	for _, key := range settings {
		if value, found := p.d.Annotations[key]; found && key != replacementAnnotation {
			present[key] = value
		}
	}
	return present
}

// isNamedComplete reports whether the last status says that the rollout of a ReplicaSet is complete.
func (p *plan) isNamedComplete(m *member) bool {
	return p.conditions.progressesBy(reasonComplete) && p.isNamed(m)
}

// isNamed reports whether the condition Progressing is about a ReplicaSet.
func (p *plan) isNamed(m *member) bool {
	c := p.conditions.get(appsv1.DeploymentProgressing)
	return c != nil && strings.Contains(c.Message, strconv.Quote(m.Name))
}

// hasCompleted reports whether a ReplicaSet is noted as completed, and nothing ended later.
func (p *plan) hasCompleted(m *member) bool {
	o := m.outcome()
	return o.Ended == completed && o.Order == p.latest()
}

// hasEndedLast reports whether a ReplicaSet is noted as completed, and nothing ended later. Another rollout may have begun.
func (p *plan) hasEndedLast(m *member) bool {
	isLater := func(other *member) bool { o := other.outcome(); return o.Ended != "" && o.Order > m.outcome().Order }
	return m.outcome().Ended == completed && !slices.ContainsFunc(p.all(), isLater)
}

// retreat makes the last ReplicaSet that completed the one that is to have all the pods.
func (p *plan) retreat() {
	p.release.hasFailed, p.release.hold = true, nil
	p.target = p.release.last
	p.others = slices.DeleteFunc(slices.Clone(p.all()), func(m *member) bool { return m == p.target })
}

// isFallenBack reports whether the present release has failed, and the last one that completed runs instead.
func (p *plan) isFallenBack() bool { return p.release != nil && p.release.hasFailed }

// isTried reports whether the present release is not decided, and can fall back.
func (p *plan) isTried() bool {
	r := p.release
	return r != nil && r.last != nil && !r.isRestart && !r.hasFailed && p.newRS != nil
}

// isWatched reports whether the pods of the present rollout are to be looked at.
func (p *plan) isWatched() bool { return p.isTried() || p.isLimited() && p.newRS != nil }

// attempt returns which attempt at the present release is under way. If the last one failed or was given up, another template has
// completed since. What a person has asked for before is asked for only once, also if somebody deletes the ReplicaSet; it does not
// count while an earlier attempt is noted to be under way.
func (p *plan) attempt() int64 {
	last, back := p.release.outcome, p.release.last
	isOutrun := back != nil && last.Order < back.outcome().Order
	switch {
	case last.Ended == failed, last.Step != "" && isOutrun:
		last.Attempt++
	case last.Ended == "" && last.Attempt > 0 && !isOutrun:
		return last.Attempt
	}
	return max(1, last.Attempt, p.asked())
}

// retried returns which attempt at the release that has failed a person asks for, 0 if for none.
func (p *plan) retried() (attempt int64) {
	if asked := p.asked(); asked > p.release.outcome.Attempt && p.newRS != nil {
		return asked
	}
	return 0
}

// asked returns which attempt at the present release a person has ever asked for, 0 if for none. Any ReplicaSet of the
// release stands for it.
func (p *plan) asked() int64 {
	name, number, _ := strings.Cut(p.d.Annotations[retryAnnotation], "/")
	attempt, err := strconv.ParseUint(number, 10, 30)
	isNamed := func(m *member) bool { return m.Name == name && p.isOfRelease(m) }
	if err != nil || !slices.ContainsFunc(p.all(), isNamed) {
		return 0
	}
	return int64(attempt)
}

// judge takes the transitions of the present release, apart from completion.
func (p *plan) judge() {
	r := p.release
	if r == nil || !p.refreshNew() {
		return
	}
	switch {
	case r.hasFailed && p.newRS.outcome().Ended != failed: // a restart of it, whose earlier ReplicaSets may be deleted
		p.note(p.newRS, outcome{Ended: failed, Attempt: r.outcome.Attempt, Cause: r.outcome.Cause, Why: r.outcome.Why})
	case r.hasFailed:
		if _, isNew := p.newRS.changes[RevisionAnnotation]; isNew { // it has become the new one again
			p.noteStillFailed()
		}
	case r.outcome.Ended == failed && p.retried() > 0 && (r.last == nil || r.outcome.Order > r.last.outcome().Order): // else it is another attempt anyway
		r.outcome = outcome{Attempt: p.retried()}
		p.note(p.newRS, r.outcome)
	case p.isWatched():
		p.judgeAttempt()
	}
	p.takeStep()
}

func (p *plan) judgeAttempt() {
	r := p.release
	attempt := p.attempt()
	if cause := p.failure(); cause != "" && p.isTried() && p.goesBack(cause) {
		r.outcome = outcome{Ended: failed, Attempt: attempt, Cause: cause, Why: brief.Within(longestWhy, p.why(cause))}
		p.note(p.newRS, r.outcome)
		p.newRS.failedBy = cause
		p.resized = append(p.resized, p.newRS) // before other pods go
		p.retreat()
		return
	}
	next := p.nextLook()
	if next.IsZero() {
		return
	}
	if next.After(p.s.Now) {
		p.wake = earlier(p.wake, next)
		return
	}
	r.look = &LookAtPods{Target: p.newRS.Meta, Attempt: attempt, At: p.s.Now, IsLast: p.isComplete() || p.isToProve(), Found: &Look{}}
}

// why says what was seen of a release that has failed.
func (p *plan) why(cause FailureCause) string {
	if cause == FailedByAbort {
		return "it was aborted"
	}
	seen := p.trial().Worst.String()
	if cause == FailedByImage || cause == FailedUnready {
		seen += fmt.Sprintf(", and its progress deadline of %s has passed", *p.d.ProgressDeadline)
	}
	return seen
}

// failure returns why the present release has failed, empty if it has not.
func (p *plan) failure() (cause FailureCause) {
	if p.isAborted() {
		return FailedByAbort
	}
	t := p.trial()
	if t == nil {
		return ""
	}
	overdue, isOverdue := p.overdue()
	hasHadItsTime := !t.Worst.Since.Add(*p.d.ProgressDeadline).After(t.At) // also if it started late, such as after an outage
	switch {
	case t.Failed != "": // and a policy has dropped the note of it
		return t.Failed
	case !p.isRecent(t):
		return ""
	case t.Worst.LacksConfig():
		return FailedByConfig
	case t.Worst.IsBroken():
		return FailedByCrash
	case !hasHadItsTime, (!isOverdue || t.At.Before(overdue)) && !p.isNotedHeld():
		return ""
	case t.Worst.LacksImage():
		return FailedByImage
	case t.Worst.Hangs():
		return FailedUnready
	}
	return ""
}

// overdue returns when the present release exceeded its progress deadline, and whether it has.
func (p *plan) overdue() (since time.Time, isOverdue bool) {
	if p.conditions.progressesBy(ReasonTimedOut) {
		return p.conditions.get(appsv1.DeploymentProgressing).LastUpdateTime.Time, p.isNamed(p.newRS)
	}
	deadline, running := p.deadline()
	return deadline, running && deadline.Before(p.s.Now)
}

// isProven reports whether a release that seems complete is: a look since then has found all its pods ready, and none that
// crashes.
func (p *plan) isProven() bool {
	t := p.trial()
	return !p.isTried() || t != nil && t.IsLast && p.isRecent(t) && t.Ready >= p.d.Replicas
}

// isRecent reports whether the last look still says how the pods are. The plan that asks for a look is followed by another one
// at once, unless the Deployment is paused or writes fail.
func (p *plan) isRecent(t *Trial) bool {
	return !t.At.IsZero() && p.s.Now.Sub(t.At) <= t.Took+firstLook
}

// noteCompleted notes that the present release is complete.
func (p *plan) noteCompleted() {
	if p.release != nil && p.d.Replicas > 0 && !p.hasCompleted(p.newRS) {
		p.note(p.newRS, outcome{Ended: completed, Attempt: p.newRS.outcome().Attempt})
	}
}

// fallBackMessage says what failed, why, and what to do next. It quotes the new ReplicaSet only: other conditions are
// recognized by the names in them.
func (p *plan) fallBackMessage() string {
	r := p.release
	revision, _ := r.last.revision()
	return fmt.Sprintf("The release of ReplicaSet %q has failed: %s. ReplicaSet %s, which was complete before, runs instead; to keep it, roll back to its revision %d. "+
		"To try the failed release again, set the annotation %s to %s/%d.",
		p.newRS.Name, r.outcome.Why, r.last.Name, revision, retryAnnotation, p.newRS.Name, r.outcome.Attempt+1)
}

// restartedWithin says that the release was restarted for a config before it failed, empty if it was not.
func (p *plan) restartedWithin() string {
	restarted := p.d.Template.decode().Annotations
	at, err := time.Parse(time.RFC3339Nano, restarted[origin.TimestampAnnotation])
	isEarlier := func(m *member) bool { // a template keeps the annotations of a restart before the release
		return m != p.newRS && m.Bare == p.bare && ByRevision(m.ReplicaSet, p.release.last.ReplicaSet) > 0 && at.After(m.Created)
	}
	cause := restarted[origin.CauseAnnotation]
	if err != nil || cause == "" || !slices.ContainsFunc(p.oldRSs, isEarlier) {
		return ""
	}
	return fmt.Sprintf(" Within this release, its pods were restarted for %s, whose earlier content does not come back with the earlier release.", brief.Line(cause))
}

// noteFallenBack keeps the conditions in step with a fall-back.
func (p *plan) noteFallenBack() {
	switch {
	case p.isFallenBack() && p.newRS == nil: // it restarts what has failed, and its ReplicaSet follows
	case p.isFallenBack():
		// Both say the same, so that nobody believes the second when another controller has replaced the first.
		message := p.fallBackMessage()
		if p.conditions.get(conditionFallenBack) == nil {
			p.fellBack = message + p.restartedWithin()
		}
		p.conditions.say(appsv1.DeploymentProgressing, corev1.ConditionFalse, ReasonTimedOut, message)
		p.conditions.say(conditionFallenBack, corev1.ConditionTrue, p.release.outcome.Cause.reason(), message)
	case p.conditions.get(conditionFallenBack) != nil:
		p.conditions.remove(conditionFallenBack)
		if p.conditions.progressesBy(ReasonTimedOut) { // about the release that failed
			p.conditions.renewProgress(reasonProgressed, p.subject()+" is progressing.")
		}
		p.noteUnkept()
	}
}

// runs returns the ReplicaSet whose reads the Deployment is to show, empty for none, and nil if that is so already.
func (p *plan) runs() *Meta {
	wanted := &Meta{}
	switch {
	case p.isFallenBack():
		wanted = &p.target.Meta
	case p.conditions.get(conditionFallenBack) != nil: // a paused Deployment keeps both
		return nil
	}
	again := p.s.Refused.At.Add(refusalPause)
	switch {
	case p.d.Runs == wanted.UID:
		return nil
	case p.s.Refused.UID == wanted.UID && again.After(p.s.Now): // a policy may have changed by then
		p.wake = earlier(p.wake, again)
		return nil
	}
	return wanted
}

// refusalPause is after how long what was refused is tried again.
const refusalPause = 10 * time.Minute

// noteStillFailed reports that the pod template has become that of a release that has failed.
func (p *plan) noteStillFailed() {
	p.recordEvent(corev1.EventTypeWarning, reasonStillFallenBack,
		"The pod template is that of a release that has failed, apart from restarts, so nothing is rolled out and no pod restarts. "+p.fallBackMessage())
}

const noDeadline = "the Deployment has no progressDeadlineSeconds"

// noteUnkept reports at the beginning of a rollout, or the end of a fall-back, that the Deployment asks in vain to fall back.
func (p *plan) noteUnkept() {
	asked, found := p.d.Annotations[onFailureAnnotation]
	why := ""
	switch {
	case !found || p.s.fallsBack():
	case asked != fallBack:
		why = fmt.Sprintf("its value is not %s", fallBack)
	case p.d.ProgressDeadline == nil:
		why = noDeadline
	case p.s.IsBackup:
		why = "the deployment engine stands by for another controller, which would roll the failed release out again"
	}
	if why != "" {
		p.recordEvent(corev1.EventTypeWarning, reasonNoFallBack, fmt.Sprintf("The annotation %s has no effect: %s.", onFailureAnnotation, why))
	}
}
