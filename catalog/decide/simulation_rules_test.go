package decide

import (
	"slices"
	"time"

	"pgregory.net/rapid"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/catalogtest"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/catalog/record"
)

// The part of the simulation in which controllers come and go, and the rules for what they decide.

// stale reports whether a container runs with another content than the present one, and will
// not be replaced by itself.
func (w *world) stale() bool {
	return w.config != nil && slices.ContainsFunc(w.presentPods(), func(pod simulatedPod) bool {
		return pod.started > 0 && pod.seen != w.content()
	})
}

// isNeeded reports whether a restart is right, although the controller need not know: a pod runs with another content
// than the present one, which nobody noticed when the recorded one came back.
func (w *world) isNeeded() bool {
	return w.config != nil && slices.ContainsFunc(w.presentPods(), func(pod simulatedPod) bool {
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
	if w.remade || w.optedOut {
		return // what is made again looks like a new one to the next controller
	}
	w.loseMemory()
	w.away = true
}

func (w *world) startController(*rapid.T) {
	if !w.away {
		return
	}
	w.away = false
	if w.config == nil {
		w.restartController()
	} else {
		w.restartController(w.config)
	}
}

// takeOverBehind lets a standby take over from a controller that was killed, before its
// watch of configs has shown the last edit, on which that one may have acted.
func (w *world) takeOverBehind(t *rapid.T) {
	if w.away || w.optedOut || w.config == nil || w.before == nil || !w.recordKnowsTheConfig() || w.reverted() {
		return // a revert is recorded again, with what the watch has shown
	}
	forgetful := w.forgetful || w.restedSinceTheRecord() || w.marked
	w.loseMemory()
	w.forgetful = forgetful
	w.restartController(w.before)
	w.behind = true
	w.decideAndAct(t)
	w.behind = false
	w.misdated = w.misdated || w.content() != w.recorded
	w.noteContent()
	w.showConfig()
}

func (w *world) decideAndAct(t *rapid.T) {
	if w.away || w.optedOut {
		return
	}
	view, _ := w.catalog.View(objecttest.DeploymentRef("web"))
	if w.behind && len(Unconfirmed(&view)) > 0 {
		return // the content is not the present one
	}
	decision := Decide(view)
	if decision.Outcome == AskConfigs {
		digest, err := record.OriginalDigest(w.config)
		if err != nil {
			t.Fatal(err)
		}
		view.Originals = map[names.ConfigRef]names.Checksum{objecttest.ConfigMapRef("web"): digest}
		decision = Decide(view)
	}
	if decision.Outcome == AskPods {
		decision = ByPods(view, w.reducedPods())
	}
	restarts, due := decision.Outcome == Restart, w.stale()
	if due && !restarts && !w.behind {
		t.Fatalf("lost a restart: %+v", decision)
	}
	if restarts && !due && !w.isNeeded() && !w.stripped && !(w.forgetful && view.Workload.Record.Trusted) && !w.isOlderThanARevertedRestart(view) && !isMixed(view) {
		t.Fatalf("a needless restart: %+v", decision)
	}
	if decision.Outcome == Keep {
		if decision.Verified {
			w.catalog.ObserveKept(view)
		}
		return
	}
	if restarts && decision.Contradicts && !w.inTheEnd && w.putOff(t, view, decision) {
		return
	}
	if restarts {
		w.timestamps = append(w.timestamps, objecttest.NoonPlus(w.now).Format(time.RFC3339Nano))
		objecttest.SetTimestamp(w.deployment, w.timestamps[len(w.timestamps)-1])
		w.rollOut(t)
	}
	catalogtest.WriteRecord(w.deployment, decision.Checksums, objecttest.NoonPlus(w.now))
	w.recorded, w.recordedFor = w.content(), w.deployment.Spec.Template.Annotations[annotation.TimestampAnnotation]
	w.contradicted, w.marked, w.recordedAt, w.misdated = 0, false, w.now, false
	w.catalog.ObserveWritten(w.reduced(), view.Sequence)
	w.stripped, w.forgetful, w.remade = false, false, w.config == nil && !w.recordKnowsTheConfig()
	view, _ = w.catalog.View(objecttest.DeploymentRef("web"))
	if again := Decide(view); again.Outcome != Keep {
		t.Fatalf("not done after %s: %+v", decision.Outcome, again)
	}
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

func (w *world) reducedPods() []Pod {
	var reduced []Pod
	for _, pod := range w.presentPods() {
		p := Pod{}
		if pod.started > 0 {
			p.Started = []Start{{"app", objecttest.NoonPlus(pod.started)}}
		}
		reduced = append(reduced, p)
	}
	return reduced
}
