package rollout

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// A Deployment may ask that a rollout takes steps: how many pods of the new template there may be at most, step by step.
//
//	(none) ----> none, or the first step   the rollout begins, and the list of steps cannot be read, or can
//	none ------> the first step            it can be read
//	a step ----> the next one              it is promoted, or its pods have been available for the soak time
//	the last --> every                     the same; then the strategy alone limits the rollout
//
// At which step a rollout is stands on its ReplicaSet, in its [outcome], so that what happens to annotations of the
// Deployment neither grants a step nor takes one back. What holds:
//
//   - There are no more new pods than the step allows, except for those that a later scaling has made too many.
//   - A step takes no earlier pod away beyond those that new ones replace: both together are as many as wanted.
//   - No first rollout, and no way back to a template that completed once, takes steps.

// The annotations of a Deployment for steps.
const (
	// stepsAnnotation lists the steps, such as "1, 25%, 50%": numbers of pods, or percentages of the wanted ones, rounded up.
	stepsAnnotation = "com.xing.deployment-restart.steps"
	// soakAnnotation is how long the pods of a step must be available until the rollout goes on by itself, or manual.
	soakAnnotation = "com.xing.deployment-restart.step-soak"
	// stepsForAnnotation says which rollouts take steps.
	stepsForAnnotation = "com.xing.deployment-restart.steps-for"
	// promoteAnnotation lets a rollout go on. Its value names the ReplicaSet and the step that is to end, such as
	// web-5d4c8bb5f9/25%, or the ReplicaSet alone for all steps; and from the second attempt on, the attempt, as in web-5d4c8bb5f9/25%/2.
	promoteAnnotation = "com.xing.deployment-restart.promote"
	// abortAnnotation makes a rollout fail. Its value names the ReplicaSet and the attempt, such as web-5d4c8bb5f9/1.
	abortAnnotation = "com.xing.deployment-restart.abort"
)

// The values of the annotations.
const (
	manual           = "manual"
	forAll           = "all"
	forReleases      = "releases"
	forRestarts      = "restarts"
	none             = "0"   // no step, which allows no pod
	every            = "all" // the step that allows every pod
	longestSteps     = 256   // bytes of a list that is read
	longestStep      = 11    // of a step
	longestPromotion = 300
	atNoStep         = "no step" // in messages
)

// conditionAtStep is the type of a condition that is present during a rollout that takes steps. While it waits at one, it has the
// same message as the condition Progressing, and is true while all pods of the step are available. The reason is what is rolled out.
const (
	conditionAtStep = appsv1.DeploymentConditionType("WaitsAtStep")
	reasonRelease   = "Release"
	reasonRestart   = "Restart"
)

// The reasons of Events about steps.
const (
	// Normal: a rollout waits at a step. The message says with how many pods, and how it goes on.
	reasonWaits = "WaitsAtStep"
	// Warning: a Deployment asks for steps, and the engine cannot take them.
	reasonNoSteps = "StepsNotKept"
)

// sizeOfStep returns how many of the wanted pods a step allows. A percentage allows at least 1. If it cannot be read, ok is false.
func sizeOfStep(step string, replicas int64) (size int64, ok bool) {
	switch step {
	case none:
		return 0, true
	case every:
		return math.MaxInt32, true
	}
	digits, isPercentage := strings.CutSuffix(step, "%")
	n, err := strconv.ParseUint(digits, 10, 31)
	switch number := int64(n); {
	case err != nil || number == 0 || len(step) > longestStep, isPercentage && number > 100:
		return 0, false
	case isPercentage:
		return max(1, (replicas*number+99)/100), true
	default:
		return number, true
	}
}

// isStepPlausible reports whether the engine may have noted a step.
func isStepPlausible(step string) bool {
	_, ok := sizeOfStep(step, 1)
	return ok || step == ""
}

// stepsOf reads a list of steps. If one of them cannot be read, wrong is that one.
func stepsOf(list string) (steps []string, wrong string) {
	if len(list) > longestSteps {
		return nil, fmt.Sprintf("a list of %d bytes, which is longer than %d,", len(list), longestSteps)
	}
	for step := range strings.SplitSeq(list, ",") {
		step = strings.TrimSpace(step)
		if _, ok := sizeOfStep(step, 1); !ok || step == none || step == every {
			return nil, strconv.Quote(step)
		}
		steps = append(steps, step)
	}
	return steps, ""
}

