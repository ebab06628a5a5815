package restart

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/catalog/template"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/events"
	"kubernetes-deployment-restart-controller/controller/kinds"
	"kubernetes-deployment-restart-controller/controller/tracker"
	"kubernetes-deployment-restart-controller/controller/wording"
)

// LeftOn describes what another tool has left behind on a workload; empty if there is nothing.
func LeftOn(w *workload.Workload) string {
	if w.Policy == nil {
		return ""
	}
	return w.Policy.Left
}

// reportLeftovers reports, once, what another tool has left behind on a workload. Only what harms is worth an Event.
func (r *Restarter) reportLeftovers(w *workload.Workload) {
	harmful, harmless := LeftOn(w), ""
	if harmful != "" && !w.Policy.IsLeftHarmful {
		harmful, harmless = "", harmful
	}
	if r.reportProblem(w, tracker.LeftoverProblem, events.LeftBehind, harmful, "what another tool had left behind does no harm any more") {
		r.Log.Warn("another tool has left something behind", "workload", w.Ref, "left", harmful)
	}
	if r.Table.NoteProblem(w.Ref, tracker.HarmlessProblem, harmless) && harmless != "" {
		r.Log.Info("another tool has left something behind", "workload", w.Ref, "left", harmless)
	}
}

// reportProblems reports, once, the problems of a workload that its owner has to fix, except for [kinds.Mistake].
func (r *Restarter) reportProblems(w *workload.Workload) {
	r.reportLeftovers(w)
	const fits = "config changes restart this workload again: it is no longer left alone for too many references to ConfigMaps and Secrets"
	if problem := wording.TooManyReferences(w); r.reportProblem(w, tracker.ReferenceProblem, events.TooMany, problem, fits) {
		r.Log.Warn("a workload has too many references to configs, leaving it alone", "workload", w.Ref, "problem", problem)
	}
}

// reportProblem reports a problem of a workload once, and its end, so that the last Event is true. The problem is empty if there
// is none. It returns whether there is a new one.
func (r *Restarter) reportProblem(w *workload.Workload, kind tracker.ProblemKind, reason, problem, over string) (isNew bool) {
	switch isNews := r.Table.NoteProblem(w.Ref, kind, problem); {
	case !isNews:
		return false
	case problem == "":
		r.Log.Info("a problem of a workload is over", "workload", w.Ref, "was", reason)
		r.Events.Event(kinds.ObjectReference(w), corev1.EventTypeNormal, reason, over)
		return false
	}
	r.Events.Event(kinds.ObjectReference(w), corev1.EventTypeWarning, reason, problem)
	return true
}

// reportIdle reports, once for as long as a workload wants no pods, that a config has changed and why nothing restarts. The
// message is the same for each edit, so that the next leader finds the Event of this one.
func (r *Restarter) reportIdle(w *workload.Workload, decision *decide.Decision) {
	if !w.Idle {
		r.Table.NoteProblem(w.Ref, tracker.IdleProblem, "")
		return
	}
	if decision.Unserved && r.Table.NoteProblem(w.Ref, tracker.IdleProblem, wording.NothingRuns) {
		r.Events.Event(kinds.ObjectReference(w), corev1.EventTypeNormal, events.NothingRuns, wording.NothingRuns)
	}
}

// Unwatched describes which configs of other namespaces a workload names in vain, because the controller does not
// watch these namespaces; empty if there are none.
func (r *Restarter) Unwatched(w *workload.Workload) string {
	var namespaces []string
	for i := range w.References {
		if source := w.References[i].Config.Source(); w.References[i].Channel == template.API && !r.Watches(source.Namespace) {
			namespaces = append(namespaces, source.Namespace)
		}
	}
	if len(namespaces) == 0 {
		return ""
	}
	slices.Sort(namespaces)
	return fmt.Sprintf("annotation %s: the controller does not watch configs in %s; they do not count", annotation.AlsoAnnotation,
		strings.Join(slices.Compact(namespaces), ", "))
}
