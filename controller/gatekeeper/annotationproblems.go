package gatekeeper

import (
	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/policy"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/controller/wording"
)

// What is wrong with the annotations by which people say when restarts may begin.

// ProblemOf describes which annotations of a workload cannot be used; empty if there are none.
func (g *Gatekeeper) ProblemOf(w *workload.Workload) string {
	if w.Policy == nil {
		return ""
	}
	return wording.JoinProblems(w.Policy.Problem, g.problemOfMethod(w), g.windows.problem(w.Policy.Window))
}

// problemOfMethod describes why a workload cannot restart as it asks for, empty if it can.
func (g *Gatekeeper) problemOfMethod(w *workload.Workload) string {
	switch {
	case w.Policy.Method != policy.ByEviction, w.RestartsItself():
		return ""
	case w.Ref.Kind.IsCustom():
		return "annotation " + annotation.MethodAnnotation + ": workloads of this kind do not restart by eviction, so restarts wait"
	case !g.Evicts:
		return "annotation " + annotation.MethodAnnotation + ": the controller runs without the flag --evict, so restarts wait"
	}
	return ""
}

// ProblemOfConfig does so for a config, except for [Gatekeeper.ProblemOfResume].
func (g *Gatekeeper) ProblemOfConfig(policy *policy.ConfigPolicy) string {
	return wording.JoinProblems(policy.Problem, g.windows.problem(policy.Window))
}

// ProblemOfResume is [gate.ProblemOfResume] of the halts that are known.
func (g *Gatekeeper) ProblemOfResume(ref names.ConfigRef, id string) string {
	if id == "" { // as nearly always
		return ""
	}
	set := g.Catalog.PolicyOf(ref).ResumeSet
	names := append(g.Catalog.NamesElsewhere(ref), ref, gate.GroupOf(ref.Kind, ref.Name))
	g.Mu.Lock()
	defer g.Mu.Unlock()
	return gate.ProblemOfResume(ref, id, set, func(yield func(*gate.Halt) bool) {
		for _, name := range names {
			for _, h := range g.Ledger.HaltsOf(name) {
				if !yield(h) {
					return
				}
			}
		}
	})
}
