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

// Anyone may name the configs of others, whether they exist or not.
func TestNothingIsKeptOfNamesThatNoWorkloadMentionsAnyMore(t *testing.T) {
	r := NewReferences()
	here := objecttest.FlagsThere.SharedIn("ns")
	r.Add(here, new(objecttest.DeploymentRef("web")))
	if got := slices.Collect(r.Elsewhere(objecttest.FlagsThere)); !slices.Equal(got, []string{"ns"}) {
		t.Errorf("it is named in %v", got)
	}
	if !r.Remove(here, objecttest.DeploymentRef("web")) {
		t.Error("somebody seems to reference the config")
	}
	if len(r.readers)+len(r.elsewhere) > 0 {
		t.Errorf("left: %v, %v", r.readers, r.elsewhere)
	}
}
