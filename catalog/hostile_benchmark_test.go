package catalog

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubernetes-deployment-restart-controller/catalog/catalogtest"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
)

// editedManyKeys is a ConfigMap of so many keys, all of which somebody has just written.
func editedManyKeys(n int, value string, at time.Time) *corev1.ConfigMap {
	cm := objecttest.ConfigMap("large", objecttest.ManyKeys(n, value))
	paths := make([]string, 0, n)
	for name := range cm.Data {
		paths = append(paths, "f:data/f:"+name)
	}
	cm.ManagedFields = []metav1.ManagedFieldsEntry{objecttest.Owns("kubectl", at, paths...)}
	return cm
}

// BenchmarkEditAConfigMapOf40000Keys is an event that shows all keys of a ConfigMap changed,
// which no workload references.
func BenchmarkEditAConfigMapOf40000Keys(b *testing.B) {
	const n = 40000
	objects := []*corev1.ConfigMap{editedManyKeys(n, "1", objecttest.NoonPlus(10)), editedManyKeys(n, "2", objecttest.NoonPlus(20))}
	versions := []content.Config{content.NewConfigMap(objects[0]), content.NewConfigMap(objects[1])}
	b.Run("reduce", func(b *testing.B) {
		_, bytes := objecttest.Retained(func() content.Config { return content.NewConfigMap(objects[0]) })
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			content.NewConfigMap(objects[i%2])
		}
		b.ReportMetric(float64(bytes), "retained-B")
	})
	b.Run("observe", func(b *testing.B) {
		c := New()
		c.ObserveConfig(versions[1], objecttest.Noon)
		var locked time.Duration
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			a := content.NewArrival(versions[i%2], objecttest.NoonPlus(float64(i)), false)
			c.arrive(a)
			begin := b.Elapsed()
			c.putConfig(a)
			locked += b.Elapsed() - begin
		}
		b.ReportMetric(float64(locked.Nanoseconds())/float64(b.N), "locked-ns/op")
	})
}

// manyMounts observes so many statuses.
func manyMounts(c *Catalog, n int, class func(i int) string, version string) {
	for i := range n {
		meta := objecttest.StatusMeta(types.UID(fmt.Sprintf("pod-%06d", i)))
		c.ObserveMount(content.NewCSIMount(&meta, class(i), catalogtest.VersionsOf([]string{version})), objecttest.Noon)
	}
}

// BenchmarkBeginAListOf100000Mounts is what a list that is read again does at once, under the lock.
func BenchmarkBeginAListOf100000Mounts(b *testing.B) {
	c := New()
	manyMounts(c, 100_000, func(int) string { return "db" }, "v1")
	for b.Loop() {
		c.beginMounts("", objecttest.Noon)
	}
}
