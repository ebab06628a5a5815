package catalog

import (
	"slices"
	"testing"

	"kubernetes-deployment-restart-controller/catalog/catalogtest"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

// A forged fingerprint must not confuse the reverse index.
func TestTheIndexFollowsTheReferencesOfTemplatesWithOneFingerprint(t *testing.T) {
	c := New()
	reads := func(name, version string) workload.Workload {
		w := catalogtest.MustWorkload(objecttest.Deployment(objecttest.ReadsAll(name, false)))
		w.ResourceVersion, w.Template, w.PodTemplate = version, record.Fingerprint{}, record.Fingerprint{}
		return w
	}
	referencing := func(name string) []names.WorkloadRef {
		return catalogtest.RefsOf(c.WorkloadsReferencing(objecttest.ConfigMapRef(name)))
	}
	c.ObserveWorkload(reads("a", "1"))
	c.ObserveWorkload(reads("b", "2"))
	if a, b := referencing("a"), referencing("b"); len(a) != 0 || !slices.Equal(b, []names.WorkloadRef{objecttest.DeploymentRef("web")}) {
		t.Errorf("referencing a: %v, b: %v; want the workload at b only", a, b)
	}
	c.ForgetWorkload(objecttest.DeploymentRef("web"))
	if b := referencing("b"); len(b) != 0 || c.references.Len() != 0 {
		t.Errorf("referencing b: %v, %d entries; want none", b, c.references.Len())
	}
}
