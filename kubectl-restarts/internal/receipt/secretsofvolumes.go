package receipt

import (
	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/template"
)

// credentialsOf returns the Secrets with which the node mounts the volumes of a pod. No container sees them, so no restart is due for
// them, but the mounts may break when they are revoked.
func credentialsOf(namespace string, spec *corev1.PodSpec) (references []template.Reference) {
	add := func(name string) {
		if name != "" {
			ref := names.ConfigRef{Kind: names.Secret, Namespace: namespace, Name: name}
			references = append(references, template.Reference{Config: ref, Channel: template.Volume})
		}
	}
	refer := func(to *corev1.LocalObjectReference) {
		if to != nil {
			add(to.Name)
		}
	}
	for i := range spec.Volumes {
		v := &spec.Volumes[i]
		switch {
		case v.AzureFile != nil:
			add(v.AzureFile.SecretName)
		case v.CSI != nil:
			refer(v.CSI.NodePublishSecretRef)
		case v.CephFS != nil:
			refer(v.CephFS.SecretRef)
		case v.RBD != nil:
			refer(v.RBD.SecretRef)
		case v.ISCSI != nil:
			refer(v.ISCSI.SecretRef)
		case v.FlexVolume != nil:
			refer(v.FlexVolume.SecretRef)
		case v.ScaleIO != nil:
			refer(v.ScaleIO.SecretRef)
		case v.StorageOS != nil:
			refer(v.StorageOS.SecretRef)
		case v.Cinder != nil:
			refer(v.Cinder.SecretRef)
		}
	}
	return references
}
