package deployment

import (
	"encoding/json"
	"fmt"
	"maps"
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
	onFailureAnnotation = "com.xing.deployment-restart.on-failure"
	retryAnnotation     = "com.xing.deployment-restart.retry"

	conditionFallenBack appsv1.DeploymentConditionType = "FallenBack"
)

// badImages are those of releases that do not work, and why a release of one fails; empty if it is only stuck. All pods of
// them show the same, and never become ready but for the last, whose pods are ready between their crashes.
var badImages = map[string]string{
	"bad-crash": "crash", "bad-config": "config", "bad-image": "image", "bad-hanging": "not_ready", "bad-unstarted": "", "bad-restarted": "crash",
}

// releases is what a world knows of its releases, without a look at what the engine thinks of them.
type releases struct {
	// asks means that users want to fall back, apart from when they change their minds.
	asks bool
	// healed are the bad images that work by now, such as because a database is back.
	healed map[string]bool
	// Of each ReplicaSet: its image, how many of its pods were ready at the same time, when the first was made, whether one was
	// ready and then not. By its name, since it may be deleted and made again: whether a status with available pods has called it
	// complete.
	images  map[types.UID]string
	most    map[types.UID]int64
	listed  map[types.UID]int64 // how many of its pods were ready when the present process listed them last
	began   map[types.UID]time.Time
	lost    map[types.UID]bool
	isNamed map[string]bool
	stamps  int // of restarts
}

func newReleases(asks bool) releases {
	return releases{
		asks: asks, healed: map[string]bool{}, images: map[types.UID]string{}, most: map[types.UID]int64{}, listed: map[types.UID]int64{},
		began: map[types.UID]time.Time{}, lost: map[types.UID]bool{}, isNamed: map[string]bool{},
	}
}

// isBad reports whether a release of an image does not work, and neverReady whether its pods do not become ready either.
func (r *releases) isBad(image string) bool {
	_, isBad := badImages[image]
	return isBad && !r.healed[image]
}

func (r *releases) neverReady(image string) bool { return r.isBad(image) && image != "bad-restarted" }

// sightOf is what a pod shows; see podStatus.
func (w *world) sightOf(pod *simulatedPod) string {
	switch {
	case w.isBad(pod.image):
		return strings.TrimPrefix(pod.image, "bad-")
	case pod.wasReady:
		return "hanging"
	}
	return "unstarted"
}

// showPod brings a pod's status up to date, for those who list it: what watches of the engine pick is as before. It returns
// whether there was anything to do.
func (w *world) showPod(pod *simulatedPod) bool {
	shown := fmt.Sprint(w.sightOf(pod), pod.ready)
	if shown == pod.shown {
		return false
	}
	pod.shown = shown
	pod.Pod = new(*pod.Pod)
	pod.Status = podStatus(w.sightOf(pod), pod.ready, pod.made)
	w.cluster.pods[pod.Name] = pod.Pod
	if !pod.ready {
		return true
	}
	pod.wasReady = true
	w.most[pod.controller] = max(w.most[pod.controller], w.readyPods()[pod.controller])
	return true
}

// readyPods is how many pods of each ReplicaSet are ready.
func (w *world) readyPods() map[types.UID]int64 {
	ready := map[types.UID]int64{}
	for _, pod := range w.pods {
		if pod.ready && !pod.terminating && !pod.failed {
			ready[pod.controller]++
		}
	}
	return ready
}

// readPods notes what the engine finds when it lists the pods.
func (w *world) readPods() { w.listed = w.readyPods() }

// meddleWithReleases is what users do about releases.
func (w *world) meddleWithReleases() {
	d := w.deployment()
	if d == nil {
		return
	}
	sets := w.replicaSets()
	switch w.random.IntN(9) {
	case 0:
		w.restart()
	case 1, 2, 3:
		w.askAgain()
	case 4:
		if len(sets) > 0 {
			value := fmt.Sprintf("%s/%d", pick(w, sets...).Name, w.random.IntN(3))
			w.annotate(retryAnnotation, value)
		}
	case 5:
		w.annotate(onFailureAnnotation, pick(w, "fall-back", "", "later"))
	case 6:
		w.annotate(onFailureAnnotation, "fall-back")
	case 7:
		if len(sets) > 0 {
			w.undo(pick(w, sets...))
		}
	case 8: // back to what has completed
		if back := lastCompleted(w.notesOf(sets)); back != nil {
			w.countRollout(true)
			w.changeDeployment("template "+back.image, func(d *appsv1.Deployment) { d.Spec.Template = templateOf(back.image) })
			w.begun = shortOf(&w.deployment().Spec.Template)
		}
	}
}

