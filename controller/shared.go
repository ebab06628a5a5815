package controller

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/template"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

// A config that is shared with other namespaces has another name in each of them; see [names.ConfigRef.IsShared].
// What happens to it happens under each name.

// configsChanged queues the change of a config that has several names.
func (in *intake) configsChanged(names []names.ConfigRef, at time.Time) {
	for _, name := range names {
		in.configChanged(name, at)
	}
}

// configsGone takes in that a config has lost names that it had, unless it still has them.
func (in *intake) configsGone(names, present []names.ConfigRef) {
	for _, name := range names {
		if !slices.Contains(present, name) {
			in.configGone(name)
		}
	}
}

// policiesChanged acts on other annotations of a config that has several names.
func (in *intake) policiesChanged(names []names.ConfigRef) {
	for _, name := range names {
		in.policyChanged(name)
	}
}

// namesElsewhere returns the names that configs have in other namespaces.
func (in *intake) namesElsewhere(configs []*content.Config) map[names.ConfigRef][]names.ConfigRef {
	all := make(map[names.ConfigRef][]names.ConfigRef)
	for _, config := range configs {
		if names := in.catalog.NamesElsewhere(config.Ref); len(names) > 0 {
			all[config.Ref] = names
		}
	}
	return all
}

// sharingListed takes in with whom listed configs are shared, given the names that they had in other namespaces before
// the list: their annotations may have changed.
func (in *intake) sharingListed(before map[names.ConfigRef][]names.ConfigRef, configs []*content.Config) {
	present := in.namesElsewhere(configs)
	for _, names := range present {
		in.policiesChanged(names)
	}
	for ref, names := range before {
		in.configsGone(names, present[ref])
	}
}

// knowsConfigsOf reports whether all configs have been listed of the namespaces whose configs a workload reads.
func (r *restarter) knowsConfigsOf(ref names.WorkloadRef) bool {
	if !r.knowsConfigs(ref.Namespace) {
		return false
	}
	w := r.catalog.Workload(ref)
	return w == nil || !slices.ContainsFunc(w.References, func(reference template.Reference) bool {
		return reference.Channel == template.API && !r.knowsConfigs(reference.Config.Source().Namespace)
	})
}

// askUnknown decides again about the workloads that wait for what was not known, if they or configs that they read are in
// namespaces that have been listed. The empty name stands for all.
func (r *restarter) askUnknown(listed map[string]bool) {
	if len(listed) == 0 {
		return
	}
	for _, ref := range r.backlogs.those(func(w *backlog) bool { return w.failure.unknown != "" }) {
		w := r.catalog.Workload(ref)
		if listed[""] || listed[ref.Namespace] || w != nil && slices.ContainsFunc(w.References, func(reference template.Reference) bool {
			return reference.Channel == template.API && listed[reference.Config.Source().Namespace]
		}) {
			r.queue.Add(ref, names.ConfigRef{})
		}
	}
}

// unwatched describes which configs of other namespaces a workload names in vain, because the controller does not
// watch these namespaces; empty if there are none.
func (r *restarter) unwatched(w *workload.Workload) string {
	var namespaces []string
	for i := range w.References {
		if source := w.References[i].Config.Source(); w.References[i].Channel == template.API && !r.watches(source.Namespace) {
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