// hold is the step that limits a rollout.
type hold struct {
	// step is as it is written, or none, and limit how many new pods it allows.
	step  string
	limit int64
	// wrong is what cannot be read in the list of steps, empty if all can. steps is the list otherwise.
	wrong string
	steps []string
}

// canTakeSteps reports whether steps can be kept.
func (s *State) canTakeSteps() bool {
	return s.Deployment.Strategy == appsv1.RollingUpdateDeploymentStrategyType && s.knowsCompleted()
}

// asksForSteps reports whether the Deployment asks for steps, or did for the present rollout, whatever its annotations say by now: one
// that is at a step stays there.
func (p *plan) asksForSteps() bool {
	return p.s.canTakeSteps() && (p.d.Annotations[stepsAnnotation] != "" || p.isAtStep())
}

// isAtStep reports whether the present rollout is noted at a step.
func (p *plan) isAtStep() bool {
	return p.isNoted(func(o outcome) bool { return o.Ended == "" && o.Step != "" })
}

// wasAborted reports whether the present release is noted as aborted. It is not rolled out, whatever the annotations and the strategy
// are by now.
func (p *plan) wasAborted() bool {
	return p.s.knowsCompleted() && p.isNoted(func(o outcome) bool { return o.Ended == failed && o.Cause == FailedByAbort })
}

// isNoted reports whether a note says so of the present release, and nothing has completed since.
func (p *plan) isNoted(says func(outcome) bool) bool {
	before := int64(0)
	if last := p.lastCompleted(); last != nil {
		before = last.outcome().Order
	}
	return slices.ContainsFunc(p.all(), func(m *member) bool { o := m.outcome(); return o.Order > before && p.isOfRelease(m) && says(o) })
}

// readStep finds out which step limits the present rollout, if one does.
func (p *plan) readStep() {
	r := p.release
	h := &hold{step: p.stepNoted()}
	list := p.d.Annotations[stepsAnnotation]
	if !p.asksForSteps() || p.isWayBackOrFirst() || h.step == "" && (list == "" || !p.takesSteps()) {
		return
	}
	if list != "" {
		h.steps, h.wrong = stepsOf(list)
	}
	switch {
	case h.step != "" && h.step != none:
	case len(h.steps) > 0:
		h.step = h.steps[0]
	default:
		h.step = none
	}
	if h.limit, _ = sizeOfStep(h.step, p.d.Replicas); h.limit >= p.d.Replicas {
		return
	}
	r.hold = h
	p.others = slices.DeleteFunc(slices.Clone(p.oldRSs), func(m *member) bool { return m == r.last })
	p.others = append(p.others, r.last) // what never completed goes first
}

// isWayBackOrFirst reports whether nothing has completed yet, or the present template once did. A restart of the last one that
// completed is no way back, but taking such a restart back is.
func (p *plan) isWayBackOrFirst() bool {
	r := p.release
	hasEnded := func(m *member) bool {
		return m.outcome().Ended == completed && (m == p.newRS || m.Bare == p.bare && !r.isRestart)
	}
	return r.last == nil || r.hasFailed || slices.ContainsFunc(p.all(), hasEnded)
}

// takesSteps reports whether the annotations ask for steps for such a rollout.
func (p *plan) takesSteps() bool {
	switch p.d.Annotations[stepsForAnnotation] {
	case forReleases:
		return !p.release.isRestart
	case forRestarts:
		return p.release.isRestart
	}
	return true
}

// stepNoted returns the step at which the present rollout is, by its ReplicaSets: a restart amid a release goes on with its step.
// It is empty if the rollout has not begun, or another one has completed since.
func (p *plan) stepNoted() string {
	if r := p.release; r.last != nil && r.outcome.Ended == "" && r.outcome.Order > r.last.outcome().Order {
		return r.outcome.Step
	}
	return ""
}

// isLimited reports whether a step limits the rollout.
func (p *plan) isLimited() bool { return p.release != nil && p.release.hold != nil }

// most returns how many pods the target may have.
func (p *plan) most() int64 {
	if p.isLimited() {
		return p.release.hold.limit
	}
	return p.d.Replicas
}

