//go:build !race

package catalog

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog/catalogtest"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
)

// A tenant may refer to as many configs as a namespace's budget allows, whether they exist or not.
func TestTheCatalogTakesLittleMemoryForEachReference(t *testing.T) {
	const workloads, references = 10, 9_900
	_, size := objecttest.Retained(func() *Catalog {
		c := New()
		for i := range workloads {
			container := corev1.Container{Name: "app"}
			for step := range references {
				container.EnvFrom = append(container.EnvFrom, objecttest.ReadsAll(fmt.Sprintf("c%02d-%04d", i, step), false).EnvFrom...)
			}
			d := objecttest.Deployment(container)
			d.Name = fmt.Sprintf("deployment-%04d", i)
			c.ObserveWorkload(catalogtest.MustWorkload(d))
		}
		return c
	})
	if t.Logf("%d bytes a reference", size/(workloads*references)); size > 210*workloads*references {
		t.Errorf("%d bytes a reference, want 210 at most", size/(workloads*references))
	}
}

func TestTheCatalogTakesLittleMemoryForEachConfigAndWorkload(t *testing.T) {
	const configs, workloads = 10_000, 2_000
	c, forConfigs := objecttest.Retained(func() *Catalog {
		c := New()
		listConfigs(c, names.ConfigMap, "", manyConfigs(configs), objecttest.Noon, true)
		return c
	})
	_, forWorkloads := objecttest.Retained(func() *Catalog {
		listWorkloads(c, names.Deployment, "", manyWorkloads(workloads, configs), 0)
		return c
	})
	t.Logf("%d bytes a config, %d a workload", forConfigs/configs, forWorkloads/workloads)
	if forConfigs > 230*configs || forWorkloads > 2010*workloads {
		t.Errorf("%d bytes a config and %d a workload, want 230 and 2010 at most", forConfigs/configs, forWorkloads/workloads)
	}
}
