package restart

import (
	"slices"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/template"
	"kubernetes-deployment-restart-controller/controller/tracker"
)

// KnowsConfigsOf reports whether all configs have been listed of the namespaces whose configs a workload reads.
func (r *Restarter) KnowsConfigsOf(ref names.WorkloadRef) bool {
	if !r.KnowsConfigs(ref.Namespace) {
		return false
	}
	w := r.Catalog.Workload(ref)
	return w == nil || !slices.ContainsFunc(w.References, func(reference template.Reference) bool {
		return reference.Channel == template.API && !r.KnowsConfigs(reference.Config.Source().Namespace)
	})
}

// AskUnknown decides again about the workloads that wait for what was not known, if they or configs that they read are in
// namespaces that have been listed. The empty name stands for all.
func (r *Restarter) AskUnknown(listed map[string]bool) {
	if len(listed) == 0 {
		return
	}
	for _, ref := range r.Backlogs.Those(func(w *tracker.Backlog) bool { return w.Failure.Unknown != "" }) {
		w := r.Catalog.Workload(ref)
		if listed[""] || listed[ref.Namespace] || w != nil && slices.ContainsFunc(w.References, func(reference template.Reference) bool {
			return reference.Channel == template.API && listed[reference.Config.Source().Namespace]
		}) {
			r.Queue.Add(ref, names.ConfigRef{})
		}
	}
}
