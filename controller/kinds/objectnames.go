package kinds

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/internal/custom"
	"kubernetes-deployment-restart-controller/internal/quarantine"
)

// ObjectReference names a workload as the object of an Event.
func ObjectReference(w *workload.Workload) runtime.Object {
	version, kind := kindNamed(w.Ref.Kind).ToAPIVersionAndKind()
	return &corev1.ObjectReference{
		APIVersion:      version,
		Kind:            kind,
		Namespace:       w.Ref.Namespace,
		Name:            w.Ref.Name,
		UID:             w.UID,
		ResourceVersion: w.ResourceVersion,
	}
}

// NameOfConfig names the object that a config is.
func NameOfConfig(ref names.ConfigRef) quarantine.Object {
	return quarantine.Object{Kind: KindOfConfig(ref.Kind).GVK(), Namespace: ref.Namespace, Name: ref.Name}
}

// NameOfWorkload names the object that a workload is.
func NameOfWorkload(ref names.WorkloadRef) quarantine.Object {
	return quarantine.Object{Kind: kindNamed(ref.Kind), Namespace: ref.Namespace, Name: ref.Name}
}

// Name names the object that was observed.
func (o *Observation) Name() quarantine.Object {
	var object quarantine.Object
	switch {
	case o.Config != nil:
		object = NameOfConfig(o.Config.Ref)
	case o.Mount != nil:
		object = quarantine.Object{Kind: custom.MountKind, Namespace: o.Mount.Class.Namespace, Name: o.Mount.Name}
	case o.Namespace != nil:
		object = quarantine.Object{Kind: NamespaceKind{}.GVK(), Name: o.Namespace.Name}
	default:
		object = NameOfWorkload(o.Workload.Ref)
	}
	object.ResourceVersion = o.ResourceVersion
	return object
}

// WorkloadIn returns the workload of one of these kinds that an object is, and false if it is none.
func WorkloadIn(kinds []*WorkloadKind, o quarantine.Object) (ref names.WorkloadRef, isWorkload bool) {
	isWorkload = slices.ContainsFunc(kinds, func(k *WorkloadKind) bool { return k.GVK() == o.Kind })
	return names.WorkloadRef{Kind: names.WorkloadKind(o.Kind.Kind), Namespace: o.Namespace, Name: o.Name}, isWorkload
}

// ReferenceTo names a workload as the object of an Event.
func ReferenceTo(ref names.WorkloadRef, uid types.UID) runtime.Object {
	return ObjectReference(&workload.Workload{Object: workload.Object{Ref: ref, UID: uid}})
}
