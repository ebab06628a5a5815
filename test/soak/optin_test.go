package main

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestAWorkloadIsEnabledAsItsNamespaceWants(t *testing.T) {
	needs := map[string]int{}
	for _, namespace := range namespaces() {
		for _, want := range []bool{true, false} {
			w := &workload{namespace: namespace, enabled: want}
			meta := w.meta()
			if got := isEnabled(&meta); got != want {
				t.Errorf("in %s, %v enables: %t", namespace, meta.Annotations, got)
			}
			if _, found := meta.Annotations[enabledAnnotation]; found {
				needs[namespace]++
			}
		}
		meta := metav1.ObjectMeta{Name: namespace}
		if annotateNamespace(&meta); (meta.Annotations != nil) != (namespace == enabledNamespace) {
			t.Errorf("the Namespace %s has %v", namespace, meta.Annotations)
		}
	}
	if len(needs) != len(namespaces()) {
		t.Errorf("annotations by namespace: %v", needs)
	}
}
