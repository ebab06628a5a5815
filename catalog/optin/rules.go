package optin

import (
	"path"
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	"kubernetes-deployment-restart-controller/catalog/annotation"
)

// Rules say which workloads count besides those that opt in themselves, and which never do. The zero value
// leaves it to each workload.
type Rules struct {
	// ByNamespace makes workloads that say nothing follow their Namespace.
	ByNamespace bool
	// ByDefault makes those count whose Namespace says nothing either. It does not affect the namespaces of
	// Kubernetes itself, unless they are among Named. ByDefault implies ByNamespace.
	ByDefault bool
	Named     []string
	// Selector, unless it is nil, selects the only Namespaces in which workloads count.
	Selector labels.Selector
	// Ignored are patterns of names of namespaces in which no workload counts; see [path.Match].
	Ignored []string
	// Dialects are the tools whose annotations count as well, in this order.
	Dialects []Dialect
}

// NeedNamespaces reports whether the rules depend on what Namespaces say.
func (r *Rules) NeedNamespaces() bool { return r.ByNamespace || r.ByDefault || r.Selector != nil }

// MayCount reports whether a workload with that choice may count, depending on its Namespace.
func (r *Rules) MayCount(choice annotation.Choice, namespace string) bool {
	return (choice == annotation.OptsIn || choice == annotation.Unsaid && (r.ByNamespace || r.ByDefault)) && !r.Ignores(namespace)
}

// Counts reports whether a workload with that choice counts. The Namespace is nil if it is not known; until it
// is, only the workload's own choice counts, and not even that if Namespaces are selected.
func (r *Rules) Counts(choice annotation.Choice, name string, namespace *Namespace) bool {
	return r.Ground(choice, name, namespace).Counts()
}

// Ignores reports whether no workload of a namespace counts.
func (r *Rules) Ignores(namespace string) bool {
	return slices.ContainsFunc(r.Ignored, func(pattern string) bool {
		matches, err := path.Match(pattern, namespace)
		return err == nil && matches
	})
}

// IsZero reports whether the rules leave it to each workload.
func (r *Rules) IsZero() bool {
	return !r.NeedNamespaces() && len(r.Ignored) == 0 && len(r.Dialects) == 0
}

// A cluster may have many workloads and configs that carry the annotations of another tool. What such an
// annotation asks for is put into the words of this package before anything reads the object: into the
// annotations that its owner would have written for this controller.

// Dialect is a tool whose annotations the controller understands besides its own.
type Dialect string

// The dialects.
const (
	Reloader Dialect = "reloader" // https://github.com/stakater/Reloader
	Wave     Dialect = "wave"     // https://github.com/wave-k8s/wave

)
