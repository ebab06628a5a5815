package decide

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/catalogtest"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

// A lost key that is made again costs a check of the pods that read Secrets, but no
// restart. The records of ConfigMaps do not depend on the key.
func TestARecordMadeWithAnotherKeyIsTrustedForConfigMapsOnly(t *testing.T) {
	other := content.NewChecksumKey([content.ChecksumKeySize]byte{1})
	begin := func(container corev1.Container) (*catalog.Catalog, *workload.Workload) {
		d := objecttest.Deployment(container)
		c := catalog.New()
		c.SetKey(catalogtest.TestKey)
		c.ObserveConfig(content.NewSecret(objecttest.Secret("tls", objecttest.Data{"a": "1"})), objecttest.Noon)
		c.ObserveConfig(content.NewConfigMap(objecttest.ConfigMap("web", objecttest.Data{"a": "1"})), objecttest.Noon)
		c.ObserveWorkload(catalogtest.MustWorkload(d))
		view, _ := c.View(objecttest.DeploymentRef("web"))
		catalogtest.WriteRecord(d, Decide(view).Checksums, objecttest.NoonPlus(10))
		w := catalogtest.MustWorkload(d)
		c.ObserveWritten(w, view.Sequence)
		if view, _ = c.View(objecttest.DeploymentRef("web")); Decide(view).Outcome != Keep {
			t.Fatalf("not settled: %+v", Decide(view))
		}
		c.SetKey(other)
		return c, &w
	}
	decide := func(c *catalog.Catalog) (Outcome, []Cause) {
		view, _ := c.View(objecttest.DeploymentRef("web"))
		decision := Decide(view)
		return decision.Outcome, withoutMoments(t, decision.Causes)
	}
	both := objecttest.ReadsAll("web", false)
	both.EnvFrom = append(both.EnvFrom, objecttest.ReadsSecret("tls").EnvFrom...)

	c, w := begin(both)
	if outcome, _ := decide(c); outcome != RecordOnly {
		t.Errorf("nothing changed: %s", outcome)
	}
	if len(w.Record.Checksums) != 2 {
		t.Error("the shared workload was modified")
	}
	c, _ = begin(both)
	c.ObserveConfig(content.NewSecret(objecttest.Secret("tls", objecttest.Data{"a": "2"})), objecttest.NoonPlus(60))
	if outcome, _ := decide(c); outcome != AskPods {
		t.Errorf("the Secret was edited: %s", outcome)
	}
	c, _ = begin(both)
	c.ObserveConfig(content.NewConfigMap(objecttest.ConfigMap("web", objecttest.Data{"a": "2"})), objecttest.NoonPlus(60))
	outcome, causes := decide(c)
	if diff := cmp.Diff([]Cause{{Config: objecttest.ConfigMapRef("web"), Keys: []string{"a"}}}, causes); outcome != Restart || diff != "" {
		t.Errorf("the ConfigMap was edited: %s, causes (-want +got):\n%s", outcome, diff)
	}
	c, _ = begin(objecttest.ReadsAll("web", false))
	if outcome, _ := decide(c); outcome != Keep {
		t.Errorf("no Secret is read: %s", outcome)
	}
}
