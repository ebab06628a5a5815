package optin

import (
	"fmt"
	"slices"

	"kubernetes-deployment-restart-controller/catalog/annotation"
)

// Ground is why a workload counts, or why it does not.
type Ground uint8

// The grounds. Those whose names begin with Enabled let a workload count.
const (
	// NotEnabled means that the workload says nothing, and that nothing else matters.
	NotEnabled Ground = iota
	// NotEnabledThere means that its Namespace says nothing either.
	NotEnabledThere
	EnabledByItself
	EnabledByNamespace
	EnabledByDefault
	DisabledByItself
	DisabledByNamespace
	// NamespaceIgnored and NamespaceNotSelected let no workload of the namespace count, whatever it says.
	NamespaceIgnored
	NamespaceNotSelected
	// NamespaceUnknown means that the Namespace decides, and is not known.
	NamespaceUnknown
)

// Ground returns why a workload with that choice counts, or why it does not. The Namespace is nil if it is not known.
func (r *Rules) Ground(choice annotation.Choice, name string, namespace *Namespace) Ground {
	switch {
	case r.Ignores(name):
		return NamespaceIgnored
	case choice == annotation.OptsOut:
		return DisabledByItself
	case choice == annotation.Unsaid && !r.ByNamespace && !r.ByDefault:
		return NotEnabled
	case namespace == nil && (choice == annotation.Unsaid || r.Selector != nil):
		return NamespaceUnknown
	case r.Selector != nil && !namespace.IsSelected:
		return NamespaceNotSelected
	case choice == annotation.OptsIn:
		return EnabledByItself
	}
	return r.groundIn(name, namespace)
}

// groundIn returns why a workload counts that says nothing itself, or why it does not.
func (r *Rules) groundIn(name string, namespace *Namespace) Ground {
	switch {
	case namespace.Choice == annotation.OptsIn:
		return EnabledByNamespace
	case namespace.Choice == annotation.OptsOut:
		return DisabledByNamespace
	case r.ByDefault && (!isOfKubernetes(name) || slices.Contains(r.Named, name)):
		return EnabledByDefault
	}
	return NotEnabledThere
}

// Counts reports whether a workload counts on this ground.
func (g Ground) Counts() bool {
	return g == EnabledByItself || g == EnabledByNamespace || g == EnabledByDefault
}

// Describe says by what a workload is enabled, such as "its Namespace", or why it is not, such as "its namespace is
// ignored by --ignore-namespace". The tools are those of [policy.Understood.By].
func (g Ground) Describe(tools string) string {
	own := "its annotation " + annotation.EnabledAnnotation
	switch g {
	case EnabledByItself:
		if tools != "" {
			return "its annotations of " + tools
		}
		return own
	case EnabledByNamespace:
		return "the annotation " + annotation.EnabledAnnotation + " of its Namespace"
	case EnabledByDefault:
		return "default (--enable-by-default)"
	case DisabledByItself:
		if tools != "" {
			return "its annotations of " + tools + " disable it"
		}
		return fmt.Sprintf("%s is not %q", own, annotation.Enabled)
	case DisabledByNamespace:
		return fmt.Sprintf("the annotation %s of its Namespace is not %q", annotation.EnabledAnnotation, annotation.Enabled)
	case NamespaceIgnored:
		return "its namespace is ignored by --ignore-namespace"
	case NamespaceNotSelected:
		return "its namespace is not selected by --namespace-selector"
	case NamespaceUnknown:
		return "what its Namespace says is not known"
	case NotEnabledThere:
		return own + " and that of its Namespace are missing"
	case NotEnabled:
	}
	return own + " is missing"
}
