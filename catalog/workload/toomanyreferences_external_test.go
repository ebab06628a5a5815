package workload_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog/catalogtest"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
)

// Workloads with many variables and a few configs are the most frequent ones: the names of variables that hide keys are
// kept once, whatever refers to them.
func TestTheNamesOfVariablesDoNotCountForEachConfig(t *testing.T) {
	container := corev1.Container{Name: "app"}
	for i := range 50 {
		container.Env = append(container.Env, corev1.EnvVar{Name: fmt.Sprintf("SOME_VARIABLE_%d", i), Value: "x"})
	}
	for i := range 2 {
		container.EnvFrom = append(container.EnvFrom, objecttest.ReadsAll(fmt.Sprint("c-", i), false).EnvFrom...)
	}
	w := catalogtest.MustWorkload(objecttest.Deployment(container))
	if len(w.References) != 2 || !w.References[0].Keys.ByRules {
		t.Fatalf("the references are %v", w.References)
	}
	if size := w.Size(); size > 16 {
		t.Errorf("it counts like %d references", size)
	}
}
