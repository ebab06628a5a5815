package catalog

import (
	"testing"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/catalogtest"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/catalog/policy"
)

// asking is a ConfigMap with a hold.
func asking(why string, state objecttest.Data) content.Config {
	cm := objecttest.ConfigMap("web", state)
	cm.Annotations = objecttest.Data{annotation.HoldAnnotation: why}
	return content.NewConfigMap(cm)
}

func TestTheCatalogTakesOverThePolicyOfAConfigThoughItsContentIsUnchanged(t *testing.T) {
	c := New()
	c.ObserveWorkload(catalogtest.MustWorkload(objecttest.Deployment(objecttest.ReadsAll("web", false))))
	expect := func(step, hold string) {
		t.Helper()
		if got := c.PolicyOf(objecttest.ConfigMapRef("web")); got != (policy.ConfigPolicy{Hold: hold}) {
			t.Errorf("%s: %+v, want the hold %q", step, got, hold)
		}
	}
	expect("before it is known", "")
	listConfigs(c, names.ConfigMap, "", objecttest.ListOf(asking("listed first", objecttest.Data{"a": "1"})), objecttest.Noon, true)
	expect("listed first", "listed first")
	if c.ObserveConfig(asking("watched", objecttest.Data{"a": "1"}), objecttest.NoonPlus(10)) {
		t.Error("a change of the annotations is news")
	}
	expect("watched", "watched")
	if news, _ := listConfigs(c, names.ConfigMap, "", objecttest.ListOf(asking("listed again", objecttest.Data{"a": "1"})), objecttest.NoonPlus(20), false); len(news) > 0 {
		t.Errorf("a change of the annotations is news: %v", news)
	}
	expect("listed again", "listed again")
	c.ForgetConfig(objecttest.ConfigMapRef("web"), objecttest.NoonPlus(30))
	expect("deleted", "")
	c.ObserveConfig(asking("created again", objecttest.Data{"a": "1"}), objecttest.NoonPlus(40))
	expect("created again", "created again")
	c.ObserveConfig(content.NewConfigMap(objecttest.ConfigMap("web", objecttest.Data{"a": "1"})), objecttest.NoonPlus(50))
	expect("annotation removed", "")
}
