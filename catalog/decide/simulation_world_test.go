package decide

import (
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
)

// world is a cluster with one config, one workload that reads it, and a
// controller that comes and goes. It knows what each pod has seen, which the
// controller can only conclude. Things happen ten seconds apart, so that clocks
// leave no doubt.
type world struct {
	*stage
	optional bool
	contents int
	late     bool   // the watch has not shown the last edit
	last     string // the content of the last config
	pods     []simulatedPod
	// forgetful means that the controller was away since it last wrote. It may not know that
	// the workload had no pods when the config changed, and may then cause a needless restart.
	forgetful bool
	stripped  bool // the record has no basis: what came and went is a reason, too
	misdated  bool // the present content seems to be younger than it is
	joined    bool // a pod started while there was no config
	remade    bool // the config was made again, and only the catalog knows
	inTheEnd  bool
	excused   *int // counts the needless restarts that a limit explains
	// timestamps are the timestamps of all restarts.
	timestamps []string
	// recorded is the content at the last record, and recordedFor the timestamp of that time.
	recorded, recordedFor string
	recordedAt            float64
	// contradicted is since when it is known that the content is not the recorded one, 0 if it
	// is not known; marked means that the record says so too.
	contradicted float64
	marked       bool
}

// optIn opts the workload in, which is seen as it happens or in the list after a gap. What the
// pods have missed until then is its owner's own affair.
func (w *world) optIn(t *rapid.T) {
	if !w.isOut {
		return
	}
	if !w.isAway {
		w.happens("watch of deployments", "behind")
	}
	w.happens("deployment", "opts-in")
	for i := range w.pods {
		w.pods[i].read, w.pods[i].seen = w.content(), w.content()
	}
	w.now += 10
	if rapid.Bool().Draw(t, "edited before it is seen") {
		w.edit(t)
	}
	if !w.isAway {
		w.happens("watch of deployments", rapid.SampledFrom([]string{"shows", "lists"}).Draw(t, "how"))
	}
}

// showAnother lets the watch of workloads show that it is up to date.
func (w *world) showAnother(*rapid.T) { w.happens("watch of deployments", "up-to-date") }

type simulatedPod struct {
	started  float64 // 0 while it waits for its config
	read     string  // what it runs with, empty if there was no config
	seen     string  // the same, as far as the controller can know
	template string  // that it was made from
	// caught means that the content was known to differ from the recorded one.
	caught bool
}

// newWorld is one that begins with a config, without, or with one and a Deployment that is out: it has not opted in yet.
func newWorld(t *rapid.T, excused *int, optional bool, begins string) *world {
	w := &world{stage: newStage(t, map[bool]string{false: "app reads web", true: "app reads web?"}[optional]), optional: optional, excused: excused}
	if begins == "out" {
		w.happens("deployment", "out")
	}
	if begins != "without" {
		w.nextContent()
	}
	w.start()
	w.startPods()
	return w
}

// config is nil if it does not exist.
func (w *world) config() *corev1.ConfigMap { return w.configs["web"] }

func (w *world) content() string {
	if w.config() == nil {
		return ""
	}
	return w.config().Data["key"]
}

// template names the present pod template.
func (w *world) template() string {
	template := &w.deployment.Spec.Template
	return template.Spec.Containers[0].Image + " " + template.Annotations[annotation.TimestampAnnotation]
}

// presentPods are the pods of the present template. The others are about to be replaced.
func (w *world) presentPods() []simulatedPod {
	return slices.DeleteFunc(slices.Clone(w.pods), func(pod simulatedPod) bool { return pod.template != w.template() })
}

func (w *world) startPods() {
	w.pods = []simulatedPod{w.newPod(w.template()), w.newPod(w.template())}
}

func (w *world) newPod(template string) simulatedPod {
	if w.config() == nil {
		w.joined = w.joined || w.contradicted == 0
		if !w.optional {
			return simulatedPod{template: template}
		}
	}
	return simulatedPod{started: w.now + 3, read: w.content(), seen: w.content(), template: template, caught: w.contradicted > 0}
}

