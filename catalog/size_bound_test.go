//go:build !race

package catalog

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog/catalogtest"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/catalog/template"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

// templates are pod templates that take as much memory as they can for what they count. All names have a given length.
// The configs are those of one workload.
var templates = map[string]func(config string, length int) *corev1.PodSpec{
	"variables of many containers hide keys": func(config string, length int) *corev1.PodSpec {
		return objecttest.HidingSpec(16, template.MaxHidden, 1, config, length)
	},
	"variables of one container hide keys of many configs": func(config string, length int) *corev1.PodSpec {
		return objecttest.HidingSpec(1, template.MaxHidden, 100, config, length)
	},
	"variables take one key each": func(config string, length int) *corev1.PodSpec {
		container := corev1.Container{Name: "app"}
		for i := range 4000 {
			variable := objecttest.Taken(objecttest.Sized(i, length), config+objecttest.Sized(i, length-1), objecttest.Sized(i, length), false)
			container.Env = append(container.Env, variable)
		}
		return &corev1.PodSpec{Containers: []corev1.Container{container}}
	},
	"variables take keys of one config": func(config string, length int) *corev1.PodSpec {
		container := corev1.Container{Name: "app"}
		for i := range 4000 {
			container.Env = append(container.Env, objecttest.Taken(objecttest.Sized(i, length), config, objecttest.Sized(i, length), false))
		}
		return &corev1.PodSpec{Containers: []corev1.Container{container}}
	},
	"whole configs": func(config string, length int) *corev1.PodSpec {
		container := corev1.Container{Name: "app"}
		for i := range 4000 {
			container.EnvFrom = append(container.EnvFrom, objecttest.ReadsAll(config+objecttest.Sized(i, length-1), false).EnvFrom...)
		}
		return &corev1.PodSpec{Containers: []corev1.Container{container}}
	},
	"many containers": func(config string, length int) *corev1.PodSpec {
		spec := new(corev1.PodSpec)
		for i := range 1000 {
			container := objecttest.ReadsAll(config, false)
			container.Name = objecttest.Sized(i, min(length, 63))
			spec.Containers = append(spec.Containers, container)
		}
		return spec
	},
	"mounted files": func(config string, length int) *corev1.PodSpec {
		container := corev1.Container{Name: "app"}
		for i := range 4000 {
			container.VolumeMounts = append(container.VolumeMounts, corev1.VolumeMount{Name: "v", SubPath: objecttest.Sized(i, length)})
		}
		return volumeSpec(container, config)
	},
	"mounted files far below a key": func(config string, length int) *corev1.PodSpec {
		container := corev1.Container{Name: "app"}
		for i := range 100 {
			container.VolumeMounts = append(container.VolumeMounts, corev1.VolumeMount{Name: "v", SubPath: objecttest.Sized(i, length) + "/" + strings.Repeat("x", 4000)})
		}
		return volumeSpec(container, config)
	},
	"items": func(config string, length int) *corev1.PodSpec {
		var items []corev1.KeyToPath
		for i := range 4000 {
			items = append(items, corev1.KeyToPath{Key: objecttest.Sized(i, length), Path: fmt.Sprint(i)})
		}
		return volumeSpec(objecttest.Mounts(corev1.VolumeMount{Name: "v"}), config, items...)
	},
	"many items of one key": func(config string, length int) *corev1.PodSpec {
		var items []corev1.KeyToPath
		for i := range 20_000 {
			items = append(items, corev1.KeyToPath{Key: objecttest.Sized(1, length), Path: fmt.Sprint(i)})
		}
		return volumeSpec(objecttest.Mounts(corev1.VolumeMount{Name: "v"}), config, items...)
	},
	"many items of one path": func(config string, length int) *corev1.PodSpec {
		var items []corev1.KeyToPath
		for i := range 20_000 {
			items = append(items, corev1.KeyToPath{Key: objecttest.Sized(i, length), Path: "x"})
		}
		return volumeSpec(objecttest.Mounts(corev1.VolumeMount{Name: "v"}), config, items...)
	},
}

func volumeSpec(container corev1.Container, config string, items ...corev1.KeyToPath) *corev1.PodSpec {
	return &corev1.PodSpec{Containers: []corev1.Container{container}, Volumes: []corev1.Volume{objecttest.VolumeOf(config, false, items...)}}
}

// The budget of a namespace counts sizes of workloads, and is meant to bound their memory.
func TestTheMemoryOfAWorkloadFollowsFromItsSize(t *testing.T) {
	const workloads, basis, factor = 4, 4096, 2
	for name, spec := range templates {
		t.Run(name, func(t *testing.T) {
			for _, length := range []int{4, 63, 253} {
				counted := 0
				_, size := objecttest.Retained(func() *Catalog {
					c := New()
					for i := range workloads {
						d := objecttest.Deployment(corev1.Container{})
						d.Name = fmt.Sprint("web-", i)
						d.Spec.Template.Spec = *spec(string(rune('a'+i)), length)
						w := catalogtest.MustWorkload(d)
						counted += w.Size()
						c.ObserveWorkload(w)
						runtime.GC()
					}
					return c
				})
				want := factor*workload.BytesPerReference*counted + basis*workloads
				t.Logf("names of %d bytes: %d bytes, size %d", length, size/workloads, counted/workloads)
				if int(size) > want {
					t.Errorf("names of %d bytes: %d bytes a workload, want %d at most", length, size/workloads, want/workloads)
				}
			}
		})
	}
}
