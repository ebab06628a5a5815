package main

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Each workload is enabled by its own annotation, but for those of one namespace. These are enabled by
// the annotation of their Namespace, and their own opts out.

const (
	enabledAnnotation = "com.xing.deployment-restart"
	enabled           = "enabled"
	disabled          = "disabled"
)

// enabledNamespace is the one with the annotation.
var enabledNamespace = namespaceOf(namespaceCount - 1)

// annotateNamespace sets the annotations of a Namespace.
func annotateNamespace(meta *metav1.ObjectMeta) {
	if meta.Name == enabledNamespace {
		meta.Annotations = map[string]string{enabledAnnotation: enabled}
	}
}

// optIn returns the annotation by which a workload is enabled or is not, empty if it needs none.
func (d *workload) optIn() string {
	switch {
	case d.enabled && d.namespace != enabledNamespace:
		return enabled
	case !d.enabled && d.namespace == enabledNamespace:
		return disabled
	}
	return ""
}

// isEnabled reports whether a workload is enabled.
func isEnabled(object metav1.Object) bool {
	own, found := object.GetAnnotations()[enabledAnnotation]
	return own == enabled || !found && object.GetNamespace() == enabledNamespace
}
