package apiclient

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// NamespacesOrAll returns the namespaces to make requests for: the given ones or, if there
// are none, a single one that stands for all.
func NamespacesOrAll(namespaces []string) []string {
	if len(namespaces) == 0 {
		return []string{metav1.NamespaceAll}
	}
	return namespaces
}
