package decide

import (
	"slices"

	"pgregory.net/rapid"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/content"
)

// The part of the simulation in which the recorded content comes back.

// takeBack brings back the content that is recorded.
func (w *world) takeBack(*rapid.T) {
	if w.config() != nil && w.content() != w.recorded && w.recordKnowsTheConfig() {
		w.setContent(w.recorded)
	}
}

// comeBack is the whole story of a content that comes back while a restart waits for it.
func (w *world) comeBack(t *rapid.T) {
	steps := []func(*rapid.T){w.edit, w.decideAndAct, w.replaceAPod, w.stopController, w.takeBack, w.startController}
	for _, step := range steps {
		if w.now += 10; rapid.IntRange(0, 3).Draw(t, "it happens") > 0 {
			step(t)
		}
	}
}

// noteContent notes what the controller may know of a content that is not the recorded one. Of
// pods that started when it did not know, it does not notice that they run with that content once
// the recorded one is back: a limit that docs/design.md describes.
func (w *world) noteContent() {
	switch {
	case !w.recordKnowsTheConfig():
	case w.content() != w.recorded:
		if w.contradicted == 0 && !w.isAway {
			w.contradicted = w.now
		}
	default:
		w.overlook()
		if !w.marked {
			w.contradicted = 0
		}
	}
}

// overlook takes the pods for up to date that started when nobody knew that the content was
// not the recorded one.
func (w *world) overlook() {
	for i, pod := range w.pods {
		if !pod.caught && pod.started > w.recordedAt {
			w.pods[i].seen = w.content()
		}
	}
}

// loseMemory is what happens when a controller stops: what it has seen is lost, but not what
// it has marked.
func (w *world) loseMemory() {
	w.forgetful = true
	if w.joined = w.joined || w.config() == nil; w.marked {
		return
	}
	w.contradicted = 0
	for i := range w.pods {
		w.pods[i].caught = false
	}
	if w.recordKnowsTheConfig() && w.content() == w.recorded {
		w.overlook()
	}
}

// putOff puts a restart off, or lets it fail, and reports whether it did. If that is for long, the
// record is marked.
func (w *world) putOff(t *rapid.T, decision Decision) bool {
	how := rapid.SampledFrom([]string{"not", "not", "for now", "for long"}).Draw(t, "put off")
	if how == "not" {
		return false
	}
	if w.contradicted == 0 {
		w.contradicted = w.now
	}
	if how == "for long" && !w.marked {
		w.marked = true
		w.happens("record", "mark")
	} else if decision.Contradicted.IsZero() {
		w.happens("record", "put-off")
	}
	return true
}

// isMixed reports whether the content has changed so often that not all of it is remembered: a
// limit, too.
func isMixed(view catalog.View) bool {
	for _, past := range view.Past {
		if slices.ContainsFunc(past, func(p content.Past) bool { return p.Mixed }) {
			return true
		}
	}
	return false
}
