package catalog

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

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
	if b := referencing("b"); len(b) != 0 || len(c.Referencing) != 0 {
		t.Errorf("referencing b: %v, %d entries; want none", b, len(c.Referencing))
	}
}

func TestAWorkloadThatTheIndexDoesNotHaveIsRemovedWithoutHarm(t *testing.T) {
	c := New()
	c.ObserveWorkload(catalogtest.MustWorkload(objecttest.Deployment(objecttest.ReadsAll("web", false))))
	c.unreference(objecttest.ConfigMapRef("web"), objecttest.DeploymentRef("another"))
	c.unreference(objecttest.ConfigMapRef("unknown"), objecttest.DeploymentRef("web"))
	if got := catalogtest.RefsOf(c.WorkloadsReferencing(objecttest.ConfigMapRef("web"))); !slices.Equal(got, []names.WorkloadRef{objecttest.DeploymentRef("web")}) {
		t.Errorf("referencing: %v", got)
	}
}

func TestAWorkloadSetHoldsWhatWasAddedAndNotRemoved(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var set WorkloadSet
		want := map[string]bool{}
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			name := fmt.Sprint("web-", rapid.IntRange(0, 30).Draw(t, "name"))
			if rapid.Bool().Draw(t, "remove") {
				set.remove(objecttest.DeploymentRef(name))
				delete(want, name)
			} else if !want[name] {
				set.add(new(objecttest.DeploymentRef(name)))
				want[name] = true
			}
		}
		var got []string
		for ref := range set.all {
			got = append(got, ref.Name)
		}
		slices.Sort(got)
		if diff := cmp.Diff(objecttest.SortedNames(want), got); diff != "" || set.len() != len(want) {
			t.Fatalf("%d workloads (-want +got):\n%s", set.len(), diff)
		}
		for ref := range set.all {
			if ref != objecttest.DeploymentRef(ref.Name) {
				t.Fatalf("holds %v", ref)
			}
			break
		}
	})
}
