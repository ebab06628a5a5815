package rollout

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// DeploymentKind is the kind of Deployments.
var DeploymentKind = appsv1.SchemeGroupVersion.WithKind("Deployment")

// Reference returns a reference to the Deployment, for Events.
func (d *Deployment) Reference() *corev1.ObjectReference {
	return &corev1.ObjectReference{
		APIVersion:      DeploymentKind.GroupVersion().String(),
		Kind:            DeploymentKind.Kind,
		Namespace:       d.Namespace,
		Name:            d.Name,
		UID:             d.UID,
		ResourceVersion: d.ResourceVersion,
	}
}