// restart is kubectl rollout restart.
func (w *world) restart() {
	w.stamps++
	w.countRollout(true)
	w.changeDeployment("restart", func(d *appsv1.Deployment) {
		d.Spec.Template = *d.Spec.Template.DeepCopy()
		d.Spec.Template.Annotations = map[string]string{restartedAt: fmt.Sprint(w.stamps)}
	})
	w.begun = shortOf(&w.deployment().Spec.Template)
}

// annotate sets an annotation of the Deployment, or removes it.
func (w *world) annotate(key, value string) {
	w.changeDeployment(fmt.Sprintf("%s=%s", key, value), func(d *appsv1.Deployment) {
		if d.Annotations[key] = value; value == "" {
			delete(d.Annotations, key)
		}
	})
}

// isFallenBack reports whether by the notes, a release has failed, and another one runs.
func (w *world) isFallenBack() bool {
	d := w.deployment()
	return w.asks && d != nil && wishOf(d).hasFailed(w.notesOf(w.replicaSets()))
}

// longest is how many things may happen at most until users do something. Most of a release happens when all wait for its end.
func (w *world) longest() int {
	if w.asks {
		return 40
	}
	return 80
}

// impatience is how probable it is that all waits for the end of a rollout.
func (w *world) impatience() float64 {
	d := w.deployment()
	switch {
	case !w.asks || d == nil:
		return .5
	case lastCompleted(w.notesOf(w.replicaSets())) == nil:
		return .7 // for something to fall back to
	case w.isBad(imageOf(&d.Spec.Template)) && !w.isFallenBack():
		return .9 // to see it fail
	}
	return .3
}

// askToFallBack makes it possible to fall back, whatever was asked for before.
func (w *world) askToFallBack() {
	w.changeDeployment("can fall back", func(d *appsv1.Deployment) {
		d.Annotations[onFailureAnnotation] = "fall-back"
		d.Spec.Paused = false
		if d.Spec.ProgressDeadlineSeconds == nil {
			d.Spec.ProgressDeadlineSeconds = new(int32(5))
		}
		if *d.Spec.Replicas == 0 {
			d.Spec.Replicas = new(int32(3))
		}
	})
}

// askAgain asks for the next attempt at the present release. Often it works by then.
func (w *world) askAgain() {
	image := imageOf(&w.deployment().Spec.Template)
	for _, n := range w.notesOf(w.replicaSets()) {
		if n.image != image || n.Ended != "failed" {
			continue
		}
		if w.chance(.6) {
			w.logf("%s works by now", image)
			w.healed[image] = true
		}
		value := fmt.Sprintf("%s/%d", n.name, n.Attempt+1)
		w.annotate(retryAnnotation, value)
		return
	}
}

// undo is kubectl rollout undo: it takes over the template of a ReplicaSet, and nearly all of its annotations.
func (w *world) undo(rs *appsv1.ReplicaSet) {
	template := *rs.Spec.Template.DeepCopy()
	delete(template.Labels, appsv1.DefaultDeploymentUniqueLabelKey)
	skipped := []string{rollout.RevisionAnnotation, revisionHistoryAnnotation, desiredReplicasAnnotation, maxReplicasAnnotation}
	w.countRollout(true)
	w.changeDeployment("undo to "+rs.Name, func(d *appsv1.Deployment) {
		kept := d.Annotations
		d.Annotations = maps.Clone(rs.Annotations)
		for _, key := range skipped {
			if delete(d.Annotations, key); kept[key] != "" {
				d.Annotations[key] = kept[key]
			}
		}
		d.Spec.Template = template
	})
	w.begun = shortOf(&w.deployment().Spec.Template)
}

// note is what the annotation on a ReplicaSet says about how its release ended, the zero value but for the names if nothing.
type note struct {
	name, image    string
	of             types.UID
	UID            types.UID
	Ended, Cause   string
	Order, Attempt int64
	Step, Promoted string
}

func (w *world) noteOn(name string, uid types.UID, text string) note {
	n := note{name: name, image: w.images[uid], of: uid}
	isStep := func() bool { return n.Step == "" || n.Step == noStep || allows(n.Step, 1) > 0 }
	if json.Unmarshal([]byte(text), &n) != nil || n.UID != uid || n.Order < 0 || !isStep() {
		return note{name: name, image: w.images[uid], of: uid}
	}
	return n
}

