package objecttest

import (
	"fmt"
	"runtime"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// ManyVariables is a Deployment with one container and so many variables, each of which is a
// key of a config, as the function names them.
func ManyVariables(n int, name func(i int) (config, key string)) *appsv1.Deployment {
	container := corev1.Container{Name: "app"}
	for i := range n {
		config, key := name(i)
		container.Env = append(container.Env, corev1.EnvVar{Name: fmt.Sprint("V", i), ValueFrom: &corev1.EnvVarSource{
			ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: config}, Key: key},
		}})
	}
	return Deployment(container)
}

func KeyNamed(i int) string { return fmt.Sprintf("key-%05d", i) }

// ManyKeys is the content of a ConfigMap of so many keys.
func ManyKeys(n int, value string) Data {
	content := Data{}
	for i := range n {
		content[KeyNamed(i)] = value
	}
	return content
}

// Retained returns what a function builds and how many bytes of memory it takes.
func Retained[T any](build func() T) (T, uint64) {
	inUse := func() uint64 {
		runtime.GC()
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		return stats.HeapAlloc
	}
	before := inUse()
	made := build()
	after := inUse()
	return made, max(after, before) - before
}
