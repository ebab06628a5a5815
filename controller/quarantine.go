package controller

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

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

// panicked counts a panic and creates an Event for the owner of the object that caused it.
// If the catalog could not take in a workload, it forgets the workload until it can,
// because its knowledge of the workload is outdated or incomplete. A config stays known as
// it was.
func (c *Controller) panicked(place quarantine.Place, o quarantine.Object) {
	c.metrics.panics.WithLabelValues(string(place)).Inc()
	if o.Name == "" {
		return // it was a list
	}
	c.recorder.Eventf(o.Reference(), corev1.EventTypeWarning, reasonInternalError,
		"internal error: the controller leaves this object alone until it changes; the log has the details")
	if ref, isWorkload := c.workloadNamed(o); place == quarantine.Intake && isWorkload {
		c.catalog.PurgeWorkload(ref)
		c.changes.Forget(ref)
		c.restarter.Forget(ref)
		c.staleness.noteWorkload(ref)
	}
}

// workloadNamed returns the workload that an object is, and false if it is none.
func (c *Controller) workloadNamed(o quarantine.Object) (ref names.WorkloadRef, isWorkload bool) {
	isWorkload = slices.ContainsFunc(c.kinds, func(k *workloadKind) bool { return k.kind() == o.Kind })
	return names.WorkloadRef{Kind: names.WorkloadKind(o.Kind.Kind), Namespace: o.Namespace, Name: o.Name}, isWorkload
}

// quarantineGap names the objects of a namespace, or of all, that are left alone after an internal error.
func (c *Controller) quarantineGap(namespace string) (gap status.Gap, found bool) {
	text, since := c.quarantine.Describe(namespace)
	return status.Gap{
		Text: text, Beginning: status.Beginning{Since: since.UTC()},
		Remedy: "Changes of what is left alone may restart nothing. This is a bug: report the stack in the controller's log. To make the controller try again, set any annotation on the object.",
	}, text != ""
}
