package objecttest

import (
	"fmt"
	"runtime"
	"strings"

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

// KeyNamed is the name of a key with a number.
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

// Sized is a name of a given length.
func Sized(i, length int) string { return fmt.Sprintf("%0*d", length, i) }

// HidingSpec is a pod whose variables hide keys of configs.
func HidingSpec(containers, variables, configs int, config string, length int) *corev1.PodSpec {
	spec := new(corev1.PodSpec)
	for c := range containers {
		container := corev1.Container{Name: fmt.Sprint("c", c)}
		for i := range configs {
			container.EnvFrom = append(container.EnvFrom, ReadsAll(config+Sized(i, length-1), false).EnvFrom...)
		}
		for v := range variables {
			container.Env = append(container.Env, Literal(Sized(c*variables+v, length), "x"))
		}
		spec.Containers = append(spec.Containers, container)
	}
	return spec
}

// LongName is as long as a name may be.
var LongName = strings.Repeat("x", 253)

// EntriesOf lists so many entries of an annotation, each made with its number.
func EntriesOf(format string, count int) string {
	entries := make([]string, count)
	for i := range entries {
		entries[i] = fmt.Sprintf(format, i)
	}
	return strings.Join(entries, ",")
}
