package catalog

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Edits of a large config in a loop must not delay others: what is done while
// the catalog is locked takes no memory, however many keys have changed.
func TestAnEditOfManyKeysIsPreparedBeforeTheCatalogIsLocked(t *testing.T) {
	const n, runs = 10000, 10
	c := New()
	c.ObserveConfig(NewConfigMap(configMap("large", manyKeys(n, "0"))), noon)
	previous := c.config(configMapRef("large"))
	var edits []*arrival
	for i := range runs + 1 { // AllocsPerRun runs once more
		a := newArrival(NewConfigMap(configMap("large", manyKeys(n, fmt.Sprint(i+1)))), noon, false)
		a.compare(previous, nil, nil)
		previous = a.config
		edits = append(edits, a)
	}
	allocations := testing.AllocsPerRun(runs, func() {
		c.moment++
		c.putConfig(edits[0])
		edits = edits[1:]
	})
	if allocations > 0 {
		t.Errorf("%.0f allocations under the lock", allocations)
	}
	for _, edit := range previous.Edits {
		if edit.Seen != c.moment {
			t.Fatalf("edit of %s at moment %d, want %d", edit.Key, edit.Seen, c.moment)
		}
	}
}

// Between the look at what was known of a config and its arrival, what was known can be
// forgotten, by another watch.
func TestAConfigThatIsForgottenWhileItsSuccessorArrivesIsNotCompared(t *testing.T) {
	c := New()
	c.ObserveWorkload(mustWorkload(deployment(readsAll("web", false))))
	c.ObserveConfig(NewConfigMap(configMap("web", data{"a": "1"})), noon)
	c.ForgetConfig(configMapRef("web"), noon)
	made := configMap("web", data{"a": "2"})
	made.ManagedFields = []metav1.ManagedFieldsEntry{owns("kubectl", noonPlus(50), "f:data/f:a")}
	a := newArrival(NewConfigMap(made), noonPlus(60), false)
	c.arrive(a)
	c.ForgetWorkload(deploymentRef("web"))
	c.moment++
	if c.putConfig(a) {
		t.Error("it is news to nobody")
	}
	want := []Edit{{Key: "a", At: noonPlus(50), Writer: "kubectl"}}
	if diff := cmp.Diff(want, c.config(configMapRef("web")).Edits, cmp.AllowUnexported(Edit{})); diff != "" {
		t.Errorf("edits (-want +got):\n%s", diff)
	}
	if configs, _ := c.Size(); configs != 1 {
		t.Errorf("%d configs", configs)
	}
}
