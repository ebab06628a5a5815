package catalog

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// manyConfigs are reduced ConfigMaps of a namespace, with four keys each.
func manyConfigs(n int) []*Config {
	configs := make([]*Config, n)
	for i := range configs {
		configs[i] = new(NewConfigMap(configMap(fmt.Sprintf("config-%04d", i), manyKeys(4, fmt.Sprint(i)))))
	}
	return configs
}

// manyWorkloads are Deployments whose records are trusted, and which refer to five configs each.
func manyWorkloads(n, configs int) []*Workload {
	workloads := make([]*Workload, n)
	for i := range workloads {
		container, checksums := corev1.Container{Name: "app"}, Checksums{}
		for step := range 5 {
			name := fmt.Sprintf("config-%04d", (i+step)%configs)
			container.EnvFrom = append(container.EnvFrom, readsAll(name, false).EnvFrom...)
			checksums[configMapRef(name)] = Checksum(i)
		}
		d := deployment(container)
		d.Name = fmt.Sprintf("deployment-%04d", i)
		writeRecord(d, checksums, noonPlus(10))
		workloads[i] = new(mustWorkload(d))
	}
	return workloads
}

func TestAChangeOfAWorkloadThatReferencesTheSameDoesNotListItsConfigs(t *testing.T) {
	c, w, version := New(), *manyWorkloads(1, 10)[0], 0
	allocations := testing.AllocsPerRun(100, func() {
		version++
		w.ResourceVersion = versions[version]
		if c.ObserveWorkload(w); len(c.referencing) != 5 {
			t.Fatalf("%d configs are in the index", len(c.referencing))
		}
	})
	if allocations > 1 { // that of the workload itself
		t.Errorf("%v allocations", allocations)
	}
}

// versions are resource versions in their order.
var versions = func() (versions [200]string) {
	for i := range versions {
		versions[i] = strconv.Itoa(i)
	}
	return versions
}()

// There are very many of both. Go allocates in sizes of classes, so one more byte would take 16 or
// 64 more.
func TestAConfigAndAWorkloadFitTheirSizeClasses(t *testing.T) {
	if got := unsafe.Sizeof(Config{}); got > 112 {
		t.Errorf("a config has %d bytes", got)
	}
	if got := unsafe.Sizeof(Workload{}); got > 512 {
		t.Errorf("a workload has %d bytes", got)
	}
}

func TestAMountTakesLittleMemory(t *testing.T) {
	const pods = 10_000
	_, size := retained(func() *Catalog {
		c, all := New(), make([]*Mount, pods)
		for i := range all {
			meta := statusMeta(types.UID(fmt.Sprintf("0c5a4f56-8f34-4cf5-9b4b-%012d", i)))
			meta.Name = fmt.Sprintf("deployment-5d4f8c7b9f-%05d-namespace-db", i)
			all[i] = new(NewMount(&meta, "db", versionsOf([]string{"v1", "v2"})))
		}
		c.ListMounts("", all, noon, true, func(ConfigRef) {})
		return c
	})
	if t.Logf("%d bytes a mount", size/pods); size > 512*pods {
		t.Errorf("%d bytes a mount, want 512 at most", size/pods)
	}
}

// Workloads with many variables and a few configs are the most frequent ones: the names of variables that hide keys are
// kept once, whatever refers to them.
func TestTheNamesOfVariablesDoNotCountForEachConfig(t *testing.T) {
	container := corev1.Container{Name: "app"}
	for i := range 50 {
		container.Env = append(container.Env, corev1.EnvVar{Name: fmt.Sprintf("SOME_VARIABLE_%d", i), Value: "x"})
	}
	for i := range 2 {
		container.EnvFrom = append(container.EnvFrom, readsAll(fmt.Sprint("c-", i), false).EnvFrom...)
	}
	w := mustWorkload(deployment(container))
	if len(w.References) != 2 || !w.References[0].Keys.ByRules {
		t.Fatalf("the references are %v", w.References)
	}
	if size := w.Size(); size > 16 {
		t.Errorf("it counts like %d references", size)
	}
}

// The API limits neither a subPath, whose first element is the key of a config, nor any name in a custom resource.
func TestNamesOfAnyLengthCountByTheirLength(t *testing.T) {
	const long = 100_000
	spec := corev1.PodSpec{
		Containers: []corev1.Container{{Name: "app", VolumeMounts: []corev1.VolumeMount{{Name: "v", SubPath: strings.Repeat("p", long)}}}},
		Volumes:    []corev1.Volume{volumeOf("web", false)},
	}
	references, _ := referencesOf("ns", &spec, Filter{})
	references = append(references, Reference{Config: configMapRef("web"), Container: strings.Repeat("c", long)})
	w := Workload{References: references}
	if got, want := w.Size(), 2*long/bytesPerReference; got < want {
		t.Errorf("it counts like %d references, want %d", got, want)
	}
}
