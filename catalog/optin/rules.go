package optin

import (
	"path"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

// Namespace is what is kept of a Namespace: what it says about its workloads.
type Namespace struct {
	Name   string
	Choice annotation.Choice
	// IsSelected reports whether its labels match the [Rules.Selector].
	IsSelected bool
	// Since is the earliest known time by which both had come to say so, by the API server's clock in whole
	// seconds; zero if it is not known.
	Since time.Time
}

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

// isOfKubernetes reports whether a namespace is for objects of Kubernetes itself; see
// https://kubernetes.io/docs/concepts/overview/working-with-objects/namespaces/#initial-namespaces.
func isOfKubernetes(namespace string) bool { return strings.HasPrefix(namespace, "kube-") }

// IsZero reports whether the rules leave it to each workload.
func (r *Rules) IsZero() bool {
	return !r.NeedNamespaces() && len(r.Ignored) == 0 && len(r.Dialects) == 0
}

// ReadNamespace reduces the metadata of a Namespace to what is kept of it.
func (r *Rules) ReadNamespace(meta *metav1.ObjectMeta) Namespace {
	n := Namespace{Name: meta.Name, Choice: annotation.ChoiceOf(meta), IsSelected: r.Selector == nil || r.Selector.Matches(labels.Set(meta.Labels))}
	if n.Choice == annotation.OptsIn {
		n.Since = annotation.Earliest(annotation.OwnershipOf(meta).OfAnnotation(annotation.EnabledAnnotation))
	}
	if r.Selector != nil && n.IsSelected {
		n.Since = names.Latest(n.Since, selectedBy(meta, r.Selector))
	}
	return n
}

// Succeed takes over what is known of the previous state of a Namespace, after which the watch showed this one at the
// given time, or zero if something may have happened in between that it did not show. An annotation or a label that
// is removed leaves no time in the Namespace.
func (n *Namespace) Succeed(previous *Namespace, shown time.Time) {
	isFreed := previous.Choice == annotation.OptsOut && n.Choice == annotation.Unsaid || n.IsSelected && !previous.IsSelected
	switch {
	case previous.Choice == n.Choice && previous.IsSelected == n.IsSelected:
		n.Since = previous.Since // the owner may have written something else
	case isFreed && !n.Since.After(previous.Since):
		n.Since = names.Latest(n.Since, shown)
	}
}

// selectedBy returns the earliest known time by which labels had come to match.
func selectedBy(meta *metav1.ObjectMeta, selector labels.Selector) (by time.Time) {
	requirements, _ := selector.Requirements()
	owned := annotation.OwnershipOf(meta)
	for i := range requirements {
		by = names.Latest(by, annotation.Earliest(owned.OfLabel(requirements[i].Key())))
	}
	return by
}

// Following returns a workload that says nothing itself as it counts by what its Namespace says, or by default,
// with rules that have applied since the given time. It does not modify the workload.
func Following(w *workload.Workload, namespace *Namespace, rules time.Time) *workload.Workload {
	return w.EnabledBy(names.Latest(namespace.Since, rules))
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
