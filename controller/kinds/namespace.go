package kinds

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kubernetes-deployment-restart-controller/catalog/dialect"
	"kubernetes-deployment-restart-controller/catalog/optin"
)

// NamespaceKind is how Namespaces are read, which are watched only if the rules need them.
type NamespaceKind struct{ Rules *optin.Rules }

// GVK is how the API names the kind.
func (NamespaceKind) GVK() schema.GroupVersionKind {
	return corev1.SchemeGroupVersion.WithKind("Namespace")
}

// Reduce reduces a Namespace to an observation.
func (k NamespaceKind) Reduce(object any) (*Observation, error) {
	namespace, isOne := object.(*corev1.Namespace)
	if !isOne {
		return nil, fmt.Errorf("reduce object: unexpected type %T, want Namespace", object)
	}
	reduced := k.Rules.ReadNamespace(&namespace.ObjectMeta)
	mistake := NewMistake(namespace.UID, dialect.NamespaceMistakes(k.Rules, namespace))
	return &Observation{ResourceVersion: namespace.ResourceVersion, Namespace: &reduced, Mistake: mistake}, nil
}
