package catalog

import (
	"fmt"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubernetes-deployment-restart-controller/catalog/catalogtest"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

// manyConfigs are reduced ConfigMaps of a namespace, with four keys each.
func manyConfigs(n int) []*content.Config {
	configs := make([]*content.Config, n)
	for i := range configs {
		configs[i] = new(content.NewConfigMap(objecttest.ConfigMap(fmt.Sprintf("config-%04d", i), objecttest.ManyKeys(4, fmt.Sprint(i)))))
	}
	return configs
}

// manyWorkloads are Deployments whose records are trusted, and which refer to five configs each.
func manyWorkloads(n, configs int) []*workload.Workload {
	workloads := make([]*workload.Workload, n)
	for i := range workloads {
		container, checksums := corev1.Container{Name: "app"}, record.Checksums{}
		for step := range 5 {
			name := fmt.Sprintf("config-%04d", (i+step)%configs)
			container.EnvFrom = append(container.EnvFrom, objecttest.ReadsAll(name, false).EnvFrom...)
			checksums[objecttest.ConfigMapRef(name)] = names.Checksum(i)
		}
		d := objecttest.Deployment(container)
		d.Name = fmt.Sprintf("deployment-%04d", i)
		catalogtest.WriteRecord(d, checksums, objecttest.NoonPlus(10))
		workloads[i] = new(catalogtest.MustWorkload(d))
	}
	return workloads
}

func TestAChangeOfAWorkloadThatReferencesTheSameDoesNotListItsConfigs(t *testing.T) {
	c, w, version := New(), *manyWorkloads(1, 10)[0], 0
	allocations := testing.AllocsPerRun(100, func() {
		version++
		w.ResourceVersion = versions[version]
		if c.ObserveWorkload(w); c.references.Len() != 5 {
			t.Fatalf("%d configs are in the index", c.references.Len())
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

func TestAMountTakesLittleMemory(t *testing.T) {
	const pods = 10_000
	_, size := objecttest.Retained(func() *Catalog {
		c, all := New(), make([]*content.CSIMount, pods)
		for i := range all {
			meta := objecttest.StatusMeta(types.UID(fmt.Sprintf("0c5a4f56-8f34-4cf5-9b4b-%012d", i)))
			meta.Name = fmt.Sprintf("deployment-5d4f8c7b9f-%05d-namespace-db", i)
			all[i] = new(content.NewCSIMount(&meta, "db", catalogtest.VersionsOf([]string{"v1", "v2"})))
		}
		c.ListMounts("", all, objecttest.Noon, true, func(names.ConfigRef) {})
		return c
	})
	if t.Logf("%d bytes a mount", size/pods); size > 512*pods {
		t.Errorf("%d bytes a mount, want 512 at most", size/pods)
	}
}
