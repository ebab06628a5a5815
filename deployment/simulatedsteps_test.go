package deployment

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
	"k8s.io/apimachinery/pkg/types"

	"kubernetes-deployment-restart-controller/deployment/rollout"
)

const (
	stepsAnnotation    = "com.xing.deployment-restart.steps"
	soakAnnotation     = "com.xing.deployment-restart.step-soak"
	stepsForAnnotation = "com.xing.deployment-restart.steps-for"
	promoteAnnotation  = "com.xing.deployment-restart.promote"
	abortAnnotation    = "com.xing.deployment-restart.abort"

	conditionAtStep = appsv1.DeploymentConditionType("WaitsAtStep")
	reasonPaused    = "DeploymentPaused"
	// everyStep is the step that allows all pods, and noStep the one that allows none.
	everyStep, noStep = "all", "0"
)

// wish is what a Deployment asks for, as far as releases and steps go.
type wish struct {
	annotations map[string]string
	image       string
	short       string // with the restart of its template
	replicas    int64
	hasDeadline bool
	isRolling   bool
}

func wishOf(d *appsv1.Deployment) *wish {
	template := &d.Spec.Template
	return &wish{
		annotations: d.Annotations, image: imageOf(template), short: shortOf(template), replicas: int64(*d.Spec.Replicas),
		hasDeadline: d.Spec.ProgressDeadlineSeconds != nil, isRolling: d.Spec.Strategy.Type == appsv1.RollingUpdateDeploymentStrategyType,
	}
}

func wishOfPlanned(d *rollout.Deployment) *wish {
	template := corev1.PodTemplateSpec{}
	if err := template.Unmarshal([]byte(d.Template)); err != nil {
		panic(err)
	}
	return &wish{
		annotations: d.Annotations, image: imageOf(&template), short: shortOf(&template), replicas: d.Replicas,
		hasDeadline: d.ProgressDeadline != nil, isRolling: d.Strategy == appsv1.RollingUpdateDeploymentStrategyType,
	}
}

func (a *wish) fallsBack() bool {
	return a.annotations[onFailureAnnotation] == "fall-back" && a.hasDeadline
}

// mayTakeSteps reports whether steps are possible at all.
func (a *wish) mayTakeSteps() bool { return a.isRolling && a.hasDeadline }

// remembers reports whether the engine keeps notes.
func (a *wish) remembers(notes []note) bool {
	back := lastCompleted(notes)
	isSince := func(n note) bool { return n.image == a.image && (back == nil || n.Order > back.Order) }
	isAtStep := func(n note) bool { return isSince(n) && n.Ended == "" && n.Step != "" }
	isAborted := func(n note) bool { return isSince(n) && n.Ended == "failed" && n.Cause == "aborted" }
	return a.fallsBack() || a.mayTakeSteps() && (a.annotations[stepsAnnotation] != "" || slices.ContainsFunc(notes, isAtStep)) ||
		a.hasDeadline && slices.ContainsFunc(notes, isAborted)
}

// hasFailed reports whether by the notes, the release has failed, and another one completed before and runs instead.
func (a *wish) hasFailed(notes []note) bool {
	back, end := lastCompleted(notes), a.end(notes)
	goesBack := a.fallsBack() || end.Cause == "aborted"
	return a.remembers(notes) && back != nil && back.image != a.image && end.Ended == "failed" && goesBack && end.Order > back.Order
}

// end is how far the rollout is, by the latest note on one of its ReplicaSets.
func (a *wish) end(notes []note) note {
	if end := latest(notes, func(n note) bool { return n.image == a.image }); end != nil {
		return *end
	}
	return note{}
}

// isTriedAgain reports whether the user asks for another attempt than the last.
func (a *wish) isTriedAgain(notes []note) bool {
	return a.asked(notes) > a.end(notes).Attempt && a.end(notes).UID != ""
}

// asked is which attempt the user asks for, 0 for none.
func (a *wish) asked(notes []note) int64 {
	name, text, _ := strings.Cut(a.annotations[retryAnnotation], "/")
	attempt, err := strconv.ParseInt(text, 10, 31)
	if err != nil || !slices.ContainsFunc(notes, func(n note) bool { return n.image == a.image && n.name == name }) {
		return 0
	}
	return attempt
}

