//go:build !race

package catalog

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// sized is a name of a given length.
func sized(i, length int) string { return fmt.Sprintf("%0*d", length, i) }

// templates are pod templates that take as much memory as they can for what they count. All names have a given length.
// The configs are those of one workload.
var templates = map[string]func(config string, length int) *corev1.PodSpec{
	"variables of many containers hide keys": func(config string, length int) *corev1.PodSpec {
		return hidingSpec(16, maxHidden, 1, config, length)
	},
	"variables of one container hide keys of many configs": func(config string, length int) *corev1.PodSpec {
		return hidingSpec(1, maxHidden, 100, config, length)
	},
	"variables take one key each": func(config string, length int) *corev1.PodSpec {
		container := corev1.Container{Name: "app"}
		for i := range 4000 {
			variable := taken(sized(i, length), config+sized(i, length-1), sized(i, length), false)
			container.Env = append(container.Env, variable)
		}
		return &corev1.PodSpec{Containers: []corev1.Container{container}}
	},
	"variables take keys of one config": func(config string, length int) *corev1.PodSpec {
		container := corev1.Container{Name: "app"}
		for i := range 4000 {
			container.Env = append(container.Env, taken(sized(i, length), config, sized(i, length), false))
		}
		return &corev1.PodSpec{Containers: []corev1.Container{container}}
	},
	"whole configs": func(config string, length int) *corev1.PodSpec {
		container := corev1.Container{Name: "app"}
		for i := range 4000 {
			container.EnvFrom = append(container.EnvFrom, readsAll(config+sized(i, length-1), false).EnvFrom...)
		}
		return &corev1.PodSpec{Containers: []corev1.Container{container}}
	},
	"many containers": func(config string, length int) *corev1.PodSpec {
		spec := new(corev1.PodSpec)
		for i := range 1000 {
			container := readsAll(config, false)
			container.Name = sized(i, min(length, 63))
			spec.Containers = append(spec.Containers, container)
		}
		return spec
	},
	"mounted files": func(config string, length int) *corev1.PodSpec {
		container := corev1.Container{Name: "app"}
		for i := range 4000 {
			container.VolumeMounts = append(container.VolumeMounts, corev1.VolumeMount{Name: "v", SubPath: sized(i, length)})
		}
		return volumeSpec(container, config)
	},
	"mounted files far below a key": func(config string, length int) *corev1.PodSpec {
		container := corev1.Container{Name: "app"}
		for i := range 100 {
			container.VolumeMounts = append(container.VolumeMounts, corev1.VolumeMount{Name: "v", SubPath: sized(i, length) + "/" + strings.Repeat("x", 4000)})
		}
		return volumeSpec(container, config)
	},
	"items": func(config string, length int) *corev1.PodSpec {
		var items []corev1.KeyToPath
		for i := range 4000 {
			items = append(items, corev1.KeyToPath{Key: sized(i, length), Path: fmt.Sprint(i)})
		}
		return volumeSpec(mounts(corev1.VolumeMount{Name: "v"}), config, items...)
	},
	"many items of one key": func(config string, length int) *corev1.PodSpec {
		var items []corev1.KeyToPath
		for i := range 20_000 {
			items = append(items, corev1.KeyToPath{Key: sized(1, length), Path: fmt.Sprint(i)})
		}
		return volumeSpec(mounts(corev1.VolumeMount{Name: "v"}), config, items...)
	},
	"many items of one path": func(config string, length int) *corev1.PodSpec {
		var items []corev1.KeyToPath
		for i := range 20_000 {
			items = append(items, corev1.KeyToPath{Key: sized(i, length), Path: "x"})
		}
		return volumeSpec(mounts(corev1.VolumeMount{Name: "v"}), config, items...)
	},
}

func hidingSpec(containers, variables, configs int, config string, length int) *corev1.PodSpec {
	spec := new(corev1.PodSpec)
	for c := range containers {
		container := corev1.Container{Name: fmt.Sprint("c", c)}
		for i := range configs {
			container.EnvFrom = append(container.EnvFrom, readsAll(config+sized(i, length-1), false).EnvFrom...)
		}
		for v := range variables {
			container.Env = append(container.Env, literal(sized(c*variables+v, length), "x"))
		}
		spec.Containers = append(spec.Containers, container)
	}
	return spec
}

func volumeSpec(container corev1.Container, config string, items ...corev1.KeyToPath) *corev1.PodSpec {
	return &corev1.PodSpec{Containers: []corev1.Container{container}, Volumes: []corev1.Volume{volumeOf(config, false, items...)}}
}

// The budget of a namespace counts sizes of workloads, and is meant to bound their memory.
func TestTheMemoryOfAWorkloadFollowsFromItsSize(t *testing.T) {
	const workloads, basis, factor = 4, 4096, 2
	for name, spec := range templates {
		t.Run(name, func(t *testing.T) {
			for _, length := range []int{4, 63, 253} {
				counted := 0
				_, size := retained(func() *Catalog {
					c := New()
					for i := range workloads {
						d := deployment(corev1.Container{})
						d.Name = fmt.Sprint("web-", i)
						d.Spec.Template.Spec = *spec(string(rune('a'+i)), length)
						w := mustWorkload(d)
						counted += w.Size()
						c.ObserveWorkload(w)
						runtime.GC()
					}
					return c
				})
				want := factor*bytesPerReference*counted + basis*workloads
				t.Logf("names of %d bytes: %d bytes, size %d", length, size/workloads, counted/workloads)
				if int(size) > want {
					t.Errorf("names of %d bytes: %d bytes a workload, want %d at most", length, size/workloads, want/workloads)
				}
			}
		})
	}
}

// Each event of a workload reads it anew.
func BenchmarkReadAWorkloadOfManyHiddenKeys(b *testing.B) {
	d := deployment(corev1.Container{})
	d.Spec.Template.Spec = *hidingSpec(16, maxHidden, 1, "a", 18)
	b.ReportAllocs()
	for b.Loop() {
		mustWorkload(d)
	}
}