// idle reports whether no pods are wanted. Some may still run.
func (w *world) idle() bool { return objecttest.WantsNone(w.deployment.Spec.Replicas) }

// rollOut replaces the pods that are not of the present template, or only the last one for
// now: the one that never restarts by itself, see [world.replaceAPod].
func (w *world) rollOut(t *rapid.T) {
	if w.idle() && rapid.Bool().Draw(t, "all gone") {
		w.pods = nil
	}
	for i, pod := range w.pods {
		if pod.template != w.template() && (i > 0 || rapid.Bool().Draw(t, "completely")) {
			w.pods[i] = w.newPod(w.template())
		}
	}
	if len(w.pods) == 0 && !w.idle() {
		w.startPods()
	}
}

func (w *world) edit(*rapid.T) {
	if w.config() != nil {
		w.nextContent()
	}
}

func (w *world) nextContent() {
	w.contents++
	w.setContent(strconv.Itoa(w.contents))
}

func (w *world) setContent(content string) {
	w.happens("web:key", content)
	w.noteContent()
}

func (w *world) label(*rapid.T) {
	if w.config() != nil {
		w.happens("web", "labeled")
	}
}

func (w *world) remove(*rapid.T) {
	if w.isOut || w.config() == nil || w.isAway && !w.recordKnowsTheConfig() {
		return // what is made again looks like a new one to the next controller
	}
	w.last, w.joined = w.content(), false
	w.happens("web", "deleted")
	w.noteContent()
	w.remade = w.remade || !w.recordKnowsTheConfig()
}

func (w *world) create(t *rapid.T) {
	if w.config() != nil {
		return
	}
	// A config that is made again with the same content is no reason to restart, whatever a
	// pod started with. If the pods' start times decide, because the record is older than the
	// pods, it can cause a needless restart: a limit that docs/design.md describes.
	if w.recordKnowsTheConfig() && (w.last == w.recorded || w.contradicted == 0) && !w.restedSinceTheRecord() && !w.reverted() && !w.joined && rapid.Bool().Draw(t, "same") {
		w.misdated = true
		w.setContent(w.last)
	} else {
		w.nextContent()
	}
	for i, pod := range w.pods {
		if pod.started == 0 {
			w.pods[i] = w.newPod(pod.template)
		}
	}
}

func (w *world) releaseImage(t *rapid.T) {
	w.happens("deployment", fmt.Sprint("image=v", w.now))
	w.rollOut(t)
}

// rewind takes a restart back, like a tool that keeps the pod template as it was, or restores
// it.
func (w *world) rewind(t *rapid.T) {
	if w.config() == nil || w.misdated {
		return // the record keeps what the pods had that this replaces: a limit, too
	}
	timestamp := rapid.SampledFrom(append([]string{""}, w.timestamps...)).Draw(t, "timestamp")
	if timestamp == w.recordedFor && w.content() != w.recorded {
		return // that replaces the pods after an edit, and they restart once more: a limit
	}
	w.happens("deployment", "timestamp="+timestamp)
	w.rollOut(t)
}

// dropTheBasis acts like a tool that knows only the annotation that the original controller
// also had.
func (w *world) dropTheBasis(*rapid.T) {
	if w.misdated || w.last != "" {
		return // only the record says that what was made again is not the same: a limit, too
	}
	w.stripped = true
	w.happens("deployment", "basis-stripped")
}

// replaceAPod is done by the ReplicaSet or the revision that the pod belongs to.
func (w *world) replaceAPod(*rapid.T) {
	if len(w.pods) > 0 && !w.idle() {
		w.pods[0] = w.newPod(w.pods[0].template)
	}
}

func (w *world) toggleScale(*rapid.T) {
	if w.isAway || w.isOut || w.misdated {
		return // the controller would not know that no pod is as old as the record
	}
	if !w.idle() {
		w.happens("deployment", "replicas=0") // the pods still run
		return
	}
	if w.happens("deployment", "replicas=2"); len(w.pods) == 0 {
		w.startPods()
	}
}

func (w *world) endPods(*rapid.T) {
	if w.idle() {
		w.pods = nil
	}
}
