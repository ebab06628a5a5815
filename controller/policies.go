package controller

import (
	"strings"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/policy"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/gate"
)

// What is wrong with the annotations by which people say when restarts may begin.

// problemOf describes which annotations of a workload cannot be used; empty if there are none.
func (g *gatekeeper) problemOf(w *workload.Workload) string {
	if w.Policy == nil {
		return ""
	}
	return joinProblems(w.Policy.Problem, g.problemOfMethod(w), g.windows.problem(w.Policy.Window))
}

// problemOfMethod describes why a workload cannot restart as it asks for, empty if it can.
func (g *gatekeeper) problemOfMethod(w *workload.Workload) string {
	switch {
	case w.Method() != policy.ByEviction, w.RestartsItself():
		return ""
	case w.Ref.Kind.IsCustom():
		return "annotation " + annotation.MethodAnnotation + ": workloads of this kind do not restart by eviction, so restarts wait"
	case !g.evicts:
		return "annotation " + annotation.MethodAnnotation + ": the controller runs without the flag --evict, so restarts wait"
	}
	return ""
}

// leftOn describes what another tool has left behind on a workload; empty if there is nothing.
func leftOn(w *workload.Workload) string {
	if w.Policy == nil {
		return ""
	}
	return w.Policy.Left
}

// reportLeftovers reports, once, what another tool has left behind on a workload. Only what harms is worth an Event.
func (r *restarter) reportLeftovers(w *workload.Workload) {
	harmful, harmless := leftOn(w), ""
	if harmful != "" && !w.Policy.IsLeftHarmful {
		harmful, harmless = "", harmful
	}
	if r.reportProblem(w, leftoverProblem, reasonLeftBehind, harmful, "what another tool had left behind does no harm any more") {
		r.log.Warn("another tool has left something behind", "workload", w.Ref, "left", harmful)
	}
	if r.journal.noteProblem(w.Ref, harmlessProblem, harmless) && harmless != "" {
		r.log.Info("another tool has left something behind", "workload", w.Ref, "left", harmless)
	}
}

// problemOfConfig does so for a config, except for [gatekeeper.problemOfResume].
func (g *gatekeeper) problemOfConfig(policy *policy.ConfigPolicy) string {
	return joinProblems(policy.Problem, g.windows.problem(policy.Window))
}

// problemOfResume is [gate.ProblemOfResume] of the halts that are known.
func (g *gatekeeper) problemOfResume(ref names.ConfigRef, id string) string {
	if id == "" { // as nearly always
		return ""
	}
	set := g.catalog.PolicyOf(ref).ResumeSet
	names := append(g.catalog.NamesElsewhere(ref), ref, gate.GroupOf(ref.Kind, ref.Name))
	g.mu.Lock()
	defer g.mu.Unlock()
	return gate.ProblemOfResume(ref, id, set, func(yield func(*gate.Halt) bool) {
		for _, name := range names {
			for _, h := range g.ledger.HaltsOf(name) {
				if !yield(h) {
					return
				}
			}
		}
	})
}

// problem describes what is wrong with a window, and what that means; empty if nothing is.
func (c *windowCache) problem(text string) string {
	if text == "" {
		return ""
	}
	if _, err := c.read(text); err != nil {
		return policy.WindowProblem(err)
	}
	return ""
}

func joinProblems(problems ...string) string {
	all := problems[:0]
	for _, problem := range problems {
		if problem != "" {
			all = append(all, problem)
		}
	}
	return strings.Join(all, "; ")
}
