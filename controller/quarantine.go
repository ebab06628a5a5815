package controller

import (
	"slices"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/internal/custom"
	"kubernetes-deployment-restart-controller/internal/quarantine"
	"kubernetes-deployment-restart-controller/internal/status"
)

func nameOfConfig(ref names.ConfigRef) quarantine.Object {
	return quarantine.Object{Kind: kindOfConfig(ref.Kind).kind(), Namespace: ref.Namespace, Name: ref.Name}
}

func nameOfWorkload(ref names.WorkloadRef) quarantine.Object {
	return quarantine.Object{Kind: kindNamed(ref.Kind), Namespace: ref.Namespace, Name: ref.Name}
}

// name names the object that was observed.
func (o *observation) name() quarantine.Object {
	var object quarantine.Object
	switch {
	case o.config != nil:
		object = nameOfConfig(o.config.Ref)
	case o.mount != nil:
		object = quarantine.Object{Kind: custom.MountKind, Namespace: o.mount.Class.Namespace, Name: o.mount.Name}
	case o.namespace != nil:
		object = quarantine.Object{Kind: namespaceKind{}.kind(), Name: o.namespace.Name}
	default:
		object = nameOfWorkload(o.workload.ref)
	}
	object.ResourceVersion = o.resourceVersion
	return object
}

// workloadIn returns the workload of one of these kinds that an object is, and false if it is none.
func workloadIn(kinds []*workloadKind, o quarantine.Object) (ref names.WorkloadRef, isWorkload bool) {
	isWorkload = slices.ContainsFunc(kinds, func(k *workloadKind) bool { return k.kind() == o.Kind })
	return names.WorkloadRef{Kind: names.WorkloadKind(o.Kind.Kind), Namespace: o.Namespace, Name: o.Name}, isWorkload
}

// quarantineGap names the objects of a namespace, or of all, that are left alone after an internal error.
func quarantineGap(namespace string, left *quarantine.Set) (gap status.Gap, found bool) {
	text, since := left.Describe(namespace)
	return status.Gap{
		Text: text, Beginning: status.Beginning{Since: since.UTC()},
		Remedy: "Changes of what is left alone may restart nothing. This is a bug: report the stack in the controller's log. To make the controller try again, set any annotation on the object.",
	}, text != ""
}
