package index

import (
	"slices"
	"testing"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
)

func TestAReferenceThatTheIndexDoesNotHaveIsRemovedWithoutHarm(t *testing.T) {
	r := NewReferences()
	r.Add(objecttest.ConfigMapRef("web"), new(objecttest.DeploymentRef("web")))
	if r.Remove(objecttest.ConfigMapRef("web"), objecttest.DeploymentRef("another")) {
		t.Error("nobody seems to reference the config")
	}
	r.Remove(objecttest.ConfigMapRef("unknown"), objecttest.DeploymentRef("web"))
	if got := slices.Collect(r.To(objecttest.ConfigMapRef("web"))); !slices.Equal(got, []names.WorkloadRef{objecttest.DeploymentRef("web")}) || r.Len() != 1 {
		t.Errorf("referencing: %v of %d configs", got, r.Len())
	}
}
