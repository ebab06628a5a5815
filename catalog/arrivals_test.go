package catalog

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/catalogtest"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
)

// Edits of a large config in a loop must not delay others: what is done while
// the catalog is locked takes no memory, however many keys have changed.
func TestAnEditOfManyKeysIsPreparedBeforeTheCatalogIsLocked(t *testing.T) {
	const n, runs = 10000, 10
	c := New()
	c.ObserveConfig(content.NewConfigMap(objecttest.ConfigMap("large", objecttest.ManyKeys(n, "0"))), objecttest.Noon)
	previous := c.config(objecttest.ConfigMapRef("large"))
	var edits []*content.Arrival
	for i := range runs + 1 { // AllocsPerRun runs once more
		a := content.NewArrival(content.NewConfigMap(objecttest.ConfigMap("large", objecttest.ManyKeys(n, fmt.Sprint(i+1)))), objecttest.Noon, false)
		a.Compare(previous, nil, nil)
		previous = a.Config
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
	c.ObserveWorkload(catalogtest.MustWorkload(objecttest.Deployment(objecttest.ReadsAll("web", false))))
	c.ObserveConfig(content.NewConfigMap(objecttest.ConfigMap("web", objecttest.Data{"a": "1"})), objecttest.Noon)
	c.ForgetConfig(objecttest.ConfigMapRef("web"), objecttest.Noon)
	made := objecttest.ConfigMap("web", objecttest.Data{"a": "2"})
	made.ManagedFields = []metav1.ManagedFieldsEntry{objecttest.Owns("kubectl", objecttest.NoonPlus(50), "f:data/f:a")}
	a := content.NewArrival(content.NewConfigMap(made), objecttest.NoonPlus(60), false)
	c.arrive(a)
	c.ForgetWorkload(objecttest.DeploymentRef("web"))
	c.moment++
	if c.putConfig(a) {
		t.Error("it is news to nobody")
	}
	want := []annotation.Edit{{Key: "a", At: objecttest.NoonPlus(50), Writer: "kubectl"}}
	if diff := cmp.Diff(want, c.config(objecttest.ConfigMapRef("web")).Edits, cmp.AllowUnexported(annotation.Edit{})); diff != "" {
		t.Errorf("edits (-want +got):\n%s", diff)
	}
	if configs, _ := c.Size(); configs != 1 {
		t.Errorf("%d configs", configs)
	}
}
