package dialect_test

import (
	"fmt"
	"testing"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/catalogtest"
	"kubernetes-deployment-restart-controller/catalog/dialect"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

// BenchmarkReadAWorkloadOfVeryManyManagedFields is an event of a workload with nearly as many managed fields as fit, the owner of
// each of which is asked about several annotations.
func BenchmarkReadAWorkloadOfVeryManyManagedFields(b *testing.B) {
	foreign := []string{
		objecttest.Auto, objecttest.Search, objecttest.WaveOptIn,
		objecttest.ConfigMapAuto, objecttest.ConfigMapNamed, objecttest.SecretAuto, objecttest.SecretNamed,
	}
	fields := make([]string, 0, 20010)
	for _, name := range append([]string{annotation.EnabledAnnotation, annotation.BasisAnnotation, annotation.ChecksumsAnnotation}, foreign...) {
		fields = append(fields, objecttest.AnnotationField(name))
	}
	for i := range 20000 {
		fields = append(fields, objecttest.AnnotationField(fmt.Sprintf("a%05d", i)))
	}
	d := objecttest.Deployment(objecttest.ReadsAll("web", false))
	for i := range 4 {
		d.ManagedFields = append(d.ManagedFields, objecttest.Owns(fmt.Sprint("m", i), objecttest.Noon, fields...))
	}
	b.Run("enabled", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			catalogtest.MustWorkload(d)
		}
	})
	delete(d.Annotations, annotation.EnabledAnnotation)
	for _, name := range foreign {
		d.Annotations[name] = "true"
	}
	b.Run("by other tools", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			parts := dialect.Understand(&catalogtest.Understanding, names.Deployment, *catalogtest.PartsOf(d))
			if _, err := workload.NewWorkload(names.Deployment, &parts); err != nil {
				b.Fatal(err)
			}
		}
	})
}