// position is where a rollout stands in its steps.
type position struct {
	*wish
	notes     []note
	present   types.UID // of the ReplicaSet that is rolled out, empty without one
	last      *note
	end       note
	isNoted   bool
	isRestart bool
	step      string // that limits it, empty for none
	most      int64  // new pods
}

func (p *position) isLimited() bool { return p.most < p.replicas }

// allows is how many pods a step allows, 0 if it cannot be read.
func allows(step string, replicas int64) int64 {
	if step == everyStep {
		return math.MaxInt64
	}
	n, err := strconv.ParseUint(strings.TrimSuffix(step, "%"), 10, 31)
	switch {
	case err != nil || strings.HasSuffix(step, "%") && n > 100:
		return 0
	case strings.HasSuffix(step, "%") && n > 0:
		return max(1, (replicas*int64(n)+99)/100)
	}
	return int64(n)
}

// stepsIn reads a list, nil if one of its steps cannot be read.
func stepsIn(list string) (steps []string) {
	for _, step := range strings.Split(list, ",") {
		if step = strings.TrimSpace(step); allows(step, 1) == 0 || step == everyStep {
			return nil
		}
		steps = append(steps, step)
	}
	return steps
}

// position finds out where a rollout stands. A first one, a way back and one that has failed take no steps.
func (a *wish) position(notes []note, present types.UID) *position {
	p := &position{wish: a, notes: notes, present: present, last: lastCompleted(notes), end: a.end(notes), most: math.MaxInt64}
	if p.isRestart = p.last != nil && p.last.image == a.image; p.last == nil || !a.mayTakeSteps() || !a.remembers(notes) {
		return p
	}
	hasCompleted := func(n note) bool {
		return n.Ended == "completed" && (n.of == present || n.image == a.image && !p.isRestart)
	}
	if a.hasFailed(notes) && !a.isTriedAgain(notes) || slices.ContainsFunc(notes, hasCompleted) {
		return p
	}
	p.isNoted = p.end.Ended == "" && p.end.Step != "" && p.end.Order > p.last.Order
	list, whom := a.annotations[stepsAnnotation], a.annotations[stepsForAnnotation]
	switch steps := stepsIn(list); {
	case p.isNoted && p.end.Step != noStep:
		p.step = p.end.Step
	case !p.isNoted && (list == "" || whom == "releases" && p.isRestart || whom == "restarts" && !p.isRestart):
		return p
	case steps != nil:
		p.step = steps[0]
	default:
		p.step = noStep
	}
	p.most = allows(p.step, a.replicas)
	return p
}

// attempt is which attempt at the rollout is under way.
func (p *position) attempt() int64 {
	isOutrun := p.last != nil && p.end.Order < p.last.Order
	attempt := max(1, p.end.Attempt)
	if p.end.Ended == "failed" || p.end.Step != "" && isOutrun {
		attempt = p.end.Attempt + 1
	}
	if p.end.Ended == "" && p.end.Attempt > 0 && !isOutrun {
		return p.end.Attempt
	}
	return max(attempt, p.asked(p.notes))
}

// isNamed reports whether a name is that of a ReplicaSet of the rollout.
func (p *position) isNamed(name string) bool {
	return slices.ContainsFunc(p.notes, func(n note) bool {
		return n.name == name && (n.of == p.present || n.image == p.image && p.last != nil && n.Order > p.last.Order) && (p.last == nil || n.of != p.last.of)
	})
}

// promoted returns the step that the user lets end, [everyStep] for all, empty for none.
func (p *position) promoted() string {
	asked := p.annotations[promoteAnnotation]
	parts := append(strings.SplitN(asked, "/", 3), "", "")
	if !p.isNoted || asked == p.end.Promoted || len(asked) > 300 || cmp.Or(parts[2], "1") != fmt.Sprint(p.attempt()) || !p.isNamed(parts[0]) {
		return ""
	}
	return cmp.Or(parts[1], everyStep)
}

