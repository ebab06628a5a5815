package index

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"kubernetes-deployment-restart-controller/catalog/objecttest"
)

func TestAWorkloadSetHoldsWhatWasAddedAndNotRemoved(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var set workloadSet
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
