//go:build !race

package objecttest

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// Sized is a name of a given length.
func Sized(i, length int) string { return fmt.Sprintf("%0*d", length, i) }

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