func (p *position) isAborted() bool {
	name, attempt, _ := strings.Cut(p.annotations[abortAnnotation], "/")
	return attempt == fmt.Sprint(p.attempt()) && p.isNamed(name)
}

// next is the step after the present one.
func (p *position) next() string {
	for _, step := range stepsIn(p.annotations[stepsAnnotation]) {
		if allows(step, p.replicas) > p.most {
			return step
		}
	}
	return everyStep
}

func (p *position) isReadable() bool {
	return p.annotations[stepsAnnotation] == "" || stepsIn(p.annotations[stepsAnnotation]) != nil
}

// assume notes what the engine takes for granted in this step: a ReplicaSet that the last status calls complete is.
func (w *world) assume() {
	w.assumed, w.isUnsure = nil, false
	w.remembers = w.wished.remembers(w.knownNotes())
	defer func() { // a note that was there before the assumption counts
		isSure := w.remembers == w.wished.remembers(w.knownNotes())
		w.remembers = w.remembers || !isSure
		w.isUnsure = w.isUnsure || !isSure || w.cluster.gracePeriod != nil // templates that it knows lack the default
	}()
	status := &w.planned.Status
	said := conditionIn(status, appsv1.DeploymentProgressing)
	if said == nil || said.Reason != reasonComplete || status.AvailableReplicas == 0 || status.UpdatedReplicas != status.Replicas {
		return
	}
	greatest, last, named := int64(0), int64(0), []*rollout.ReplicaSet{}
	for _, rs := range w.seen {
		n := w.noteOn(rs.Name, rs.UID, rs.Annotations[outcomeAnnotation])
		if greatest = max(greatest, n.Order); n.Ended != "" {
			last = max(last, n.Order)
		}
		if strings.Contains(said.Message, strconv.Quote(rs.Name)) {
			named = append(named, rs)
		}
	}
	if len(named) != 1 {
		return
	}
	rs := named[0]
	if n := w.noteOn(rs.Name, rs.UID, rs.Annotations[outcomeAnnotation]); n.Ended != "completed" || n.Order < last { // a step that began since is no news
		w.assumed = &note{name: rs.Name, image: w.images[rs.UID], of: rs.UID, UID: rs.UID, Ended: "completed", Order: greatest + 1}
		w.isUnsure = n.UID == "" // it may not know yet that its template is that of a restart
	}
}

// knownPosition is where the rollout stands, by what the engine knows and has written in this step.
func (w *world) knownPosition() *position {
	present := types.UID("")
	if rs := w.planned.NewReplicaSet(w.seen); rs != nil {
		present = rs.UID
	}
	return w.wished.position(w.knownNotes(), present)
}

// checkStep checks what the engine notes about steps.
func (w *world) checkStep(is *note) {
	p := w.knownPosition()
	isAborted := is.Cause == "aborted" && p.end.Cause != "aborted"
	step, promoted, attempt := p.step, p.end.Promoted, p.attempt()
	to, isUsed := w.permitted(p)
	isJoined := step == p.end.Step && p.end.of != p.present
	if c := saidToWait(&w.planned.Status); is.Step == step && c != nil && !strings.Contains(c.Message, strconv.Quote(is.name)) {
		to, isUsed = "", false // an earlier ReplicaSet waited, so it need not go on at the same time
	}
	switch {
	case w.isUnsure:
		return
	case is.of != p.present:
		w.fault("%s is earlier, and takes a step: %+v", is.name, is)
	case !p.isLimited():
		w.fault("%s takes no steps, and is noted at one: %+v", is.name, is)
	case isAborted && (!p.isRestart || !p.isAborted()):
		w.fault("%s is no restart, or nobody has aborted it: %+v", is.name, is)
	}
	if !isAborted && p.isNoted && p.end.Cause == "aborted" && (to != "" || isJoined) {
		attempt++
	}
	if to != "" && !isAborted {
		step = to
	}
	if !p.isNoted || isAborted || isUsed {
		promoted = p.annotations[promoteAnnotation]
	}
	if !p.isNoted && attempt > 1 && strings.Count(promoted, "/") == 2 && strings.HasSuffix(promoted, fmt.Sprintf("/%d", attempt)) {
		promoted = "" // it is about the attempt that begins
	}
	if is.Step != step || is.Promoted != promoted || is.Attempt != attempt {
		w.fault("attempt %d at step %q, which may go to attempt %d at %q, having used %q: %+v, was %+v", p.attempt(), p.step, attempt, step, promoted, is, p.end)
	}
	switch {
	case isAborted:
		w.abortedRestarts++
	case to != "" && isUsed:
		w.promotions++
	case to != "":
		w.soaks++
	}
	if p.end.Ended == "failed" && attempt > p.end.Attempt {
		w.retries++
	}
}

