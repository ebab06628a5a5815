package objecttest

import (
	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/names"
)

// OthersFlags is the ConfigMap flags of the namespace others, shared with the given namespaces.
func OthersFlags(content Data, readers string) *corev1.ConfigMap {
	cm := ConfigMap("flags", content)
	if cm.Namespace = "others"; readers != "" {
		cm.Annotations = map[string]string{annotation.ReadersAnnotation: readers}
	}
	return cm
}

var FlagsThere = names.ConfigRef{Kind: names.ConfigMap, Namespace: "others", Name: "flags"}
