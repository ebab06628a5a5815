package wording

import (
	"fmt"
	"strings"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/optin"
	"kubernetes-deployment-restart-controller/catalog/policy"
	"kubernetes-deployment-restart-controller/catalog/template"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/controller/kinds"
	"kubernetes-deployment-restart-controller/internal/status"
)

// Hold describes what else must happen if the patch alone does not restart the
// pods. It is empty if the pods restart by themselves.
func Hold(w *workload.Workload) string {
	kind := strings.ToLower(string(w.Ref.Kind))
	if w.Ref.Kind.IsCustom() {
		kind = "workload"
	}
	switch w.Hold {
	case workload.Paused:
		return fmt.Sprintf(". The %s is paused: its pods restart when it is resumed", kind)
	case workload.OnDelete:
		return fmt.Sprintf(". The update strategy of the %s is OnDelete: each pod restarts when it is deleted", kind)
	case workload.Untriggered:
		return ". It has no trigger of the type ConfigChange: its pods restart with its next rollout"
	case workload.InPlace:
		return ". The restart is held: " + w.Hold.Prevents()
	case workload.Partitioned, workload.PartlyPartitioned:
		if w.Ref.Kind.IsCustom() {
			return ". The workload has a partition: some of its pods keep running until it is lowered"
		}
		return fmt.Sprintf(". The %s has a partition: pods with an ordinal below it keep running until it is lowered", kind)
	}
	return ""
}

// Method says how the pods restart, empty if their template restarts them.
func Method(w *workload.Workload) string {
	switch {
	case w.RestartsItself():
		return ". Argo Rollouts replaces its pods (.spec.restartAt)"
	case w.Method() == policy.ByEviction:
		return ". Its pods are evicted one after the other"
	}
	return ""
}

// TooManyReferences describes what to do about a workload that refers to configs too
// often. It is empty for other workloads.
func TooManyReferences(w *workload.Workload) string {
	switch w.Excess {
	case workload.NoExcess:
		return ""
	case workload.NamespaceFull:
		return fmt.Sprintf(status.NotRestarted+"the workloads of its namespace together have more than %d references to "+
			"ConfigMaps and Secrets, and those with the most are left alone. Use fewer configs, or one envFrom or whole volume where it reads many single keys of a config",
			MaxReferencesOfNamespace)
	}
	return fmt.Sprintf(status.NotRestarted+"its pod template has more than %d references to ConfigMaps and Secrets. "+
		"Use fewer configs, or one envFrom or whole volume where it reads many single keys of a config", template.MaxReferences)
}

// NothingRuns says why nothing restarts for an edit, and what to do if pods run that this workload does not want itself.
const NothingRuns = "a config has changed, and nothing restarts, because this workload wants no pods: those that it gets later read the new content. " +
	"If another controller makes pods from its pod template, as Argo Rollouts does with .spec.workloadRef, and Flagger, " +
	"and does not act on the edit itself, restart those with kubectl rollout restart on this workload"

// Disabled describes why config changes no longer restart a workload, given the tools whose annotations count as
// well.
func Disabled(w *kinds.WorkloadObservation, dialects []optin.Dialect) string {
	message := fmt.Sprintf("config changes no longer restart this workload: its annotation %s is not %q",
		annotation.EnabledAnnotation, annotation.Enabled)
	for _, dialect := range dialects {
		message += fmt.Sprintf(", and no annotation of %s enables it", dialect)
	}
	if w.LastWriter != "" {
		message += fmt.Sprintf(" (last written by %s)", w.LastWriter)
	}
	return message
}

// ConfigName names a config as kubectl does in the namespace of the config.
func ConfigName(ref names.ConfigRef) string {
	if gate.IsGroup(ref) {
		return ref.String()
	}
	return ref.NameWithin()
}

// WorkloadName names a workload as kubectl does in the namespace of the workload.
func WorkloadName(ref names.WorkloadRef) string {
	return strings.ToLower(string(ref.Kind)) + "/" + ref.Name
}

// WorkloadNames names workloads as kubectl does in their namespaces.
func WorkloadNames(refs []names.WorkloadRef) string {
	names := make([]string, 0, len(refs))
	for _, ref := range refs {
		names = append(names, WorkloadName(ref))
	}
	return strings.Join(names, ", ")
}

// ReleaseCommand returns the command that removes the hold of a workload or a config.
func ReleaseCommand(on fmt.Stringer) string {
	var namespace, name string
	switch on := on.(type) {
	case names.WorkloadRef:
		namespace, name = on.Namespace, WorkloadName(on)
	case names.ConfigRef:
		source := on.Source() // whose owner decides
		namespace, name = source.Namespace, ConfigName(source)
	}
	return fmt.Sprintf("kubectl annotate -n %s %s %s-", namespace, name, annotation.HoldAnnotation)
}

// RemedyFor says what else must happen after a restart has failed; empty if the next restart replaces
// the pods. See https://kubernetes.io/docs/concepts/workloads/controllers/statefulset/#forced-rollback.
func RemedyFor(w *workload.Workload) string {
	if w.Ref.Kind != names.StatefulSet {
		return ""
	}
	return ". Unless its podManagementPolicy is Parallel, a StatefulSet does not replace a broken pod: when the config is right again, delete the pod"
}

// MaxReferencesOfNamespace is how often the workloads of a namespace may refer to configs together, those apart that do
// so [optedin.LittleSize] times at most. Anyone may create many workloads, each with as many references as one may have. Above
// the limit, those with the most references are left alone.
const MaxReferencesOfNamespace = 100_000

// JoinProblems joins those that are not empty.
func JoinProblems(problems ...string) string {
	all := problems[:0]
	for _, problem := range problems {
		if problem != "" {
			all = append(all, problem)
		}
	}
	return strings.Join(all, "; ")
}