func (w *world) notesOf(sets []*appsv1.ReplicaSet) (notes []note) {
	for _, rs := range sets {
		notes = append(notes, w.noteOn(rs.Name, rs.UID, rs.Annotations[outcomeAnnotation]))
	}
	return notes
}

// knownNotes are those that the engine knows or assumes, after what it has written in this step.
func (w *world) knownNotes() (notes []note) {
	for _, rs := range w.seen {
		text, isWritten := w.writtenNotes[rs.UID]
		if !isWritten {
			text = rs.Annotations[outcomeAnnotation]
		}
		n := w.noteOn(rs.Name, rs.UID, text)
		if !isWritten && w.assumed != nil && w.assumed.of == rs.UID {
			n = *w.assumed
		}
		notes = append(notes, n)
	}
	return notes
}

// isLatest reports whether a note is later than all that the present step was planned on, and differs from those of the step.
func (w *world) isLatest(is *note) bool {
	for _, rs := range w.seen {
		if n := w.noteOn(rs.Name, rs.UID, rs.Annotations[outcomeAnnotation]); n.UID != "" && n.Order >= is.Order {
			return false
		}
		if n := w.noteOn(rs.Name, rs.UID, w.writtenNotes[rs.UID]); n.UID != "" && n.Order == is.Order {
			return false
		}
	}
	return true
}

func latest(notes []note, is func(note) bool) (last *note) {
	for _, n := range notes {
		if n.UID != "" && is(n) && (last == nil || n.Order > last.Order) {
			last = &n
		}
	}
	return last
}

func lastCompleted(notes []note) *note {
	return latest(notes, func(n note) bool { return n.Ended == "completed" })
}

// checkTemplate checks that the engine writes to a Deployment's specification only if a rollback is asked for.
func (w *world) checkTemplate() {
	if _, asked := w.planned.Annotations[rollout.RollbackAnnotation]; !asked {
		w.fault("the specification is written")
	}
}

// readStatus takes in what the engine says of the rollout.
func (w *world) readStatus() {
	d := w.deployment()
	progressing := conditionIn(&d.Status, appsv1.DeploymentProgressing)
	if progressing == nil || progressing.Reason != reasonComplete || d.Status.AvailableReplicas == 0 {
		return
	}
	for _, rs := range w.replicaSets() {
		if strings.Contains(progressing.Message, strconv.Quote(rs.Name)) {
			w.isNamed[rs.Name] = true
		}
	}
}

// checkRelease looks at each write to a ReplicaSet for what must never happen to a release.
func (w *world) checkRelease(before, after *appsv1.ReplicaSet) {
	d, notes, wish := w.planned, w.knownNotes(), w.wished
	asks, image := w.remembers, wish.image
	switch {
	case after == nil:
		if back := lastCompleted(notes); asks && back != nil && back.of == before.UID {
			w.fault("%s is deleted, which was the last to complete", before.Name)
		}
		return
	case before == nil:
		w.images[after.UID] = imageOf(&after.Spec.Template)
		if text := after.Annotations[outcomeAnnotation]; text != "" {
			w.fault("%s is created with the outcome %s", after.Name, text)
		}
		if *after.Spec.Replicas > 0 && wish.hasFailed(notes) {
			w.fault("%s has failed, and gets %d", image, *after.Spec.Replicas)
		}
		w.checkSizeAtStep(after, 0, int64(*after.Spec.Replicas))
		return
	case before.Annotations[outcomeAnnotation] != after.Annotations[outcomeAnnotation]:
		w.checkNote(asks, notes, before, after)
		w.writtenNotes[after.UID] = after.Annotations[outcomeAnnotation]
		notes = w.knownNotes()
		w.readScaling()
	}
	was, is := *before.Spec.Replicas, *after.Spec.Replicas
	w.checkSizeAtStep(after, int64(was), int64(is))
	if !asks || w.isScaling || was == is || w.isUnsure {
		return
	}
	present, back, failed := d.NewReplicaSet(w.seen), lastCompleted(notes), wish.hasFailed(notes)
	isPresent := present != nil && present.UID == after.UID
	p := w.knownPosition()
	switch {
	case p.isLimited() && after.UID == p.last.of && int64(is) <= max(int64(was), p.replicas-p.most): // it has the pods that the new one may not have
	case p.isLimited() && isPresent && int64(is) >= p.most:
	case is < was && is >= after.Status.AvailableReplicas && w.isCrowded(d): // a scaling has left too many
	case is > was && failed && w.images[after.UID] == image:
		w.fault("%s has failed, and %s gets %d", image, after.Name, is)
	case is > was && !isPresent && !failed:
		w.fault("%s gets %d, and nothing has failed", after.Name, is)
	case is > was && !isPresent && back.of != after.UID:
		w.fault("%s gets %d, and it was not the last to complete", after.Name, is)
	case is < was && int64(is) < d.Replicas && isPresent && !failed:
		w.fault("%s gets %d, and it is not noted that it has failed", after.Name, is)
	}
}