// beyondLeast returns how many pods of a ReplicaSet a rollout may take away. While a step limits it, the last one that completed
// keeps those that the new one may not have.
func (p *plan) beyondLeast(m *member) int64 {
	least := int64(0)
	switch {
	case !p.isLimited():
	case m == p.release.last:
		least = p.d.Replicas - p.most()
	case m == p.target:
		least = p.most()
	}
	return max(0, m.size-least)
}

// fillUp lets the last ReplicaSet that completed have the pods that the new one may not have. It returns false if it has them.
func (p *plan) fillUp() bool {
	if !p.isLimited() {
		return false
	}
	last := p.release.last
	missing := p.d.Replicas - p.most() - last.size
	return missing > 0 && p.resize(last, last.size+min(missing, p.room()))
}

// rescaleLast is rescale for a rollout that a step limits, and that is paused or cannot begin: the last ReplicaSet that completed
// grows or shrinks, since the new one may not have more pods. What is not available does not count.
func (p *plan) rescaleLast() {
	defer p.shed()
	if !p.isRescaled() {
		return
	}
	last := p.release.last
	wanted := max(0, p.d.Replicas-(sum(p.all(), staying)-staying(last)))
	if most := last.size + p.room(); wanted > most { // the rest follows
		p.setSize(last, most)
		return
	}
	p.resize(last, wanted)
	p.noteSizes()
}

// shed takes away pods that are not available where a scaling has left more than the strategy or the step allows, and nothing else may
// go: of what never completed first. Without a release to protect, a scaling is shared in proportion.
func (p *plan) shed() {
	isChanging := func(m *member) bool { return !m.Observed || m.isOrdered }
	if !p.isLimited() && !p.isFallenBack() || slices.ContainsFunc(p.all(), isChanging) {
		return
	}
	excess, last := max(0, sum(p.all(), size)-p.d.maxReplicas()), p.release.last
	others := slices.DeleteFunc(slices.Clone(p.all()), func(m *member) bool { return m == last })
	for _, m := range append(others, last) {
		most := excess
		switch m {
		case last:
			most = min(excess, p.beyondLeast(m))
		case p.target:
			most = max(excess, m.size-p.most())
		}
		spare := min(max(m.size-m.Available, 0), most)
		excess = max(0, excess-spare)
		p.resize(m, m.size-spare)
	}
}

// noteSizes notes that the sizes are for the present number of replicas, while a step limits the rollout.
func (p *plan) noteSizes() {
	if !p.isLimited() {
		return
	}
	for _, m := range active(p.all()) {
		if p.isOutdated(m) {
			p.noteSize(m)
		}
	}
}

// isHeld reports whether the rollout has come as far as its step allows.
func (p *plan) isHeld() bool {
	return p.isLimited() && p.newRS != nil && !p.newRS.isOrdered && p.newRS.size == p.most() && p.newRS.Replicas == p.most()
}

// isWhole reports whether all pods of a held step are available.
func (p *plan) isWhole() bool { return p.isHeld() && staying(p.newRS) >= p.most() }

// isNotedHeld reports whether the rollout is held, and the conditions say so.
func (p *plan) isNotedHeld() bool {
	progressing := p.conditions.get(appsv1.DeploymentProgressing)
	return p.isHeld() && p.isAtStepBy(p.conditions.get(conditionAtStep)) && progressing != nil && progressing.Reason == reasonPaused &&
		progressing.Message == p.conditions.get(conditionAtStep).Message
}

// isNewlyHeld reports whether the rollout has just come as far as its step allows, and no other pod is on its way.
func (p *plan) isNewlyHeld() bool {
	return p.isWhole() && sum(p.all(), size) == p.d.Replicas && !p.isNotedHeld()
}

// isAtStepBy reports whether a condition says that the rollout waits at its present step. It may be from the step before, if the engine
// was killed before it could write the status. Whether the list of steps has changed since does not matter.
func (p *plan) isAtStepBy(c *appsv1.DeploymentCondition) bool {
	if c == nil {
		return false
	}
	at, _, _ := strings.Cut(c.Message, ", with ")
	step := p.release.hold.step
	isSame := step == none && strings.HasSuffix(at, " "+atNoStep) || strings.HasSuffix(at, " step "+step) || strings.HasSuffix(at, " ("+step+")")
	return isSame && strings.Contains(c.Message, strconv.Quote(p.newRS.Name))
}

