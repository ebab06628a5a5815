package quarantine

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Object names an API object, and its version if that is known.
type Object struct {
	Kind            schema.GroupVersionKind
	Namespace, Name string
	UID             types.UID
	ResourceVersion string
	// Controller is the UID of the object's controller, empty if it has no
	// controller.
	Controller types.UID
}

// NewObject names an object by its metadata.
func NewObject(kind schema.GroupVersionKind, meta metav1.Object) Object {
	object := Object{Kind: kind, Namespace: meta.GetNamespace(), Name: meta.GetName(), UID: meta.GetUID(), ResourceVersion: meta.GetResourceVersion()}
	if controller := metav1.GetControllerOfNoCopy(meta); controller != nil {
		object.Controller = controller.UID
	}
	return object
}

// String returns "kind/namespace/name" with the kind in lower case.
func (o Object) String() string {
	return strings.ToLower(o.Kind.Kind) + "/" + o.Namespace + "/" + o.Name
}

// Reference returns a reference to the object for an Event.
func (o Object) Reference() *corev1.ObjectReference {
	return &corev1.ObjectReference{
		APIVersion: o.Kind.GroupVersion().String(), Kind: o.Kind.Kind,
		Namespace: o.Namespace, Name: o.Name, UID: o.UID, ResourceVersion: o.ResourceVersion,
	}
}