// permitted returns the step to which the rollout may go on, empty if it may not, and whether a user has permitted it.
func (w *world) permitted(p *position) (step string, isUsed bool) {
	present := w.planned.NewReplicaSet(w.seen)
	if present == nil || !p.isNoted {
		return "", false
	}
	isHeld := present.Replicas == p.most && (saidToWait(&w.planned.Status) != nil || p.end.Cause == "aborted")
	isWhole := present.Replicas == p.most && (p.most == 0 || present.Observed && present.Available >= p.most)
	switch promoted := p.promoted(); {
	case promoted == everyStep:
		return everyStep, true
	case promoted == p.step && p.isReadable() && (isHeld || isWhole):
		return p.next(), promoted == p.end.Step
	case p.isReadable() && isWhole && w.hasSoaked(p, present.UID):
		return p.next(), promoted == p.end.Step
	}
	return "", false
}

// saidToWait returns what the status says about a step at which a rollout waits, nil if it does not say that it does.
func saidToWait(status *appsv1.DeploymentStatus) *appsv1.DeploymentCondition {
	c, progressing := conditionIn(status, conditionAtStep), conditionIn(status, appsv1.DeploymentProgressing)
	if c == nil || progressing == nil || progressing.Reason != reasonPaused || progressing.Message != c.Message {
		return nil
	}
	return c
}

// hasSoaked reports whether the pods of the step have been available for the soak time, and the engine has found them ready then. In
// a world where pods do not fail, that is checked against the pods.
func (w *world) hasSoaked(p *position, present types.UID) bool {
	soak, err := time.ParseDuration(p.annotations[soakAnnotation])
	c := saidToWait(&w.planned.Status)
	if err != nil || soak <= 0 || c == nil || c.Status != corev1.ConditionTrue || p.end.Cause == "aborted" || time.Since(c.LastTransitionTime.Time) < soak {
		return false
	}
	if w.isBad(p.image) || w.listed[present] < p.most {
		return false
	}
	ready := int64(0)
	for _, pod := range w.pods {
		hasWaited := time.Since(pod.readySince)+time.Second >= soak // the API's times are whole seconds
		if pod.controller == present && pod.ready && !pod.terminating && !pod.failed && hasWaited {
			ready++
		}
	}
	return !w.isCalm || ready >= p.most
}

// checkSizeAtStep checks a write that changes how many pods a ReplicaSet wants.
func (w *world) checkSizeAtStep(rs *appsv1.ReplicaSet, was, is int64) {
	p := w.knownPosition()
	isPresent := rs.UID == p.present || was == 0 && shortOf(&rs.Spec.Template) == p.short && p.present == ""
	switch {
	case w.isUnsure, !w.remembers, !p.isLimited():
	case isPresent && is > was && is > p.most:
		w.fault("step %q of %d allows %d, and %s gets %d", p.step, p.replicas, p.most, rs.Name, is)
	case rs.UID == p.last.of && is < was && is < p.replicas-p.most && !w.isScaling:
		w.fault("step %q of %d allows %d, and %s gets %d instead of %d", p.step, p.replicas, p.most, rs.Name, is, was)
	}
}

// settledPosition is where the rollout stands when all is quiet.
func (w *world) settledPosition() *position {
	d := w.deployment()
	present := types.UID("")
	for _, rs := range w.replicaSets() {
		if present == "" && shortOf(&rs.Spec.Template) == shortOf(&d.Spec.Template) {
			present = rs.UID
		}
	}
	return wishOf(d).position(w.notesOf(w.replicaSets()), present)
}

