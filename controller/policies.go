package controller

import (
	"strings"

	"kubernetes-deployment-restart-controller/catalog"
)

// What is wrong with the annotations by which people say when restarts may begin.

// problemOf describes which annotations of a workload cannot be used; empty if there are none.
func (g *gatekeeper) problemOf(w *catalog.Workload) string {
	if w.Policy == nil {
		return ""
	}
	return joinProblems(w.Policy.Problem, g.windows.problem(w.Policy.Window))
}

// problemOfConfig does so for a config.
func (g *gatekeeper) problemOfConfig(ref catalog.ConfigRef) string {
	policy := g.catalog.PolicyOf(ref)
	return joinProblems(policy.Problem, g.windows.problem(policy.Window))
}

// problem describes what is wrong with a window, and what that means; empty if nothing is.
func (c *windowCache) problem(text string) string {
	if text == "" {
		return ""
	}
	if _, err := c.read(text); err != nil {
		return "annotation " + catalog.WindowAnnotation + ": " + err.Error() + ". Restarts wait until it is corrected or removed"
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
