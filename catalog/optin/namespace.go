package optin

import (
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

// isOfKubernetes reports whether a namespace is for objects of Kubernetes itself; see
// https://kubernetes.io/docs/concepts/overview/working-with-objects/namespaces/#initial-namespaces.
func isOfKubernetes(namespace string) bool { return strings.HasPrefix(namespace, "kube-") }

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