// checkHeld looks at the end of a rollout that a step limits, and returns whether one does.
func (w *world) checkHeld(d *appsv1.Deployment) bool {
	p := w.settledPosition()
	at := conditionIn(&d.Status, conditionAtStep)
	if !p.isLimited() {
		if at != nil && at.Status == corev1.ConditionTrue {
			w.fault("no step limits it, and it says: %s", at.Message)
		}
		return false
	}
	if w.neverReady(p.image) || w.neverReady(p.last.image) {
		return true // there may be too few pods to go on, or none to fill up
	}
	available := int64(0)
	for _, rs := range w.replicaSets() {
		want := int64(0)
		switch rs.UID {
		case p.present:
			want = p.most
		case p.last.of:
			want = p.replicas - p.most
		}
		if int64(*rs.Spec.Replicas) != want {
			w.fault("%s (%s) has %d at step %q of %d, want %d", rs.Name, imageOf(&rs.Spec.Template), *rs.Spec.Replicas, p.step, p.replicas, want)
		}
		available += int64(rs.Status.AvailableReplicas)
	}
	if available != p.replicas || int64(d.Status.AvailableReplicas) != p.replicas || int64(d.Status.UpdatedReplicas) != p.most {
		w.fault("%d available of %d at step %q, and status %+v", available, p.replicas, p.step, d.Status)
	}
	w.checkSaidHeld(d, p, at)
	w.settledHeld++
	return true
}

func (w *world) checkSaidHeld(d *appsv1.Deployment, p *position, at *appsv1.DeploymentCondition) {
	progressing := conditionIn(&d.Status, appsv1.DeploymentProgressing)
	soak, err := time.ParseDuration(p.annotations[soakAnnotation])
	switch isAborted := p.end.Cause == "aborted"; {
	case at == nil || at.Status != corev1.ConditionTrue || progressing == nil || progressing.Message != at.Message:
		w.fault("it waits at step %q, and says %+v", p.step, d.Status.Conditions)
	case isAborted && (progressing.Reason != rollout.ReasonTimedOut || progressing.Status != corev1.ConditionFalse):
		w.fault("it was aborted at step %q, and says %+v", p.step, progressing)
	case !isAborted && (progressing.Reason != reasonPaused || progressing.Status != corev1.ConditionUnknown):
		w.fault("it waits at step %q, and says %+v", p.step, progressing)
	case err == nil && soak > 0 && p.isReadable() && !isAborted && p.most > 0 && !w.isBad(p.image):
		w.fault("it does not go on after %s at step %q: %+v", soak, p.step, progressing)
	case p.promoted() == everyStep || p.promoted() == p.step && p.isReadable():
		w.fault("it was promoted at step %q, and does not go on: %+v", p.step, progressing)
	}
}

// isAtStep reports whether a step limits the rollout.
func (w *world) isAtStep() bool { return w.deployment() != nil && w.settledPosition().isLimited() }

// abortARestart lets a rollout complete, restarts it, and aborts that when it waits.
func (w *world) abortARestart() {
	w.askForSteps()
	if w.settle(); w.isAtStep() {
		w.promoteToTheEnd()
	}
	w.restart()
	if w.problem == "" {
		w.settle()
		w.annotate(abortAnnotation, w.abortionOf(w.settledPosition()))
	}
}

// promoteToTheEnd lets a rollout that waits go on to its end.
func (w *world) promoteToTheEnd() {
	if d := w.deployment(); d == nil || d.Spec.Paused || !w.settledPosition().isLimited() || w.settledPosition().end.Ended == "failed" {
		return // a rollout that fell back waits for another try
	}
	w.annotate(promoteAnnotation, w.promotionOf(w.settledPosition(), everyStep))
	if w.settle(); w.problem != "" {
		return
	}
	if p := w.settledPosition(); p.isLimited() {
		w.fault("it was promoted to the end, and is at step %q: %+v", p.step, p.end)
	}
	w.promotedToTheEnd++
}