// checkNote checks what the engine notes against what has happened.
func (w *world) checkNote(asks bool, notes []note, before, after *appsv1.ReplicaSet) {
	text := after.Annotations[outcomeAnnotation]
	was, is := w.noteOn(before.Name, before.UID, before.Annotations[outcomeAnnotation]), w.noteOn(after.Name, after.UID, text)
	back, image := lastCompleted(notes), w.images[after.UID]
	isRelease := back != nil && back.image != image
	switch {
	case text == "" && asks && !w.isUnsure:
		w.fault("the note on %s is lost: %s", after.Name, before.Annotations[outcomeAnnotation])
	case text == "":
	case !asks:
		w.fault("nobody asks for notes, and %s gets %s", after.Name, text)
	case !w.isLatest(&is):
		w.fault("the note on %s is not the last: %s", after.Name, text)
	case is.Ended == "completed":
		w.completions++
		if most := w.most[after.UID]; !w.isNamed[after.Name] && (most < w.planned.Replicas || most == 0) {
			w.fault("%s is noted as complete, and of %d pods, no more than %d were ready at once", after.Name, w.planned.Replicas, most)
		}
		isBad := w.isBad(image) && w.wished.fallsBack()
		if isRelease && !w.isNamed[after.Name] && (isBad || w.listed[after.UID] < w.planned.Replicas) {
			w.fault("%s (%s) is noted as complete, and of %d pods, %d were ready at the last look", after.Name, image, w.planned.Replicas, w.listed[after.UID])
		}
	case is.Ended == "failed":
		w.checkFailure(notes, isRelease, &is, after)
	case is.Step != "":
		w.checkStep(&is)
	case is.Attempt <= was.Attempt || !w.asksFor(notes, image, is.Attempt):
		w.fault("%s gets the note %s, and the annotation asks for %q", after.Name, text, w.planned.Annotations[retryAnnotation])
	default:
		w.retries++
	}
}

// asksFor reports whether the user has asked for an attempt at the release of an image.
func (w *world) asksFor(notes []note, image string, attempt int64) bool {
	return slices.ContainsFunc(notes, func(n note) bool {
		return n.image == image && w.planned.Annotations[retryAnnotation] == fmt.Sprintf("%s/%d", n.name, attempt)
	})
}

// checkFailure checks that a release has failed for the reason that the engine notes.
func (w *world) checkFailure(notes []note, isRelease bool, n *note, rs *appsv1.ReplicaSet) {
	switch {
	case isRelease:
	case w.isUnsure:
		return
	default:
		w.fault("%s is noted as failed, which is a restart or a first rollout", n.name)
		return
	}
	if w.wished.hasFailed(notes) {
		return // it restarts what has failed
	}
	w.fallBacks++
	if n.Cause == "aborted" {
		if w.aborts++; w.isCalm && !w.knownPosition().isAborted() {
			w.fault("%s has failed since it was aborted, and nobody has", n.name)
		}
		return
	}
	excused := !w.isCalm && n.Cause == "not_ready" && w.lost[rs.UID]
	if want := badImages[n.image]; (want == "" || n.Cause != want) && !excused {
		w.fault("%s has failed by %q, and its image is %s", n.name, n.Cause, n.image)
	}
	took := time.Since(w.began[rs.UID]) + time.Second // the API's times are whole seconds
	if n.Cause != "crash" && n.Cause != "config" && took < *w.planned.ProgressDeadline {
		w.fault("%s has failed by %q after %s, and has %s", n.name, n.Cause, took, *w.planned.ProgressDeadline)
	}
}

