package catalog

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// A forged fingerprint must not confuse the reverse index.
func TestTheIndexFollowsTheReferencesOfTemplatesWithOneFingerprint(t *testing.T) {
	c := New()
	reads := func(name, version string) Workload {
		w := mustWorkload(deployment(readsAll(name, false)))
		w.ResourceVersion, w.Template, w.PodTemplate = version, Fingerprint{}, Fingerprint{}
		return w
	}
	referencing := func(name string) []WorkloadRef { return refsOf(c.WorkloadsReferencing(configMapRef(name))) }
	c.ObserveWorkload(reads("a", "1"))
	c.ObserveWorkload(reads("b", "2"))
	if a, b := referencing("a"), referencing("b"); len(a) != 0 || !slices.Equal(b, []WorkloadRef{deploymentRef("web")}) {
		t.Errorf("referencing a: %v, b: %v; want the workload at b only", a, b)
	}
	c.ForgetWorkload(deploymentRef("web"))
	if b := referencing("b"); len(b) != 0 || len(c.referencing) != 0 {
		t.Errorf("referencing b: %v, %d entries; want none", b, len(c.referencing))
	}
}

func TestAWorkloadThatTheIndexDoesNotHaveIsRemovedWithoutHarm(t *testing.T) {
	c := New()
	c.ObserveWorkload(mustWorkload(deployment(readsAll("web", false))))
	c.unreference(configMapRef("web"), deploymentRef("another"))
	c.unreference(configMapRef("unknown"), deploymentRef("web"))
	if got := refsOf(c.WorkloadsReferencing(configMapRef("web"))); !slices.Equal(got, []WorkloadRef{deploymentRef("web")}) {
		t.Errorf("referencing: %v", got)
	}
}

func TestAWorkloadSetHoldsWhatWasAddedAndNotRemoved(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var set workloadSet
		want := map[string]bool{}
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			name := fmt.Sprint("web-", rapid.IntRange(0, 30).Draw(t, "name"))
			if rapid.Bool().Draw(t, "remove") {
				set.remove(deploymentRef(name))
				delete(want, name)
			} else if !want[name] {
				set.add(new(deploymentRef(name)))
				want[name] = true
			}
		}
		var got []string
		for ref := range set.all {
			got = append(got, ref.Name)
		}
		slices.Sort(got)
		if diff := cmp.Diff(sortedNames(want), got); diff != "" || set.len() != len(want) {
			t.Fatalf("%d workloads (-want +got):\n%s", set.len(), diff)
		}
		for ref := range set.all {
			if ref != deploymentRef(ref.Name) {
				t.Fatalf("holds %v", ref)
			}
			break
		}
	})
}
