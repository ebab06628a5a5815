package catalog

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog/catalogtest"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/catalog/record"
)

var classDB = names.ConfigRef{Kind: names.SecretProviderClass, Namespace: "ns", Name: "db"}

func listMounts(c *Catalog, seconds float64, first bool, mounts ...content.CSIMount) {
	c.ListMounts("", objecttest.ListOf(mounts...), objecttest.NoonPlus(seconds), first, func(names.ConfigRef) {})
}

// withMounts knows a Deployment that mounts the class db, and its pod a.
func withMounts() *Catalog {
	c := New()
	c.SetKey(catalogtest.TestKey)
	listMounts(c, 1, true, catalogtest.MountIn("a", "v1"))
	c.ObserveWorkload(catalogtest.MustWorkload(objecttest.Deployment(objecttest.Mounts(corev1.VolumeMount{Name: "v"}), catalogtest.VolumeOfClass("db"))))
	return c
}

// Otherwise a slow start would count workloads that still have the earlier versions.
func TestOnlyWorkloadsThatRestartedForARotationRunWithIt(t *testing.T) {
	c := withMounts()
	c.ObserveMount(catalogtest.MountIn("a", "v2"), objecttest.NoonPlus(100))
	rotated := newSpread(c.Config(classDB), c.Sequence(), catalogtest.TestKey, new(content.WholeChecksums))
	w := *c.Workload(objecttest.DeploymentRef("web"))
	if _, has := rotated.hasReached(&w); has {
		t.Error("it counts before its restart")
	}
	w.Record.RestartedFor, w.Record.Written = []record.Restarted{{Config: classDB}}, objecttest.NoonPlus(101)
	if _, has := rotated.hasReached(&w); !has {
		t.Error("it does not count after its restart")
	}
	if c.MissedEdit(&w, classDB) {
		t.Error("it seems to have missed an edit")
	}
}

func TestNothingIsKeptOfMountsAndClassesThatAreGone(t *testing.T) {
	c := withMounts()
	c.ObserveMount(catalogtest.MountIn("a", "v2"), objecttest.NoonPlus(100))
	c.ObserveMount(catalogtest.MountIn("b", "v2"), objecttest.NoonPlus(101))
	c.ForgetMount(catalogtest.MountIn("a", "v2"))
	listMounts(c, 200, false)
	if !c.HasConfig(classDB) {
		t.Error("the class is gone, although a workload references it")
	}
	c.ForgetWorkload(objecttest.DeploymentRef("web"))
	if m := c.mounts; c.configs.Len()+len(m.byName)+len(m.byClass)+len(m.readSince) != 0 {
		t.Errorf("%d configs are left, and %v", c.configs.Len(), m)
	}
	c.ObserveMount(catalogtest.MountIn("a", "v1"), objecttest.NoonPlus(300))
	c.ForgetMount(catalogtest.MountIn("a", "v1"))
	if configs, _ := c.Size(); configs != 0 {
		t.Errorf("%d configs are left", configs)
	}
}