// checkReleaseSettled looks at the end of a rollout, and returns whether it is fallen back.
func (w *world) checkReleaseSettled(d *appsv1.Deployment) bool {
	image, notes, wish := imageOf(&d.Spec.Template), w.notesOf(w.replicaSets()), wishOf(d)
	asks := wish.remembers(notes)
	back := lastCompleted(notes)
	if wish.hasFailed(notes) {
		w.checkFallenBack(d, back)
		return true
	}
	if c := conditionIn(&d.Status, conditionFallenBack); c != nil {
		w.fault("it is not fallen back, and says so: %s", c.Message)
	}
	if !asks {
		for _, rs := range w.replicaSets() {
			if text := rs.Annotations[outcomeAnnotation]; text != "" {
				w.fault("nobody asks for notes, and %s has %s", rs.Name, text)
			}
		}
		return false
	}
	switch isRelease := back != nil && back.image != image; {
	case *d.Spec.Replicas == 0:
	case isRelease && w.isBad(image) && badImages[image] != "" && wish.fallsBack() && !w.hasNoPodsAtStep():
		w.fault("%s does not work, %s has completed, and nothing falls back", image, back.name)
	case w.settledPosition().isLimited():
	case isRelease && !w.isBad(image):
		w.fault("%s is complete, and it is not noted: %+v", image, notes)
	case back == nil && !w.neverReady(image):
		w.fault("%s is complete, and nothing is noted: %+v", image, notes)
	}
	return false
}

// checkFallenBack checks that the last release that completed runs, and that the status says so.
func (w *world) checkFallenBack(d *appsv1.Deployment, back *note) {
	available := int32(0)
	for _, rs := range w.replicaSets() {
		if rs.UID != back.of {
			if *rs.Spec.Replicas != 0 {
				w.fault("%s (%s) has %d while it is fallen back", rs.Name, w.images[rs.UID], *rs.Spec.Replicas)
			}
			continue
		}
		for _, pod := range w.podsOf(rs) {
			if w.isAvailable(pod, rs) {
				available++
			}
		}
	}
	if n := *d.Spec.Replicas; !w.neverReady(back.image) && (available != n || d.Status.AvailableReplicas != n || d.Status.Replicas != n || d.Status.UnavailableReplicas != 0) {
		w.fault("it is fallen back to %s with %d available of %d, and status %+v", back.name, available, n, d.Status)
	}
	fallen, progressing := conditionIn(&d.Status, conditionFallenBack), conditionIn(&d.Status, appsv1.DeploymentProgressing)
	switch {
	case fallen == nil || fallen.Status != corev1.ConditionTrue || progressing == nil:
		w.fault("it is fallen back, and does not say so: %+v", d.Status.Conditions)
	case progressing.Reason != rollout.ReasonTimedOut || progressing.Status != corev1.ConditionFalse || progressing.Message != fallen.Message:
		w.fault("it is fallen back, and says: %+v", d.Status.Conditions)
	case !strings.Contains(fallen.Message, back.name):
		w.fault("it is fallen back to %s, and says: %s", back.name, fallen.Message)
	}
	if limit := d.Spec.RevisionHistoryLimit; limit != nil && len(w.replicaSets())-1 > manyLeft(int(*limit)) {
		w.fault("a history of %d, with a limit of %d", len(w.replicaSets())-1, *limit)
	}
	w.settledFallenBack++
}

// isCrowded reports whether the ReplicaSets that the engine knows want more pods than the Deployment allows.
func (w *world) isCrowded(d *rollout.Deployment) bool {
	total := int64(0)
	for _, rs := range w.seen {
		total += rs.Replicas
	}
	return total > d.Replicas+d.Limits.MaxSurge
}

// manyLeft is how many old ReplicaSets may be left while a rollout is not complete.
func manyLeft(limit int) int { return 2*limit + 1 + max(limit, 10) }

// keptBesides is how many ReplicaSets are kept beyond the history limit when a rollout is complete: the last that completed, if a
// release without pods is not noted as complete, and the last one of the release before.
func (w *world) keptBesides(d *appsv1.Deployment) (kept int) {
	p := w.settledPosition()
	if !p.remembers(p.notes) || p.last == nil {
		return 0
	}
	if p.replicas == 0 && p.last.of != p.present {
		kept++
	}
	if limit := d.Spec.RevisionHistoryLimit; limit != nil && *limit > 0 && latest(p.notes, func(n note) bool { return n.Ended == "completed" && n.image != p.last.image }) != nil {
		kept++
	}
	return kept
}
