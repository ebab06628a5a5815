package facts

import (
	"slices"
	"strings"

	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/template"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

// RunKind is a kind of objects whose pods run to their end.
type RunKind string

// The kinds of runs.
const (
	CronJob RunKind = "CronJob"
	Job     RunKind = "Job"
)

// Run is a CronJob or a Job. It needs no restart, because each run reads its configs anew.
type Run struct {
	Kind       RunKind
	Namespace  string
	Name       string
	References []template.Reference
}

// NoRestart says why a CronJob or a Job is not restarted.
const NoRestart = "each run reads its configs anew"

// String names the run as kubectl does.
func (r *Run) String() string { return strings.ToLower(string(r.Kind)) + "/" + r.Name }

// Reader returns the run as a workload that reads the same.
func (r *Run) Reader() Workload {
	return Workload{Workload: workload.Workload{Object: workload.Object{References: r.References}}}
}

// Reads reports whether a container sees a key that differs in two contents of a config; each of them may be nil. What the
// controller ignores counts.
func (r *Run) Reads(ref names.ConfigRef, before, after *content.Config) bool {
	selected := content.Selections(template.ReferencesTo(r.References, ref))
	return len(content.ChangedKeys(before.SeenBy(selected), after.SeenBy(selected))) > 0
}

// Refers reports whether it refers to a config.
func (r *Run) Refers(ref names.ConfigRef) bool {
	return slices.ContainsFunc(r.References, func(to template.Reference) bool { return to.Config == ref })
}
