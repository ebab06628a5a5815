package catalog

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"

	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
)

// What is kept of a key is its name and its checksum, however often somebody edits it and however many field managers own
// it. The edits of a config are limited.
func TestWhatIsKeptOfAConfigGrowsWithItsKeysOnly(t *testing.T) {
	const n, managers, perKey = 20000, 10, 56
	edited := func(c *Catalog) {
		for i := range 3 {
			c.ObserveConfig(content.NewConfigMap(objecttest.ConfigMap("large", objecttest.ManyKeys(n, fmt.Sprint(i)))), objecttest.NoonPlus(float64(i)))
		}
	}
	owned := func(c *Catalog) {
		cm := editedManyKeys(n, "1", objecttest.NoonPlus(10))
		for i := range managers {
			entry := cm.ManagedFields[0]
			entry.Manager = fmt.Sprint("manager-", i)
			cm.ManagedFields = append(cm.ManagedFields, entry)
		}
		c.ObserveConfig(content.NewConfigMap(cm), objecttest.NoonPlus(20))
	}
	halfEdited := func(c *Catalog) {
		edited(c)
		data := objecttest.ManyKeys(n, "2")
		for i, name := range slices.Sorted(maps.Keys(data)) {
			data[name] = strconv.Itoa(2 + i%2)
		}
		for i := range 2 { // the second event changes no key
			c.ObserveConfig(content.NewConfigMap(objecttest.ConfigMap("large", maps.Clone(data))), objecttest.NoonPlus(float64(10+i)))
		}
	}
	for name, fill := range map[string]func(*Catalog){
		"edited again and again": edited, "half of it edited, and relabeled": halfEdited, "owned by many": owned,
	} {
		c, bytes := objecttest.Retained(func() *Catalog {
			c := New()
			fill(c)
			return c
		})
		if got := len(c.Config(objecttest.ConfigMapRef("large")).Edits); got != content.MaxEdits+1 || bytes > perKey*n {
			t.Errorf("%s: %d edits, %d bytes a key, want %d at most", name, got, bytes/n, perKey)
		}
		t.Logf("%s: %d bytes a key", name, bytes/n)
	}
}
