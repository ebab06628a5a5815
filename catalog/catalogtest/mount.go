package catalogtest

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/template"
)

func VolumeOfClass(class string) corev1.Volume {
	return corev1.Volume{Name: "v", VolumeSource: corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{
		Driver: template.SecretsStoreDriver, VolumeAttributes: map[string]string{template.ClassAttribute: class},
	}}}
}

func VersionsOf(versions []string) (objects []content.MountedObject) {
	for i, version := range versions {
		objects = append(objects, content.MountedObject{ID: fmt.Sprintf("object-%d", i), Version: version})
	}
	return objects
}
