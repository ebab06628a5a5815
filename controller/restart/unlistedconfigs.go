package restart

import (
	"fmt"
	"slices"
	"strings"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/template"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/pending"
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
	for _, ref := range r.Backlogs.Those(func(w *pending.Backlog) bool { return w.Failure.Unknown != "" }) {
		w := r.Catalog.Workload(ref)
		if listed[""] || listed[ref.Namespace] || w != nil && slices.ContainsFunc(w.References, func(reference template.Reference) bool {
			return reference.Channel == template.API && listed[reference.Config.Source().Namespace]
		}) {
			r.Queue.Add(ref, names.ConfigRef{})
		}
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