// takeStep takes the transitions of the present step.
func (p *plan) takeStep() {
	if !p.isLimited() || p.newRS == nil || p.newRS.isOrdered {
		return
	}
	h, present, next := p.release.hold, p.release.outcome, p.promoted()
	switch noted := p.stepNoted(); {
	case noted == "":
		if p.newRS.Observed { // else its controller is about to write to it
			p.noteStep(outcome{Step: h.step, Promoted: p.promotionBefore()})
		}
	case p.release.isRestart && p.isAborted() && present.Cause != FailedByAbort:
		p.noteStep(outcome{Step: h.step, Promoted: p.promotion(), Cause: FailedByAbort})
	case next != "":
		p.noteStep(p.goingOn(next))
		p.conditions.renewProgress(reasonProgressed, p.subject()+" is progressing.")
	case h.step != noted: // the list can be read by now
		p.noteStep(outcome{Step: h.step, Promoted: present.Promoted})
	case p.newRS.outcome() != present: // a restart amid the release
		p.noteStep(p.goingOn(h.step))
	}
}

// goingOn returns what to note when the rollout goes on at a step.
func (p *plan) goingOn(at string) outcome {
	present := p.release.outcome
	o := outcome{Step: at, Promoted: present.Promoted}
	if step := p.permitted(); step == every || step == present.Step && at != step { // which is used up
		o.Promoted = p.promotion()
	}
	if present.Cause == FailedByAbort { // which was about this attempt
		o.Attempt = p.attempt() + 1
	}
	return o
}

// noteStep notes at which step the present rollout is, and reads it again.
func (p *plan) noteStep(o outcome) {
	o.Attempt = max(o.Attempt, p.attempt())
	p.note(p.newRS, o)
	p.resized = append(p.resized, p.newRS) // before earlier pods go
	p.release.outcome, p.release.hold, p.others = p.newRS.outcome(), nil, p.oldRSs
	p.readStep()
}

// promoted returns the step at which the rollout goes on, empty if it does not yet: a person lets the present one end, or it has
// waited for its soak time, and a look since then has shown all its pods ready, and none that is broken.
func (p *plan) promoted() string {
	over, t := p.soaked(), p.trial()
	hasSoaked := !over.IsZero() && !over.After(p.s.Now) && t != nil && t.IsLast && p.isRecent(t) && !t.At.Before(over) &&
		t.Ready >= p.most() && !t.Worst.IsBroken()
	switch step := p.permitted(); {
	case step == every:
		return every
	case hasSoaked, step != "" && step == p.release.hold.step && p.release.hold.wrong == "" && p.mayEnd():
		return p.nextStep()
	}
	return ""
}

// mayEnd reports whether a person may end the present step: its pods are available, or were, or it was aborted.
func (p *plan) mayEnd() bool {
	return p.isWhole() || p.isNotedHeld() || p.isHeld() && p.release.outcome.Cause == FailedByAbort
}

// nextStep returns the step after the present one: the first that allows more pods. If there is none, every pod is next.
func (p *plan) nextStep() string {
	for _, step := range p.release.hold.steps {
		if size, _ := sizeOfStep(step, p.d.Replicas); size > p.most() {
			return step
		}
	}
	return every
}

// promotion returns the value of the annotation that lets steps end, empty if it is too long.
func (p *plan) promotion() string {
	if asked := p.d.Annotations[promoteAnnotation]; len(asked) <= longestPromotion {
		return asked
	}
	return ""
}

// promotionBefore returns the value of the annotation that is from before an attempt which begins now. From the second attempt on, one
// that names the attempt is about it, also if it came together with the wish to try again.
func (p *plan) promotionBefore() string {
	asked := p.promotion()
	if _, _, attempt := splitPromotion(asked); p.attempt() > 1 && attempt == strconv.FormatInt(p.attempt(), 10) {
		return ""
	}
	return asked
}

// splitPromotion returns what a value of the annotation that lets steps end names.
func splitPromotion(asked string) (name, step, attempt string) {
	name, step, _ = strings.Cut(asked, "/")
	step, attempt, _ = strings.Cut(step, "/")
	return name, step, attempt
}

