package catalog

import (
	"maps"
	"slices"
	"testing"

	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
)

func TestALargeConfigThatIsEditedByTwoKeepsWhenTheOldestEditsWere(t *testing.T) {
	cm := editedManyKeys(content.MaxEdits+100, "1", objecttest.NoonPlus(100))
	last := objecttest.Owns("another", objecttest.NoonPlus(200), "f:data/f:"+slices.Min(slices.Collect(maps.Keys(cm.Data))))
	cm.ManagedFields = append(cm.ManagedFields, last)
	for name, show := range map[string]func(*Catalog, content.Config){
		"an event": func(c *Catalog, config content.Config) { c.ObserveConfig(config, objecttest.NoonPlus(300)) },
		"the first list": func(c *Catalog, config content.Config) {
			c.ListConfigs(names.ConfigMap, "", []*content.Config{&config}, objecttest.NoonPlus(300), true, func(names.ConfigRef) {})
		},
	} {
		c := New()
		show(c, content.NewConfigMap(cm))
		edits := c.Config(objecttest.ConfigMapRef(cm.Name)).Edits
		if len(edits) != content.MaxEdits+1 || !edits[0].At.Equal(objecttest.NoonPlus(100)) || edits[0].Key != "" {
			t.Errorf("%s: %d edits, first %+v, want %d and one of any key at %v", name, len(edits), edits[0], content.MaxEdits+1, objecttest.NoonPlus(100))
		}
	}
}
