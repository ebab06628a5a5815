package decide

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/catalogtest"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
)

// The part of the simulation in which controllers come and go, and the rules for what they decide.

// stale reports whether a container runs with another content than the present one, and will
// not be replaced by itself.
func (w *world) stale() bool {
	return w.config() != nil && slices.ContainsFunc(w.presentPods(), func(pod simulatedPod) bool {
		return pod.started > 0 && pod.seen != w.content()
	})
}

// isNeeded reports whether a restart is right, although the controller need not know: a pod runs with another content
// than the present one, which nobody noticed when the recorded one came back.
func (w *world) isNeeded() bool {
	return w.config() != nil && slices.ContainsFunc(w.presentPods(), func(pod simulatedPod) bool {
		return pod.started > 0 && pod.read != w.content()
	})
}

// recordKnowsTheConfig reports whether the record is trusted for some content of it.
func (w *world) recordKnowsTheConfig() bool {
	record := catalogtest.MustWorkload(w.deployment).Record
	_, known := record.Checksums[objecttest.ConfigMapRef("web")]
	return known && record.Trusted
}

func (w *world) restedSinceTheRecord() bool {
	view, _ := w.catalog.View(objecttest.DeploymentRef("web"))
	return hasRested(view.Workload)
}

func (w *world) reverted() bool {
	return catalogtest.MustWorkload(w.deployment).Record.Reverted != nil
}

func (w *world) stopController(*rapid.T) {
	if w.remade || w.isOut {
		return // what is made again looks like a new one to the next controller
	}
	w.loseMemory()
	w.happens("leader", "stops")
}

func (w *world) startController(*rapid.T) {
	if w.isAway {
		w.happens("leader", "starts")
	}
}

// takeOverBehind lets a standby take over from a controller that was killed, before its
// watch of configs has shown the last edit, on which that one may have acted.
func (w *world) takeOverBehind(t *rapid.T) {
	if w.isAway || w.isOut || w.config() == nil || w.former["web"] == nil || !w.recordKnowsTheConfig() || w.reverted() {
		return // a revert is recorded again, with what the watch has shown
	}
	forgetful := w.forgetful || w.restedSinceTheRecord() || w.marked
	w.loseMemory()
	w.forgetful = forgetful
	w.happens("leader", "late")
	w.late = true
	w.decideAndAct(t)
	w.late = false
	w.misdated = w.misdated || w.content() != w.recorded
	w.noteContent()
	w.happens("watch of configs", "shows")
}

func (w *world) decideAndAct(t *rapid.T) {
	if w.isAway || w.isOut {
		return
	}
	view, _ := w.catalog.View(objecttest.DeploymentRef("web"))
	if w.late && len(Unconfirmed(&view)) > 0 {
		return // the content is not the present one
	}
	decision, _ := w.decide(w.runningPods()...)
	restarts, due := decision.Outcome == Restart, w.stale()
	if due && !restarts && !w.late {
		w.fail("A restart is lost")
	}
	if restarts && !due && !w.isNeeded() {
		if !w.stripped && !(w.forgetful && view.Workload.Record.Trusted) && !w.isOlderThanARevertedRestart(view) && !isMixed(view) {
			w.fail("A restart is needless")
		}
		*w.excused++
	}
	if restarts && decision.Contradicts && !w.inTheEnd && w.putOff(t, decision) {
		return
	}
	if w.carryOut(decision); decision.Outcome == Keep {
		return
	}
	if restarts {
		w.timestamps = append(w.timestamps, w.timestamp)
		w.rollOut(t)
	}
	w.recorded, w.recordedFor = w.content(), w.deployment.Spec.Template.Annotations[annotation.TimestampAnnotation]
	w.contradicted, w.marked, w.recordedAt, w.misdated = 0, false, w.now, false
	w.stripped, w.forgetful, w.remade = false, false, w.config() == nil && !w.recordKnowsTheConfig()
	if again, _ := w.decide(); again.Outcome != Keep {
		w.fail("It does not end")
	}
}

// fail fails with a story that says what the pods have read.
func (w *world) fail(what string) {
	why := fmt.Sprintf("%s: web:key is %s", what, cmp.Or(w.content(), "gone"))
	for _, pod := range slices.Compact(w.presentPods()) {
		if pod.started > 0 {
			why += fmt.Sprintf(", and a pod that started at second %v has read %s", pod.started, cmp.Or(pod.read, "nothing"))
		}
	}
	w.stage.fail(why+".", w.runningPods())
}

// isOlderThanARevertedRestart reports whether there is a pod that the restart would have replaced.
// It may have seen the content all the same, if it started by itself between the edit and the
// restart: a limit that docs/design.md describes.
func (w *world) isOlderThanARevertedRestart(view catalog.View) bool {
	reverted := view.Workload.Record.Reverted
	return reverted != nil && slices.ContainsFunc(w.presentPods(), func(pod simulatedPod) bool {
		return pod.started > 0 && objecttest.NoonPlus(pod.started).Before(reverted.Recorded)
	})
}

func (w *world) runningPods() (pods []*corev1.Pod) {
	for _, pod := range w.presentPods() {
		pods = append(pods, podOf(w.deployment, pod.started, func(string) float64 { return cmp.Or(pod.started, -1) }))
	}
	return pods
}