// permitted returns the step of the present rollout that may end, [every] for all, empty for none. What the annotation said when
// the attempt began, or was aborted, is not about it.
func (p *plan) permitted() string {
	asked := p.promotion()
	name, step, attempt := splitPromotion(asked)
	isPresent := cmp.Or(attempt, "1") == strconv.FormatInt(p.attempt(), 10)
	if p.stepNoted() == "" || asked == p.release.outcome.Promoted || !isPresent || !p.isNamedRollout(name) {
		return ""
	}
	return cmp.Or(step, every)
}

// isNamedRollout reports whether a name is that of a ReplicaSet of the present rollout: the new one, or one that it replaces.
func (p *plan) isNamedRollout(name string) bool {
	back := p.release.last
	return slices.ContainsFunc(p.all(), func(m *member) bool {
		isOfRollout := m == p.newRS || p.isOfRelease(m) && back != nil && m.outcome().Order > back.outcome().Order
		return m.Name == name && m != back && isOfRollout
	})
}

// isAborted reports whether a person makes the present attempt fail.
func (p *plan) isAborted() bool {
	name, attempt, _ := strings.Cut(p.d.Annotations[abortAnnotation], "/")
	return attempt == strconv.FormatInt(p.attempt(), 10) && p.isNamedRollout(name)
}

// abortion returns the value of the annotation that makes the present attempt fail.
func (p *plan) abortion() string { return fmt.Sprintf("%s/%d", p.newRS.Name, p.attempt()) }

// soak returns how long the pods of a step must be available until the rollout goes on by itself, 0 if it does not.
func (p *plan) soak() (soak time.Duration, wrong string) {
	text := p.d.Annotations[soakAnnotation]
	if text == "" || text == manual {
		return 0, ""
	}
	soak, err := time.ParseDuration(text)
	if err != nil || soak <= 0 {
		return 0, fmt.Sprintf(" The annotation %s is neither %s nor a duration such as 10m.", soakAnnotation, manual)
	}
	return soak, ""
}

// soaked returns when the present step has waited for its soak time, zero if it does not wait for that. It waits since its pods are
// available, whatever else is scaled.
func (p *plan) soaked() time.Time {
	soak, _ := p.soak()
	if soak == 0 || !p.isNotedHeld() || !p.isWhole() || p.release.hold.wrong != "" || p.release.outcome.Cause == FailedByAbort {
		return time.Time{}
	}
	if !p.conditions.is(conditionAtStep, corev1.ConditionTrue) {
		return time.Time{}
	}
	return p.conditions.get(conditionAtStep).LastTransitionTime.Add(soak)
}

// isToProve reports whether the present step has waited for its soak time.
func (p *plan) isToProve() bool {
	over := p.soaked()
	return !over.IsZero() && !over.After(p.s.Now)
}

// differs reports whether not as many pods of a held step are ready as the last look has seen.
func (p *plan) differs(last *Trial) bool {
	return p.isNotedHeld() && !last.At.IsZero() && p.newRS.Ready != last.Ready
}

// holdMessage says at which step the rollout waits, and how it goes on.
func (p *plan) holdMessage() string {
	h, m := p.release.hold, p.newRS
	what := "release"
	if p.release.isRestart {
		what = "restart"
	}
	at := "step " + h.step
	switch i := slices.Index(h.steps, h.step); {
	case h.step == none:
		at = atNoStep
	case i >= 0:
		at = fmt.Sprintf("step %d of %d (%s)", i+1, len(h.steps), h.step)
	}
	message := fmt.Sprintf("The %s waits at %s, with %d of %d pods of ReplicaSet %q", what, at, m.size, p.d.Replicas, m.Name)
	if missing := m.size - staying(m); missing > 0 {
		message += fmt.Sprintf(", of which %d are not available", missing)
	}
	return message + ". " + p.howItGoesOn()
}