// nameOf is the name of the ReplicaSet that is rolled out.
func (p *position) nameOf() string {
	for _, n := range p.notes {
		if n.of == p.present {
			return n.name
		}
	}
	return "none"
}

// abortionOf is a value that aborts a rollout.
func (w *world) abortionOf(p *position) string { return fmt.Sprintf("%s/%d", p.nameOf(), p.attempt()) }

// promotionOf is a value that lets a step end.
func (w *world) promotionOf(p *position, step string) string {
	value := p.nameOf() + "/" + step
	if value == p.end.Promoted || p.attempt() > 1 {
		value += fmt.Sprintf("/%d", p.attempt())
	}
	if value == p.end.Promoted && step == everyStep {
		value = fmt.Sprintf("%s//%d", p.nameOf(), p.attempt())
	}
	return value
}

// goodSteps are lists that can be read.
var goodSteps = []string{"1", "1,2", "1, 25%, 50%", "2,4", "50%", "25%,75%", "3,1,100%"}

// askForSteps makes steps possible, whatever was asked for before.
func (w *world) askForSteps() {
	w.changeDeployment("takes steps", func(d *appsv1.Deployment) {
		d.Annotations[stepsAnnotation] = pick(w, goodSteps...)
		delete(d.Annotations, stepsForAnnotation)
		d.Spec.Paused = false
		if d.Spec.Strategy.Type != appsv1.RollingUpdateDeploymentStrategyType {
			d.Spec.Strategy = rolling("25%", "25%")
		}
		if d.Spec.ProgressDeadlineSeconds == nil {
			d.Spec.ProgressDeadlineSeconds = new(int32(600))
		}
		if *d.Spec.Replicas < 2 {
			d.Spec.Replicas = new(int32(4))
		}
	})
}

// meddleWithSteps is what users do about steps.
func (w *world) meddleWithSteps() {
	d, sets := w.deployment(), w.replicaSets()
	if d == nil || len(sets) == 0 {
		return
	}
	p := w.settledPosition()
	anySet, anyStep := pick(w, sets...).Name, pick(w, "", "/1", "/2", "/25%", "/50%", "/all", "/x", "/0", "/1/2")
	switch w.random.IntN(15) {
	case 0, 1:
		w.annotate(stepsAnnotation, pick(w, append(slices.Clone(goodSteps), "", "", "x", "1,0")...))
	case 2, 3:
		w.annotate(soakAnnotation, pick(w, "", "manual", "3s", "1m", "1m", "1", "-1m"))
	case 4:
		w.annotate(stepsForAnnotation, pick(w, "", "all", "releases", "restarts", "x"))
	case 5, 6:
		w.annotate(promoteAnnotation, w.promotionOf(p, p.step))
	case 7:
		w.annotate(promoteAnnotation, w.promotionOf(p, everyStep))
	case 8:
		w.annotate(promoteAnnotation, anySet+anyStep)
	case 9:
		w.annotate(abortAnnotation, fmt.Sprintf("%s/%d", anySet, 1+w.random.IntN(2)))
	case 10:
		w.annotate(abortAnnotation, w.abortionOf(p))
	case 11, 12:
		w.restart()
	case 13:
		w.undo(pick(w, sets...))
	case 14:
		w.changeDeployment("steps undone, and an abort", func(d *appsv1.Deployment) {
			delete(d.Annotations, stepsAnnotation)
			d.Annotations[abortAnnotation] = w.abortionOf(p)
		})
	}
}

// hasNoPodsAtStep reports whether a step allows no pods, so that nothing shows whether the release works.
func (w *world) hasNoPodsAtStep() bool { return w.settledPosition().most == 0 }

// isUnproven reports whether a release does not complete, since its pods crash, and does not fall back either.
func (w *world) isUnproven(d *appsv1.Deployment) bool {
	notes, wish := w.notesOf(w.replicaSets()), wishOf(d)
	back := lastCompleted(notes)
	return wish.remembers(notes) && back != nil && back.image != wish.image && w.isBad(wish.image)
}