// howItGoesOn says what the present step waits for.
func (p *plan) howItGoesOn() string {
	h, present, t := p.release.hold, p.release.outcome, p.trial()
	value := p.newRS.Name + "/" + h.step
	if attempt := p.attempt(); attempt > 1 || value == present.Promoted { // which is from before
		value += fmt.Sprintf("/%d", attempt)
	}
	promote := fmt.Sprintf("set the annotation %s to %s", promoteAnnotation, value)
	abort := fmt.Sprintf("to abort it, %s to %s", abortAnnotation, p.abortion())
	soak, wrong := p.soak()
	switch {
	case h.wrong != "":
		return fmt.Sprintf("It cannot go on: %s in the annotation %s is neither a number of pods nor a percentage. To abort it, set the annotation %s to %s.",
			h.wrong, stepsAnnotation, abortAnnotation, p.abortion())
	case present.Cause == FailedByAbort:
		return fmt.Sprintf("It was aborted. Roll back, or, to go on all the same, %s.", promote)
	case t != nil && t.Worst.IsBroken():
		return fmt.Sprintf("It does not go on by itself: %s. To go on all the same, %s; %s.", t.Worst.String(), promote, abort)
	case soak > 0:
		return fmt.Sprintf("It goes on when they have been available for %s. To go on before, %s; %s.", soak, promote, abort)
	}
	return fmt.Sprintf("To go on, %s; %s.%s", promote, abort, wrong)
}

// isStepping reports whether the present rollout takes steps, or took the last one.
func (p *plan) isStepping() bool {
	return p.release != nil && p.newRS != nil && !p.isWayBackOrFirst() && (p.isLimited() || p.stepNoted() != "")
}

// noteHeld keeps the conditions in step with a rollout that takes steps. One that is held has no deadline. It returns false if none is.
func (p *plan) noteHeld() bool {
	if !p.s.canTakeSteps() && p.conditions.is(conditionAtStep, corev1.ConditionTrue) {
		p.unkept = p.whyNoSteps() // any more, amid a rollout
	}
	if !p.isStepping() {
		p.conditions.remove(conditionAtStep)
		return false
	}
	isAborted := p.isHeld() && p.release.outcome.Cause == FailedByAbort // a restart: a release has failed then
	isNew := p.isNewlyHeld() && !isAborted
	reason, waits, message := reasonRelease, corev1.ConditionFalse, ""
	if p.release.isRestart {
		reason = reasonRestart
	}
	if !isAborted && !isNew && !p.isNotedHeld() {
		message = fmt.Sprintf("%s is progressing. To abort it, set the annotation %s to %s.", p.subject(), abortAnnotation, p.abortion())
		p.conditions.say(conditionAtStep, waits, reason, message)
		return false
	}
	if message = p.holdMessage(); p.isWhole() {
		waits = corev1.ConditionTrue
	}
	if !p.isAtStepBy(p.conditions.get(conditionAtStep)) { // it waits since now
		p.conditions.remove(conditionAtStep)
	}
	p.conditions.say(conditionAtStep, waits, reason, message)
	if isAborted {
		p.conditions.say(appsv1.DeploymentProgressing, corev1.ConditionFalse, ReasonTimedOut, message)
		return true
	}
	p.conditions.say(appsv1.DeploymentProgressing, corev1.ConditionUnknown, reasonPaused, message)
	if isNew {
		p.held = message
	}
	if over := p.soaked(); over.After(p.s.Now) {
		p.wake = earlier(p.wake, over)
	}
	return true
}

// noteUnkeptSteps reports at the beginning of a rollout that the Deployment asks in vain for steps, or in part.
func (p *plan) noteUnkeptSteps() {
	if why := p.whyNoSteps(); why != "" {
		p.recordEvent(corev1.EventTypeWarning, reasonNoSteps, why)
	}
}

// whyNoSteps says why steps that the Deployment asks for have no effect, or another one; empty if they are kept.
func (p *plan) whyNoSteps() string {
	if p.d.Annotations[stepsAnnotation] == "" {
		return ""
	}
	why := ""
	switch whom := p.d.Annotations[stepsForAnnotation]; {
	case p.d.Strategy != appsv1.RollingUpdateDeploymentStrategyType:
		why = "only the strategy RollingUpdate can take steps"
	case p.d.ProgressDeadline == nil:
		why = noDeadline
	case p.s.IsBackup:
		why = "the deployment engine stands by for another controller, which would finish the rollout at once"
	case !slices.Contains([]string{"", forAll, forReleases, forRestarts}, whom):
		return fmt.Sprintf("The annotation %s is none of %s, %s and %s, so all rollouts take steps.", stepsForAnnotation, forReleases, forRestarts, forAll)
	default:
		return ""
	}
	return fmt.Sprintf("The annotation %s has no effect: %s.", stepsAnnotation, why)
}
